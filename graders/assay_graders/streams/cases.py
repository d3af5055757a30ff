"""Cases of the `stdio` grader: arguments and input of a program, and what it must write.

Text and bytes stand in the case file or in hidden files beside it.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import field, frozen

from assay_graders.calls.cases import Tolerance
from assay_graders.calls.document import DataFault, fields, integer, items, load, text
from assay_graders.calls.functions import Function, read_function
from assay_graders.expected import path_problem

__all__ = ["COMPARISONS", "Comparison", "StreamCase", "read_stream_cases"]

MAX_CASES = 10_000
MAX_STREAM_BYTES = 16 * 1024**2
_MAX_ARGUMENTS = 1_000
_MAX_TOTAL_BYTES = 256 * 1024**2
_ID = re.compile(r"[^\x00-\x1f\x7f]+")
COMPARISONS = ("exact", "whitespace")

ReadHidden = Callable[[str, int], bytes]


@frozen
class Comparison:
    """How output is compared: by a word of COMPARISONS, a tolerance, or a hidden function."""

    word: str = "exact"
    tolerance: Tolerance | None = None
    checker: Function | None = None


@frozen
class StreamCase:
    """One run of the program. `stdout` None: the checker alone decides, or only the exit code.

    `exit_code` None allows every exit code, a death by signal never.
    """

    id: str
    argv: tuple[str, ...] = ()
    stdin: bytes = field(default=b"", repr=False)
    stdout: bytes | None = field(default=None, repr=False)
    exit_code: int | None = 0
    compare: Comparison = Comparison()


def read_stream_cases(data: bytes, read: ReadHidden, compare: str) -> tuple[StreamCase, ...]:
    """The cases of a file in their order; raises DataFault with the place and the rule.

    `read` gives a hidden file of at most so many bytes; `compare` is the word that holds
    where a case says nothing.
    """
    document = fields(load(data), "file", ("schema", "cases"))
    if type(document["schema"]) is not int or document["schema"] != 1:
        raise DataFault("schema: must be 1")
    found: dict[str, StreamCase] = {}
    total = 0
    for index, item in enumerate(items(document["cases"], "cases", MAX_CASES)):
        case = _Reader(f"cases[{index}]", read, compare).read(item)
        if case.id in found:
            raise DataFault(f"cases[{index}].id: is the id of an earlier case")
        total += len(case.stdin) + len(case.stdout or b"")
        if total > _MAX_TOTAL_BYTES:
            raise DataFault(f"cases: hold more than {_MAX_TOTAL_BYTES} bytes together")
        found[case.id] = case
    if not found:
        raise DataFault("cases: is empty, and nothing tested is nothing passed")
    return tuple(found.values())


@frozen
class _Reader:
    place: str
    read_hidden: ReadHidden
    compare: str

    def read(self, item: Any) -> StreamCase:
        optional = ("argv", "stdin", "stdout", "exit_code", "compare")
        entry = fields(item, self.place, ("id",), optional)
        case_id = text(entry["id"], f"{self.place}.id", most=512)
        if _ID.fullmatch(case_id) is None:
            raise DataFault(f"{self.place}.id: holds a control character")
        stdout = self._stream(entry["stdout"], "stdout") if "stdout" in entry else None
        compare = self._compare(entry)
        code = entry.get("exit_code", 0)
        if code is not None:
            code = integer(code, f"{self.place}.exit_code", 0, 255)
        if stdout is None and compare.checker is None:
            if "compare" in entry:
                raise DataFault(f"{self.place}.compare: there is no stdout to compare")
            if entry.get("exit_code") is None:
                raise DataFault(f"{self.place}: needs stdout, a checker or an exit_code")
        return StreamCase(
            id=case_id,
            argv=tuple(self._argv(entry.get("argv", []))),
            stdin=self._stream(entry.get("stdin", ""), "stdin"),
            stdout=stdout,
            exit_code=code,
            compare=compare,
        )

    def _argv(self, item: Any) -> Iterator[str]:
        for index, part in enumerate(items(item, f"{self.place}.argv", _MAX_ARGUMENTS)):
            argument = text(part, f"{self.place}.argv[{index}]", most=64 * 1024, empty=True)
            if any(ord(char) < 0x20 or ord(char) == 0x7F for char in argument):
                raise DataFault(f"{self.place}.argv[{index}]: holds a control character")
            yield argument

    def _stream(self, item: Any, key: str) -> bytes:
        place = f"{self.place}.{key}"
        if type(item) is str:
            return text(item, place, most=MAX_STREAM_BYTES, empty=True).encode("utf-8")
        if type(item) is dict and set(item) == {"file"}:
            file = text(item["file"], f"{place}.file")
            if path_problem(file):
                raise DataFault(f"{place}.file: {path_problem(file)}")
            return self.read_hidden(file, MAX_STREAM_BYTES)
        if type(item) is dict and set(item) == {"base64"}:
            encoded = text(item["base64"], f"{place}.base64", most=MAX_STREAM_BYTES, empty=True)
            try:
                return binascii.a2b_base64(encoded, strict_mode=True) if encoded else b""
            except ValueError:
                raise DataFault(f"{place}.base64: is not base 64") from None
        raise DataFault(f"{place}: must be text, or an object with file or base64")

    def _compare(self, entry: Mapping[str, Any]) -> Comparison:
        place = f"{self.place}.compare"
        item = entry.get("compare", self.compare)
        if type(item) is str:
            if item not in COMPARISONS:
                raise DataFault(f"{place}: must be {' or '.join(COMPARISONS)}, or an object")
            return Comparison(item)
        if type(item) is dict and set(item) == {"checker"}:
            return Comparison("", checker=read_function(item["checker"], f"{place}.checker"))
        bounds = fields(item, place, (), ("abs", "rel"))
        for key, bound in bounds.items():
            if type(bound) not in (int, float) or not 0 < bound < 1e300:
                raise DataFault(f"{place}.{key}: must be a number above 0")
        if not bounds:
            raise DataFault(f"{place}: needs abs, rel or checker")
        return Comparison("", Tolerance(float(bounds.get("abs", 0)), float(bounds.get("rel", 0))))

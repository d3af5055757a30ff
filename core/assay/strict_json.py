"""Strict JSON: one text has one meaning, or it is refused with a place and a rule.

Python's own parser lets the last of two equal keys win and reads NaN, huge numbers and
any depth. Here each of them is an error that names the file, the field where it is
known, and the rule; the value is never shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from attrs import frozen

from assay.api.errors import ManifestError
from assay.api.paths import printable

__all__ = ["MAX_INTEGER", "join_field", "load", "load_lines"]

MAX_INTEGER = 2**53 - 1
"""Largest magnitude of an integer that every JSON reader keeps exactly."""

_BOM = b"\xef\xbb\xbf"
_SHOWN_KEY = 64
_LONGEST_INTEGER = len(str(MAX_INTEGER)) + 1
_SURROGATE = re.compile("[\ud800-\udfff]")
_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*"?|[\[{]|[\]}]', re.DOTALL)


@frozen
class _Pairs:
    """An object as written, its repeated keys still there."""

    items: list[tuple[str, Any]]


class _Refused:
    """Stands for a number that can't be kept; `rule` says why."""

    def __init__(self, rule: str) -> None:
        self.rule = rule


def load(data: bytes, file: str, *, max_bytes: int, max_depth: int = 32, at: str = "") -> Any:
    """The value of one JSON document as dict, list, str, int, float, bool or None.

    `file` is the name to show; `at` is the field that the document stands for, if any.
    Raises ManifestError.
    """
    if data.startswith(_BOM):
        raise ManifestError(file, at, "must not start with a byte order mark")
    if len(data) > max_bytes:
        raise ManifestError(file, at, f"must not be longer than {max_bytes} bytes")
    return _decode(data, file, max_depth, at, 1)


def load_lines(
    data: bytes, file: str, *, max_line: int = 64 * 1024**2, max_depth: int = 32
) -> Iterator[tuple[int, Any]]:
    """Each record of a JSON Lines document with the number of its physical line, from 1.

    Lines end at LF only, so U+2028 or U+0085 inside a string stay there. A byte order mark
    at the start of the file, a CR before the LF and blank lines are skipped.
    Raises ManifestError naming the line.
    """
    for number, line in enumerate(data.removeprefix(_BOM).split(b"\n"), 1):
        content = line.removesuffix(b"\r")
        if not content.strip(b" \t\r"):
            continue
        at = f"line {number}"
        if len(content) > max_line:
            raise ManifestError(file, at, f"must not be longer than {max_line} bytes")
        yield number, _decode(content, file, max_depth, at, number)


def join_field(at: str, key: str | int) -> str:
    """The path of a member below `at`: `a.b`, `a[0]`; unusual keys are escaped and cut."""
    if isinstance(key, int):
        return f"{at}[{key}]"
    shown = printable(key)
    if len(shown) > _SHOWN_KEY:
        shown = shown[:_SHOWN_KEY] + "…"
    if not at:
        return shown
    return f"{at}: {shown}" if at.startswith("line ") and at[5:].isdigit() else f"{at}.{shown}"


def _decode(data: bytes, file: str, max_depth: int, at: str, first_line: int) -> Any:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ManifestError(file, at, f"is not valid UTF-8 at byte {error.start}") from None
    _check_depth(text, file, max_depth, at)
    try:
        value, end = _DECODER.raw_decode(text, _blank(text, 0))
    except json.JSONDecodeError as error:
        place = _place(text, error.pos, first_line)
        raise ManifestError(file, at, f"is not valid JSON at {place}") from None
    end = _blank(text, end)
    if end != len(text):
        place = _place(text, end, first_line)
        raise ManifestError(file, at, f"has data after its end at {place}")
    return _plain(value, file, at)


def _blank(text: str, start: int) -> int:
    while start < len(text) and text[start] in " \t\r\n":
        start += 1
    return start


def _place(text: str, position: int, first_line: int) -> str:
    line = text.count("\n", 0, position)
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    return f"line {first_line + line} column {column}"


def _check_depth(text: str, file: str, max_depth: int, at: str) -> None:
    depth = 0
    for match in _BRACKETS.finditer(text):
        token = match[0]
        if token in "[{":
            depth += 1
            if depth > max_depth:
                raise ManifestError(file, at, f"must not be nested deeper than {max_depth} levels")
        elif token in "]}":
            depth -= 1


def _integer(text: str) -> int | _Refused:
    if len(text) <= _LONGEST_INTEGER and abs(int(text)) <= MAX_INTEGER:
        return int(text)
    return _Refused(f"must be a whole number of magnitude at most {MAX_INTEGER}")


def _real(text: str) -> float | _Refused:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        return _Refused("must be a number that a double can hold")
    return value


def _constant(_: str) -> _Refused:
    return _Refused("must be a finite number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Pairs,
    parse_int=_integer,
    parse_float=_real,
    parse_constant=_constant,
)


def _plain(value: Any, file: str, at: str) -> Any:
    if isinstance(value, _Pairs):
        found: dict[str, Any] = {}
        for key, item in value.items:
            field = join_field(at, key)
            _check_text(key, file, field)
            if key in found:
                raise ManifestError(file, field, "key is given more than once")
            found[key] = _plain(item, file, field)
        return found
    if isinstance(value, list):
        return [_plain(item, file, join_field(at, index)) for index, item in enumerate(value)]
    if isinstance(value, _Refused):
        raise ManifestError(file, at, value.rule)
    if isinstance(value, str):
        _check_text(value, file, at)
    return value


def _check_text(text: str, file: str, at: str) -> None:
    if _SURROGATE.search(text):
        raise ManifestError(file, at, "must not hold half of a surrogate pair")

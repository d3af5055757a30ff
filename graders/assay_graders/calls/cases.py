"""Cases of the `call` grader: what to call with what, and what must come of it.

The file is the suite's own, yet read strictly: a case that says nothing testable, an unknown key
or two cases of one id make the grader unfit instead of passing something nobody meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from assay_graders.calls.document import DataFault, fields, items, load, text, value
from assay_graders.calls.functions import Function, read_function
from assay_graders.calls.generate import Generator, read_generator
from assay_graders.wire.values import Codec

__all__ = ["Case", "Raises", "Tolerance", "read_cases"]

MAX_CASES = 10_000
_MAX_ARGUMENTS = 1_000
_ID = re.compile(r"[^\x00-\x1f\x7f]+")
_TARGET = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_EXCEPTION = re.compile(r"(?:[^\W\d]\w*(?:\.[^\W\d]\w*)*:)?[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_OPTIONAL = (
    *("args", "kwargs", "group", "tolerance", "after", "await"),
    *("expect", "raises", "property", "generate", "reference"),
)


@frozen
class Raises:
    """An exception by the name of its class or of a base; `message` None for any."""

    type: str
    message: str | None = None


@frozen
class Tolerance:
    """How far two floats may be apart: the larger of `abs` and `rel` times the expected one."""

    abs: float = 0.0
    rel: float = 0.0


@frozen
class Case:
    """One case. Exactly one of `expect` (in a tuple of one), `raises`, `property`, `reference`."""

    id: str
    call: str
    args: list[Any] = field(factory=list, repr=False)
    kwargs: Mapping[str, Any] = field(factory=dict, repr=False)
    group: str = ""
    expect: tuple[Any, ...] = field(default=(), repr=False)
    raises: Raises | None = None
    property: Function | None = None
    reference: Function | None = None
    tolerance: Tolerance | None = None
    after: tuple[list[Any], Mapping[str, Any]] | None = field(default=None, repr=False)
    compare_after: bool = False
    awaits: bool = False
    generate: Generator | None = None


def read_cases(data: bytes, codec: Codec) -> tuple[Case, ...]:
    """The cases of a file in their order; raises DataFault with the place and the rule."""
    document = fields(load(data), "file", ("schema", "cases"))
    if type(document["schema"]) is not int or document["schema"] != 1:
        raise DataFault("schema: must be 1")
    found: dict[str, Case] = {}
    for index, item in enumerate(items(document["cases"], "cases", MAX_CASES)):
        case = _Reader(f"cases[{index}]", codec).read(item)
        if case.id in found:
            raise DataFault(f"cases[{index}].id: is the id of an earlier case")
        found[case.id] = case
    if not found:
        raise DataFault("cases: is empty, and nothing tested is nothing passed")
    return tuple(found.values())


@frozen
class _Reader:
    place: str
    codec: Codec

    def read(self, item: Any) -> Case:
        entry = fields(item, self.place, ("id", "call"), _OPTIONAL)
        generate = entry.get("generate")
        if generate is not None and ("args" in entry or "kwargs" in entry):
            raise DataFault(f"{self.place}: generate takes the place of args and kwargs")
        demands = [key for key in ("expect", "raises", "property", "reference") if key in entry]
        if len(demands) != 1:
            raise DataFault(
                f"{self.place}: needs exactly one of expect, raises, property and reference"
            )
        if generate is not None and demands[0] in ("expect", "raises"):
            raise DataFault(f"{self.place}: generated inputs need a reference or a property")
        if "tolerance" in entry and demands[0] not in ("expect", "reference"):
            raise DataFault(f"{self.place}: there is nothing that tolerance applies to")
        return Case(
            id=self._matching(_ID, entry["id"], "id"),
            call=self._matching(_TARGET, entry["call"], "call"),
            args=self._args(entry.get("args", []), "args"),
            kwargs=self._kwargs(entry.get("kwargs", {}), "kwargs"),
            group=text(entry.get("group", ""), f"{self.place}.group", empty=True),
            expect=(self._value(entry["expect"], "expect"),) if "expect" in entry else (),
            raises=self._raises(entry["raises"]) if "raises" in entry else None,
            property=self._function(entry, "property"),
            reference=self._function(entry, "reference"),
            tolerance=self._tolerance(entry["tolerance"]) if "tolerance" in entry else None,
            after=self._after(entry),
            compare_after="reference" in entry
            and self._flag(entry, "after", " beside a reference"),
            awaits=self._flag(entry, "await"),
            generate=None
            if generate is None
            else read_generator(generate, f"{self.place}.generate", self.codec),
        )

    def _matching(self, pattern: re.Pattern[str], item: Any, key: str) -> str:
        found = text(item, f"{self.place}.{key}", most=512)
        if pattern.fullmatch(found) is None:
            raise DataFault(f"{self.place}.{key}: is not written as it must be")
        return found

    def _value(self, item: Any, key: str) -> Any:
        return value(item, f"{self.place}.{key}", self.codec)

    def _args(self, item: Any, key: str) -> list[Any]:
        return [
            self._value(part, f"{key}[{index}]")
            for index, part in enumerate(items(item, f"{self.place}.{key}", _MAX_ARGUMENTS))
        ]

    def _kwargs(self, item: Any, key: str) -> dict[str, Any]:
        if type(item) is not dict or len(item) > _MAX_ARGUMENTS:
            raise DataFault(f"{self.place}.{key}: must be an object of named arguments")
        return {name: self._value(part, f"{key}.{name}") for name, part in item.items()}

    def _raises(self, item: Any) -> Raises:
        if type(item) is str:
            item = {"type": item}
        entry = fields(item, f"{self.place}.raises", ("type",), ("message",))
        message = entry.get("message")
        if message is not None:
            message = text(message, f"{self.place}.raises.message", empty=True)
        return Raises(self._matching(_EXCEPTION, entry["type"], "raises.type"), message)

    def _function(self, entry: Mapping[str, Any], key: str) -> Function | None:
        return read_function(entry[key], f"{self.place}.{key}") if key in entry else None

    def _tolerance(self, item: Any) -> Tolerance:
        place = f"{self.place}.tolerance"
        entry = fields(item, place, (), ("abs", "rel"))
        for key, bound in entry.items():
            if type(bound) not in (int, float) or not 0 < bound < 1e300:
                raise DataFault(f"{place}.{key}: must be a number above 0")
        if not entry:
            raise DataFault(f"{place}: needs abs or rel")
        return Tolerance(float(entry.get("abs", 0)), float(entry.get("rel", 0)))

    def _after(self, entry: Mapping[str, Any]) -> tuple[list[Any], Mapping[str, Any]] | None:
        if "after" not in entry or "reference" in entry:
            return None
        if "generate" in entry:
            raise DataFault(f"{self.place}.after: needs a reference when inputs are generated")
        after = fields(entry["after"], f"{self.place}.after", (), ("args", "kwargs"))
        if not after:
            raise DataFault(f"{self.place}.after: needs args or kwargs")
        args = self._args(after.get("args", entry.get("args", [])), "after.args")
        return args, self._kwargs(after.get("kwargs", entry.get("kwargs", {})), "after.kwargs")

    def _flag(self, entry: Mapping[str, Any], key: str, where: str = "") -> bool:
        found = entry.get(key, False)
        if type(found) is not bool:
            raise DataFault(f"{self.place}.{key}: must be true or false{where}")
        return found

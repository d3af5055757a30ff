"""JUnit XML, as pytest, Surefire, Gradle, gtest, jest-junit and many others write it.

The parser knows no document type, hence no entities, nothing external, and no expansion. An id
is `classname::name`, or the name alone. Whatever speaks against a pass counts: an element, a
status attribute, a repetition that passed only later, a suite that counts a failure of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn
from xml.parsers import expat

from attrs import define, field

from assay.api import TestOutcome
from assay_graders.results.model import (
    MAX_MESSAGE_CHARACTERS,
    Collected,
    ParsedResults,
    ResultsRefused,
    require_size,
    worst,
)

__all__ = ["parse_junit"]

_MAX_DEPTH = 64
_MAX_ELEMENTS = 2_000_000
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_REFERENCE = re.compile(
    rb"&#(?:0*(?:[0-8]|1[124-9]|2[0-9]|3[01])|x0*(?:[0-8bcBC]|[eEfF]|1[0-9a-fA-F]));"
)
_PASSING = frozenset({"", "run", "ok", "pass", "passed", "success", "successful", "completed"})
_SKIPPING = frozenset({"notrun", "skipped", "disabled", "suppressed", "ignored", "pending"})
_FAILING = frozenset({"fail", "failed", "failure"})
_ELEMENTS: Mapping[str, TestOutcome] = {
    "failure": TestOutcome.FAILED,
    "error": TestOutcome.ERROR,
    "skipped": TestOutcome.SKIPPED,
    "flakyFailure": TestOutcome.FAILED,
    "flakyError": TestOutcome.ERROR,
    "rerunFailure": TestOutcome.FAILED,
    "rerunError": TestOutcome.ERROR,
}


@define
class _Case:
    id: str
    outcome: TestOutcome = TestOutcome.PASSED
    message: list[str] = field(factory=list)
    left: int = MAX_MESSAGE_CHARACTERS

    def worsen(self, outcome: TestOutcome) -> None:
        self.outcome = worst(self.outcome, outcome)

    def say(self, text: str) -> None:
        part = text[: self.left]
        self.left -= len(part)
        self.message.append(part)


@define
class _Suite:
    """A suite: how many failures it counts, and how many of its tests were found failing."""

    name: str
    declared: int = 0
    found: int = 0


def parse_junit(data: bytes) -> ParsedResults:
    """Read a JUnit XML file; raises ResultsRefused."""
    require_size(data)
    collected = Collected()
    _Reader(collected).read(_legible(data, collected))
    return collected.results()


def _legible(data: bytes, collected: Collected) -> bytes:
    """The bytes without what XML can't hold at all, but tools write nevertheless."""
    if data.startswith(_UTF16):
        return data
    legible = _REFERENCE.sub(b"?", _CONTROL.sub(b"?", data))
    if legible != data:
        collected.warn("the file holds control characters; they are replaced")
    return legible


class _Reader:
    def __init__(self, collected: Collected) -> None:
        self._collected = collected
        self._path: list[str] = []
        self._elements = 0
        self._suites: list[_Suite] = []
        self._case: _Case | None = None

    def read(self, data: bytes) -> None:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.StartDoctypeDeclHandler = _refuse_doctype
        parser.EntityDeclHandler = _refuse_doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        try:
            parser.Parse(data, True)
        except ResultsRefused:
            raise
        except (expat.ExpatError, ValueError, LookupError):
            raise ResultsRefused("the file is not well-formed XML") from None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        self._elements += 1
        if self._elements > _MAX_ELEMENTS or len(self._path) >= _MAX_DEPTH:
            raise ResultsRefused("the file holds too many or too deeply nested elements")
        if not self._path and name not in ("testsuites", "testsuite"):
            raise ResultsRefused("the file is no JUnit report: its root is another element")
        if name == "testsuite" and self._case is None:
            self._suites.append(_Suite(attributes.get("name", ""), _declared(attributes)))
        elif name == "testcase":
            self._open(attributes)
        elif name in _ELEMENTS and self._path[-1] in ("testcase", "testsuite", "testsuites"):
            self._outcome(name, attributes)
        self._path.append(name)

    def _open(self, attributes: dict[str, str]) -> None:
        if self._case is not None:
            raise ResultsRefused("a test lies inside another test")
        name, group = attributes.get("name", ""), attributes.get("classname", "")
        self._case = case = _Case(f"{group}::{name}" if group and name else name)
        for key in ("status", "result"):
            said = attributes.get(key, "").strip().lower()
            if said in _SKIPPING:
                case.worsen(TestOutcome.SKIPPED)
            elif said in _FAILING:
                case.worsen(TestOutcome.FAILED)
            elif said not in _PASSING:
                case.worsen(TestOutcome.ERROR)

    def _outcome(self, name: str, attributes: dict[str, str]) -> None:
        outcome = _ELEMENTS[name]
        if attributes.get("type") == "pytest.xfail":
            outcome = TestOutcome.XFAILED
        if self._case is not None:
            self._case.worsen(outcome)
            self._case.say(attributes.get("message", "") + "\n")
        elif outcome is not TestOutcome.SKIPPED:
            suite = self._suites[-1].name if self._suites else ""
            self._count()
            self._collected.add(suite or "suite", outcome, attributes.get("message", ""))

    def _text(self, text: str) -> None:
        if self._case is not None and self._path[-1] in _ELEMENTS:
            self._case.say(text)

    def _end(self, name: str) -> None:
        name = self._path.pop()
        if name == "testcase" and self._case is not None:
            case, self._case = self._case, None
            if case.outcome in (TestOutcome.FAILED, TestOutcome.ERROR):
                self._count()
            self._collected.add(case.id, case.outcome, "".join(case.message).strip())
        elif name == "testsuite" and self._case is None:
            suite = self._suites.pop()
            if suite.declared and not suite.found:
                raise ResultsRefused("a suite counts failures, but none of its tests failed")

    def _count(self) -> None:
        for suite in self._suites:
            suite.found += 1


def _declared(attributes: Mapping[str, str]) -> int:
    total = 0
    for key in ("failures", "errors"):
        text = attributes.get(key, "0").strip() or "0"
        if re.fullmatch(r"[0-9]{1,9}", text) is None:
            raise ResultsRefused("a suite's count is not a number")
        total += int(text)
    return total


def _refuse_doctype(*_: object) -> NoReturn:
    raise ResultsRefused("the file declares a document type or an entity")

"""The text that Python's `unittest -v` prints.

An outcome stands on the line of its test or, when a test printed something, on a later line.
The number of tests at the end must be there and must not exceed what was read.
"""

from __future__ import annotations

import re

from assay.api import TestOutcome
from assay_graders.results.model import Collected, ParsedResults, ResultsRefused
from assay_graders.results.text import plain_lines

__all__ = ["parse_unittest_text"]

_NAMED = re.compile(r"( *)([^\s()]+) \(([^()\s]+)\)(.*)")
_STARTED = re.compile(r"(.*) \.\.\. ?(.*)")
_RAN = re.compile(r"Ran ([0-9]{1,9}) tests? in [0-9.]{1,20}s")
_VERDICT = re.compile(r"(OK|FAILED|NO TESTS RAN)(?: \((.*)\))?")
_RULE = "=" * 70
_LISTED = re.compile(r"(FAIL|ERROR|UNEXPECTED SUCCESS): (.+)")


class _Reader:
    def __init__(self, collected: Collected) -> None:
        self._collected = collected
        self._named = ""
        self._pending = ""
        self._started = 0
        self._subtest_failed: TestOutcome | None = None
        self._ran: int | None = None
        self._verdict = ""

    def read(self, lines: list[str]) -> None:
        for index, line in enumerate(lines):
            if index and lines[index - 1] == _RULE and _LISTED.fullmatch(line):
                self._settle()
                self._listed(line)
            elif _RAN.fullmatch(line):
                self._settle()
                self._end(line)
            elif self._ran is not None:
                match = _VERDICT.fullmatch(line)
                self._verdict = self._verdict or (match[1] if match else "")
            else:
                self._line(line)
        self._settle()
        self._agree()

    def _line(self, line: str) -> None:
        named = _NAMED.fullmatch(line)
        started = _STARTED.fullmatch(line)
        if named is not None and started is None:
            self._named = _id(named[2], named[3])
        elif named is not None and started is not None and not named[1]:
            self._settle()
            self._pending = _id(named[2], named[3])
            self._begin(started[2])
        elif named is not None and started is not None and self._pending:
            self._subtest(started[2])
        elif started is not None and self._named:
            described = self._named
            self._settle()
            self._pending = described
            self._begin(started[2])
        elif self._pending:
            self._outcome(line)

    def _begin(self, text: str) -> None:
        self._named = ""
        self._started += 1
        self._outcome(text)

    def _subtest(self, text: str) -> None:
        outcome = _outcome(text.strip())
        if outcome in (TestOutcome.FAILED, TestOutcome.ERROR):
            self._subtest_failed = outcome

    def _outcome(self, text: str) -> None:
        outcome = _outcome(text.strip())
        if outcome is not None:
            self._collected.add(self._pending, self._subtest_failed or outcome)
            self._pending, self._subtest_failed = "", None

    def _settle(self) -> None:
        """A test that has no outcome of its own has that of its sub-tests, or is an error."""
        if self._pending:
            self._collected.add(self._pending, self._subtest_failed or TestOutcome.ERROR)
        self._pending, self._named, self._subtest_failed = "", "", None

    def _listed(self, line: str) -> None:
        match = _LISTED.fullmatch(line)
        named = _NAMED.fullmatch(match[2]) if match else None
        if match is None or named is None:
            raise ResultsRefused("a failure names no test")
        outcome = TestOutcome.ERROR if match[1] == "ERROR" else TestOutcome.FAILED
        self._collected.add(_id(named[2], named[3]), outcome, count=0)

    def _end(self, line: str) -> None:
        match = _RAN.fullmatch(line)
        if self._ran is not None or match is None:
            raise ResultsRefused("there is more than one number of tests")
        self._ran = int(match[1])

    def _agree(self) -> None:
        failed = self._collected.counts(TestOutcome.FAILED, TestOutcome.ERROR)
        if self._ran is None or not self._verdict:
            raise ResultsRefused("the end is missing, so the report may be cut")
        if self._ran > self._started:
            raise ResultsRefused("more tests ran than are listed; unittest needs -v")
        if (self._verdict == "FAILED") != bool(failed):
            unexpected = self._collected.counts(TestOutcome.XFAILED)
            if self._verdict != "FAILED" or not unexpected:
                raise ResultsRefused("the end contradicts what is listed")


def parse_unittest_text(data: bytes) -> ParsedResults:
    """Read the text of `python -m unittest -v`; raises ResultsRefused.

    An id is the dotted name of the test method.
    """
    collected = Collected()
    _Reader(collected).read(plain_lines(data, collected))
    return collected.results()


def _id(method: str, place: str) -> str:
    """Since Python 3.11 the place holds the method as well; before it named the class."""
    return place if place.rpartition(".")[2] == method else f"{place}.{method}"


def _outcome(text: str) -> TestOutcome | None:
    if text == "ok":
        return TestOutcome.PASSED
    if text == "FAIL":
        return TestOutcome.FAILED
    if text == "ERROR":
        return TestOutcome.ERROR
    if re.fullmatch(r"skipped (?:'.*'|\".*\")", text):
        return TestOutcome.SKIPPED
    if text in ("expected failure", "unexpected success"):
        return TestOutcome.XFAILED
    return None

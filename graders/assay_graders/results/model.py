"""What every reader of result files gives: each id once with its worst outcome.

An id that was reported more than once keeps the worst of its outcomes, and every report
counts. Sizes are bounded, so that a hostile file costs no more than a large honest one.
"""

from __future__ import annotations

import re

from attrs import define, field, frozen

from assay.api import TestOutcome

__all__ = [
    "MAX_FILE_BYTES",
    "MAX_RESULTS",
    "MAX_RESULT_ID_BYTES",
    "Collected",
    "ParsedResults",
    "ParsedTest",
    "ResultsRefused",
    "require_size",
    "worst",
]

MAX_FILE_BYTES = 32 * 1024**2
MAX_RESULTS = 100_000
MAX_RESULT_ID_BYTES = 2_048
MAX_MESSAGE_CHARACTERS = 4_000
_MAX_WARNINGS = 20

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_REPLACED = "\N{REPLACEMENT CHARACTER}"

_RANK = (
    TestOutcome.PASSED,
    TestOutcome.SKIPPED,
    TestOutcome.XFAILED,
    TestOutcome.FAILED,
    TestOutcome.ERROR,
)


class ResultsRefused(ValueError):
    """A result file can't be read with certainty; the message names the rule, no content."""


@frozen
class ParsedTest:
    """One id and the worst of its outcomes; `count` is how often it was reported."""

    id: str
    outcome: TestOutcome
    message: str = field(default="", repr=False)
    count: int = 1


@frozen
class ParsedResults:
    """All tests in the order of their first report; `warnings` are sentences for the author."""

    tests: tuple[ParsedTest, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def counted(self) -> int:
        """Number of reports, repeated ones included."""
        return sum(test.count for test in self.tests)


def worst(first: TestOutcome, second: TestOutcome) -> TestOutcome:
    """The outcome that counts when a test has both."""
    return max(first, second, key=_RANK.index)


def require_size(data: bytes) -> None:
    """Raise ResultsRefused for a file above the limit."""
    if len(data) > MAX_FILE_BYTES:
        raise ResultsRefused(f"the file is larger than {MAX_FILE_BYTES} bytes")


@define
class Collected:
    """Results while a file is read."""

    _tests: dict[str, ParsedTest] = field(factory=dict, init=False)
    _warnings: dict[str, None] = field(factory=dict, init=False)
    _reports: int = field(default=0, init=False)

    def add(self, test_id: str, outcome: TestOutcome, message: str = "", count: int = 1) -> None:
        """Take one report; raises ResultsRefused when it breaks a bound."""
        plain = _CONTROL.sub(_REPLACED, test_id)
        if plain != test_id:
            self.warn("a test's name holds control characters; they are replaced")
            test_id = plain
        if not test_id:
            raise ResultsRefused("a test has no name")
        try:
            size = len(test_id.encode("utf-8"))
        except UnicodeEncodeError:
            raise ResultsRefused("a test's name is not Unicode text") from None
        if size > MAX_RESULT_ID_BYTES:
            raise ResultsRefused(f"a test's name is longer than {MAX_RESULT_ID_BYTES} bytes")
        self._reports += count
        if self._reports > MAX_RESULTS:
            raise ResultsRefused(f"more than {MAX_RESULTS} tests are reported")
        message = message[:MAX_MESSAGE_CHARACTERS]
        known = self._tests.get(test_id)
        if known is None:
            self._tests[test_id] = ParsedTest(test_id, outcome, message, count)
            return
        self.warn("a test is reported more than once; its worst outcome counts")
        outcome = worst(known.outcome, outcome)
        if outcome is known.outcome:
            message = known.message
        self._tests[test_id] = ParsedTest(test_id, outcome, message, known.count + count)

    def warn(self, sentence: str) -> None:
        """Note what is odd, once."""
        if len(self._warnings) < _MAX_WARNINGS:
            self._warnings[sentence] = None

    def counts(self, *outcomes: TestOutcome) -> int:
        """How many ids have one of these outcomes."""
        return sum(test.outcome in outcomes for test in self._tests.values())

    def results(self) -> ParsedResults:
        """What was collected."""
        return ParsedResults(tuple(self._tests.values()), tuple(self._warnings))

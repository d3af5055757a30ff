"""What happens to one test, as unittest tells it, and what is kept of it."""

from __future__ import annotations

import os
import traceback
import types
import unittest
from collections.abc import Callable
from typing import Any

__all__ = ["Outcomes", "Ran", "told"]

_MESSAGE_CHARACTERS = 8_000
_ID_BYTES = 2_048
_OURS = ("<_assay", os.path.dirname(unittest.__file__) + os.sep)

Raised = tuple[type[BaseException], BaseException, types.TracebackType] | tuple[None, None, None]


class Ran:
    """One test or sub-test: the outcomes it had, in order. Without any it did not pass.

    `notes` is what the surroundings noted while it ran, or while what it rests on ran.
    """

    def __init__(self, test_id: str) -> None:
        self.id = test_id
        self.outcomes: list[str] = []
        self.messages: list[str] = []
        self.notes: list[Any] = []

    def saw(self, outcome: str, message: str = "") -> None:
        """One outcome."""
        self.outcomes.append(outcome)
        if message:
            self.messages.append(message)


class Outcomes(unittest.TestResult):
    """The result object of one test. `sub` makes the record of a sub-test, if one is wanted."""

    def __init__(self, ran: Ran, case: unittest.TestCase, sub: Callable[[str], Ran] | None) -> None:
        super().__init__()
        self._ran = ran
        self._case = case
        self._sub = sub

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._ran.saw("passed")

    def addError(self, test: unittest.TestCase, err: Raised) -> None:
        self._ran.saw("error", told(err[1]))

    def addFailure(self, test: unittest.TestCase, err: Raised) -> None:
        self._ran.saw("failed", told(err[1]))

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._ran.saw("skipped")
        if test is not self._case and self._sub is not None:
            self._sub(_described(self._ran.id, test)).saw("skipped")

    def addExpectedFailure(self, test: unittest.TestCase, err: Raised) -> None:
        self._ran.saw("xfailed")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        self._ran.saw("xfailed")

    def addSubTest(
        self, test: unittest.TestCase, subtest: unittest.TestCase, err: Raised | None
    ) -> None:
        outcome, message = "passed", ""
        if err is not None:
            is_failure = isinstance(err[1], test.failureException)
            outcome, message = "failed" if is_failure else "error", told(err[1])
            self._ran.saw(outcome, message)
        if self._sub is not None:
            self._sub(_described(self._ran.id, subtest)).saw(outcome, message)


def _described(test_id: str, subtest: Any) -> str:
    """The id of a sub-test: that of its test, and what unittest says after that."""
    text = f"{test_id} {subtest.id().removeprefix(subtest.test_case.id()).strip()}"
    return text.encode("utf-8", "backslashreplace")[:_ID_BYTES].decode("utf-8", "ignore")


def told(error: BaseException | None) -> str:
    """The text of an exception without frames of the runner; it may be the candidate's."""
    if error is None:
        return ""
    try:
        shown = traceback.TracebackException.from_exception(error, compact=True)
        kept = [frame for frame in shown.stack if not frame.filename.startswith(_OURS)]
        shown.stack = traceback.StackSummary.from_list(kept)
        text = "".join(shown.format())
    except BaseException:
        return "an exception that can't be shown"
    half = _MESSAGE_CHARACTERS // 2
    return text if len(text) <= 2 * half else f"{text[:half]}\n[cut]\n{text[-half:]}"

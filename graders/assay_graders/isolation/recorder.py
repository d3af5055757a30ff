"""Collects one result per test that ran, and each file that failed to load."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .client import Noted
from .features import level_of

__all__ = ["Recorder"]

MAX_CODES = 20
_MESSAGE_CHARACTERS = 4_000
_MESSAGES_CHARACTERS = 200_000
_RANK = ("passed", "skipped", "xfailed", "failed", "error", "unsupported")


class Recorder:
    """A pytest plugin; `begin` and `end` enclose the protocol of one test."""

    def __init__(self, collecting: Noted) -> None:
        self._collecting = collecting
        self._tests: list[dict[str, Any]] = []
        self._errors: list[dict[str, str]] = []
        self._left = _MESSAGES_CHARACTERS
        self._test = ""
        self._outcome = "passed"
        self._called = False
        self._messages: list[str] = []

    def begin(self, test: str) -> None:
        """A test starts."""
        self._test, self._outcome, self._called, self._messages = test, "passed", False, []

    def end(self, noted: Noted) -> None:
        """A test is over: what it did on the wire may forbid a pass."""
        outcome = self._outcome
        if outcome == "passed" and not self._called:
            outcome = "error"
        if noted.lost or noted.failed_back:
            outcome = max(outcome, "failed", key=_RANK.index)
        codes = [refusal.code for refusal in noted.refusals]
        if codes:
            is_test = any(refusal.by_test for refusal in noted.refusals)
            outcome = "unsupported" if is_test else max(outcome, "failed", key=_RANK.index)
        if noted.lost:
            codes.append(f"lost-{noted.lost}")
        unsupported = {refusal.code for refusal in noted.refusals if refusal.by_test}
        self._tests.append(
            {
                "id": _text(self._test),
                "outcome": outcome,
                "message": self._cut("\n".join(self._messages)),
                "level": level_of(noted.features),
                "features": sorted(noted.features),
                "trips": noted.trips,
                "codes": sorted(set(codes))[:MAX_CODES],
                "unsupported": sorted(unsupported)[:MAX_CODES],
            }
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One phase of a test."""
        outcome = _outcome(report)
        self._called = self._called or report.when == "call"
        self._outcome = max(self._outcome, outcome, key=_RANK.index)
        if outcome in ("failed", "error"):
            self._messages.append(report.longreprtext)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that was read, or could not be."""
        if report.failed:
            file = report.nodeid.partition("::")[0]
            self._errors.append({"file": _text(file), "message": self._cut(report.longreprtext)})

    def frame(self, counts: dict[str, int]) -> bytes:
        """The whole report."""
        report = {
            "schema": 3,
            "tests": self._tests,
            "errors": self._errors,
            "features": sorted(self._collecting.features),
            "unsupported": [r.code for r in self._collecting.refusals if r.by_test][:MAX_CODES],
            **counts,
        }
        return json.dumps(report).encode("ascii")

    def _cut(self, message: str) -> str:
        half = min(_MESSAGE_CHARACTERS, self._left) // 2
        if len(message) > 2 * half:
            message = f"{message[:half]}\n[cut]\n{message[len(message) - half :]}"
        self._left = max(0, self._left - len(message))
        return _text(message)


def _outcome(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        return "xfailed"
    if report.failed:
        return "failed" if report.when == "call" else "error"
    return "skipped" if report.skipped else "passed"


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")

"""Collects one result per test that ran, and each file that failed to load."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from .features import level_of
from .noted import Noted

__all__ = ["Recorder"]

MAX_CODES = 20
_MESSAGE_CHARACTERS = 4_000
_MESSAGES_CHARACTERS = 200_000
_RANK = ("passed", "skipped", "xfailed", "failed", "error", "unsupported")


class Recorder:
    """Takes what a test runner saw of a test together with what the test did on the wire.

    `collecting` is what loading the test files did there.
    """

    def __init__(self, collecting: Noted) -> None:
        self._collecting = collecting
        self._tests: list[dict[str, Any]] = []
        self._errors: list[dict[str, str]] = []
        self._left = _MESSAGES_CHARACTERS

    def add(self, test: str, outcomes: Iterable[str], message: str, notes: Iterable[Noted]) -> None:
        """A test is over: the worst of its outcomes counts, and the wire may forbid a pass.

        Without any outcome it is an error. `notes` are of the test, and of what it rests on.
        """
        outcome = max(outcomes, default="error", key=_RANK.index)
        notes = tuple(notes)
        refusals = [refusal for noted in notes for refusal in noted.refusals]
        if refusals or any(noted.lost or noted.failed_back for noted in notes):
            outcome = max(outcome, "failed", key=_RANK.index)
        if any(refusal.by_test for refusal in refusals):
            outcome = "unsupported"
        codes = {refusal.code for refusal in refusals}
        codes |= {f"lost-{noted.lost}" for noted in notes if noted.lost}
        features = {feature for noted in notes for feature in noted.features}
        self._tests.append(
            {
                "id": _text(test),
                "outcome": outcome,
                "message": self._cut(message),
                "level": level_of(features),
                "features": sorted(features),
                "trips": sum(noted.trips for noted in notes),
                "codes": sorted(codes)[:MAX_CODES],
                "unsupported": sorted({r.code for r in refusals if r.by_test})[:MAX_CODES],
            }
        )

    def add_failed_file(self, file: str, message: str) -> None:
        """A test file could not be read."""
        self._errors.append({"file": _text(file), "message": self._cut(message)})

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


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")

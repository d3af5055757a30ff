"""Collects what a test runner says: one result per test, per sub-test and per broken file."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["Results"]

_MESSAGE_CHARACTERS = 4_000
_MESSAGES_CHARACTERS = 200_000


class Results:
    """Everything that one report holds of the tests, in the order in which it happened."""

    def __init__(self) -> None:
        self.collected: list[str] = []
        self._tests: list[dict[str, str]] = []
        self._parts: list[dict[str, str]] = []
        self._errors: list[dict[str, str]] = []
        self._left = _MESSAGES_CHARACTERS

    def test(self, test: str, outcome: str, message: str) -> None:
        """One run of a test."""
        self._tests.append({"id": text(test), "outcome": outcome, "message": self._cut(message)})

    def part(self, test: str, outcome: str, message: str) -> None:
        """One sub-test of a test."""
        self._parts.append({"id": text(test), "outcome": outcome, "message": self._cut(message)})

    def error(self, file: str, message: str) -> None:
        """One file that did not load."""
        self._errors.append({"file": text(file), "message": self._cut(message)})

    def frame(self, nonce: str, held: list[str], strays: list[str], restored: int) -> bytes:
        """The whole report."""
        report: dict[str, Any] = {
            "schema": 3,
            "nonce": nonce,
            "collected": self.collected,
            "tests": self._tests,
            "parts": self._parts,
            "errors": self._errors,
            "held": held,
            "strays": [text(name)[:200] for name in strays],
            "restored": restored,
        }
        return json.dumps(report).encode("ascii")

    def _cut(self, message: str) -> str:
        half = min(_MESSAGE_CHARACTERS, self._left) // 2
        if len(message) > 2 * half:
            message = f"{message[:half]}\n[cut]\n{message[len(message) - half :]}"
        self._left = max(0, self._left - len(message))
        return text(message)


def text(value: str) -> str:
    """The same without what UTF-8 can't hold."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8")

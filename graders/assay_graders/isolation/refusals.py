"""What ends a test that can't be judged here. No `except Exception` of a test holds it."""

from __future__ import annotations

__all__ = ["CandidateError", "Refusal", "TimeUp", "WorkerLost"]


class Refusal(BaseException):
    """An operation that must not leave the driver, or can't; `code` names the rule.

    `by_test`: the test alone brought it about, whatever the candidate is like.
    """

    def __init__(self, code: str, *, by_test: bool = False) -> None:
        super().__init__(f"isolated grading refuses this: {code}")
        self.code = code
        self.by_test = by_test


class CandidateError(Exception):
    """An exception of the candidate's that is not allowed to be what it is."""


class WorkerLost(BaseException):
    """The candidate's process is gone, silent or out of step; `code` says which."""

    def __init__(self, code: str) -> None:
        super().__init__(f"the candidate's process was lost: {code}")
        self.code = code


class TimeUp(BaseException):
    """The test's own time limit was reached."""

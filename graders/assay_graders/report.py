"""Decoder of the report that a runner in a jail sends: bounded, exact, or refused.

The bytes come from a process that may have run candidate code. Whatever is not exactly one
object of the documented shape raises ReportFault; nothing is repaired and nothing guessed.
"""

from __future__ import annotations

import re
from typing import Any

from attrs import field, frozen

from assay.api import TestOutcome
from assay_graders.strict_json import load_strictly

__all__ = [
    "MAX_ERRORS",
    "MAX_FRAME_BYTES",
    "MAX_ID_BYTES",
    "MAX_TESTS",
    "FailedFile",
    "ReportFault",
    "ReportedTest",
    "RunReport",
    "decode_report",
    "read_failed",
    "read_json",
    "read_list",
    "read_object",
    "read_test",
    "read_text",
]

MAX_FRAME_BYTES = 8 * 1024**2
MAX_TESTS = 10_000
MAX_ERRORS = 1_000
MAX_ID_BYTES = 2_048
MAX_MESSAGE_BYTES = 16 * 1024

_SCHEMA = 1
_RUNNER_LINE = re.compile(
    r"\n *at (?:[^\n]*[( ])?(?:file:///assay/|node:|<anonymous>)[^\n]*?(?=(?: \{)?(?:\n|\Z))"
)
"""A line of a stack of Node's that is about the runner and not about tests."""
_OUTCOMES = {
    outcome.value: outcome
    for outcome in (
        TestOutcome.PASSED,
        TestOutcome.FAILED,
        TestOutcome.SKIPPED,
        TestOutcome.XFAILED,
        TestOutcome.ERROR,
    )
}


class ReportFault(ValueError):
    """A report breaks the format; the message names the rule and shows no content."""


@frozen
class ReportedTest:
    """One run of one test, as the runner says."""

    id: str
    outcome: TestOutcome
    message: str = field(default="", repr=False)


@frozen
class FailedFile:
    """A test file that could not be loaded, or failed outside of its tests."""

    file: str
    message: str = field(default="", repr=False)


@frozen
class RunReport:
    """All runs in the order they were reported; an id may occur more than once."""

    tests: tuple[ReportedTest, ...] = ()
    errors: tuple[FailedFile, ...] = ()


def decode_report(frame: bytes) -> RunReport:
    """The report in one frame of the private channel; raises ReportFault."""
    document = read_object(read_json(frame), "report", {"schema", "tests", "errors"})
    if type(document["schema"]) is not int or document["schema"] != _SCHEMA:
        raise ReportFault("report has an unknown schema")
    return RunReport(
        tests=tuple(read_test(item) for item in read_list(document["tests"], "tests", MAX_TESTS)),
        errors=tuple(
            read_failed(item) for item in read_list(document["errors"], "errors", MAX_ERRORS)
        ),
    )


def read_json(frame: bytes) -> Any:
    """Strict JSON of one frame; raises ReportFault."""
    if len(frame) > MAX_FRAME_BYTES:
        raise ReportFault("report is too long")
    return load_strictly(frame, "report", ReportFault)


def read_test(item: Any) -> ReportedTest:
    """One run of a test: exactly `id`, `outcome` and `message`."""
    fields = read_object(item, "test", {"id", "outcome", "message"})
    outcome = read_text(fields["outcome"], "outcome", 16)
    if outcome not in _OUTCOMES:
        raise ReportFault("report names an unknown outcome")
    return ReportedTest(
        id=read_text(fields["id"], "id", MAX_ID_BYTES, empty=False),
        outcome=_OUTCOMES[outcome],
        message=_read_message(fields["message"]),
    )


def read_failed(item: Any) -> FailedFile:
    """One file that failed: exactly `file` and `message`."""
    fields = read_object(item, "error", {"file", "message"})
    return FailedFile(
        file=read_text(fields["file"], "file", MAX_ID_BYTES),
        message=_read_message(fields["message"]),
    )


def _read_message(value: Any) -> str:
    return _RUNNER_LINE.sub("", read_text(value, "message", MAX_MESSAGE_BYTES))


def read_object(value: Any, what: str, keys: set[str]) -> dict[str, Any]:
    """An object with exactly these keys; raises ReportFault."""
    if type(value) is not dict or set(value) != keys:
        raise ReportFault(f"{what} is not an object with exactly the documented keys")
    return value


def read_list(value: Any, what: str, most: int) -> list[Any]:
    """A list of at most so many entries; raises ReportFault."""
    if type(value) is not list:
        raise ReportFault(f"{what} is not a list")
    if len(value) > most:
        raise ReportFault(f"{what} holds more than {most} entries")
    return value


def read_text(value: Any, what: str, most: int, *, empty: bool = True) -> str:
    """Text of at most so many bytes; raises ReportFault."""
    if type(value) is not str or not (value or empty):
        raise ReportFault(f"{what} is not text")
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError:
        raise ReportFault(f"{what} is not Unicode text") from None
    if size > most:
        raise ReportFault(f"{what} is longer than {most} bytes")
    return value

"""Decoder of the report of one guarded run: results, and what the run measured of itself."""

from __future__ import annotations

import hmac
from typing import Any

from attrs import frozen

from assay_graders.report import (
    MAX_ERRORS,
    MAX_ID_BYTES,
    MAX_TESTS,
    ReportedTest,
    ReportFault,
    RunReport,
    read_failed,
    read_json,
    read_list,
    read_object,
    read_test,
    read_text,
)

__all__ = ["GuardedReport", "decode_guarded_report"]

_SCHEMA = 3
_MAX_NAMES = 40
_KEYS = {"schema", "nonce", "collected", "tests", "parts", "errors", "held", "strays", "restored"}


@frozen
class GuardedReport:
    """`collected` are ids in the order of the files, `parts` sub-tests under their test's id.

    `held` names guards that the process found in force, `strays` modules that are not what
    they should be; `restored` counts modules that ran the candidate's text and were restored.
    """

    run: RunReport
    collected: tuple[str, ...]
    parts: tuple[ReportedTest, ...]
    held: frozenset[str]
    strays: tuple[str, ...]
    restored: int

    @property
    def order(self) -> tuple[str, ...]:
        """Ids in the order in which they ran."""
        return tuple(test.id for test in self.run.tests)


def decode_guarded_report(frame: bytes, nonce: str) -> GuardedReport:
    """The report of the run that was given this nonce; raises ReportFault."""
    document = read_object(read_json(frame), "report", _KEYS)
    if type(document["schema"]) is not int or document["schema"] != _SCHEMA:
        raise ReportFault("report has an unknown schema")
    told = read_text(document["nonce"], "nonce", 64)
    if not hmac.compare_digest(told.encode(), nonce.encode()):
        raise ReportFault("report is of another run")
    return GuardedReport(
        run=RunReport(
            tests=tuple(map(read_test, read_list(document["tests"], "tests", MAX_TESTS))),
            errors=tuple(map(read_failed, read_list(document["errors"], "errors", MAX_ERRORS))),
        ),
        collected=_texts(document["collected"], "collected", MAX_TESTS),
        parts=tuple(map(read_test, read_list(document["parts"], "parts", MAX_TESTS))),
        held=frozenset(_texts(document["held"], "held", _MAX_NAMES)),
        strays=_texts(document["strays"], "strays", _MAX_NAMES),
        restored=_count(document["restored"]),
    )


def _texts(value: Any, what: str, most: int) -> tuple[str, ...]:
    return tuple(read_text(item, what, MAX_ID_BYTES) for item in read_list(value, what, most))


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MAX_TESTS:
        raise ReportFault("a count is out of range")
    return value

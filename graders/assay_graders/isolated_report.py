"""Decoder of the report of an isolated run: results, and how each test used the wire."""

from __future__ import annotations

import re
from typing import Any

from attrs import frozen

from assay.api import TestOutcome
from assay_graders.report import (
    MAX_ERRORS,
    MAX_TESTS,
    ReportedTest,
    ReportFault,
    RunReport,
    read_failed,
    read_json,
    read_list,
    read_object,
    read_test,
)

__all__ = ["HIGHEST_LEVEL", "IsolatedReport", "decode_isolated_report"]

HIGHEST_LEVEL = 4
_SCHEMA = 2
_MAX_CODES = 20
_MAX_COUNT = 2**53
_CODE = re.compile(r"[a-z]{1,20}(?:-[a-z]{1,20}){0,3}")
_UNSUPPORTED = "unsupported"


@frozen
class IsolatedReport:
    """`run` holds what a plain run would report; a test that can't be judged is an error there.

    `unsupported` maps such tests to codes, `unsupported_files` are codes from loading the
    files. `codes` is about all tests, `levels` counts tests by level, `faults` the breaches
    of the exchange.
    """

    run: RunReport
    unsupported: dict[str, tuple[str, ...]]
    unsupported_files: tuple[str, ...]
    codes: tuple[str, ...]
    levels: dict[str, float]
    faults: int


def decode_isolated_report(frame: bytes) -> IsolatedReport:
    """The report in one frame; raises ReportFault."""
    keys = {"schema", "tests", "errors", "unsupported", "trips", "faults"}
    document = read_object(read_json(frame), "report", keys)
    if type(document["schema"]) is not int or document["schema"] != _SCHEMA:
        raise ReportFault("report has an unknown schema")
    tests: list[ReportedTest] = []
    unsupported: dict[str, tuple[str, ...]] = {}
    codes: set[str] = set()
    levels = {f"level_{level}": 0.0 for level in range(HIGHEST_LEVEL + 1)}
    for item in read_list(document["tests"], "tests", MAX_TESTS):
        fields = read_object(item, "test", {"id", "outcome", "message", "level", "trips", "codes"})
        levels[f"level_{_count(fields['level'], HIGHEST_LEVEL)}"] += 1
        _count(fields["trips"], _MAX_COUNT)
        of_test = _codes(fields["codes"])
        codes.update(of_test)
        test, is_unsupported = _test(fields)
        tests.append(test)
        if is_unsupported:
            unsupported[test.id] = of_test
    errors = tuple(map(read_failed, read_list(document["errors"], "errors", MAX_ERRORS)))
    _count(document["trips"], _MAX_COUNT)
    return IsolatedReport(
        run=RunReport(tuple(tests), errors),
        unsupported=unsupported,
        unsupported_files=_codes(document["unsupported"]),
        codes=tuple(sorted(codes)),
        levels=levels,
        faults=_count(document["faults"], _MAX_COUNT),
    )


def _test(fields: dict[str, Any]) -> tuple[ReportedTest, bool]:
    plain = {key: fields[key] for key in ("id", "outcome", "message")}
    is_unsupported = plain["outcome"] == _UNSUPPORTED
    if is_unsupported:
        plain["outcome"] = TestOutcome.ERROR.value
    return read_test(plain), is_unsupported


def _codes(value: Any) -> tuple[str, ...]:
    codes = read_list(value, "codes", _MAX_CODES)
    if not all(type(code) is str and _CODE.fullmatch(code) for code in codes):
        raise ReportFault("a code is not a word")
    return tuple(codes)


def _count(value: Any, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ReportFault("a count is out of range")
    return value

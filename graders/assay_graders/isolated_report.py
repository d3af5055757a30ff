"""The report of an isolated run: results, and how each test used the wire.

Decoded from the driver's frame, and written as the artifact that tools read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import rfc8785
from attrs import frozen

from assay.api import TestOutcome
from assay_graders.isolation.features import HIGHEST_LEVEL
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

__all__ = [
    "IsolatedReport",
    "IsolatedTest",
    "decode_isolated_report",
    "isolation_artifact",
    "merged",
]

_SCHEMA = 3
_ARTIFACT_SCHEMA = 1
_MAX_CODES = 20
_MAX_FEATURES = 100
_MAX_COUNT = 2**53
_CODE = re.compile(r"[a-z]{1,20}(?:-[a-z]{1,20}){0,3}")
_UNSUPPORTED = "unsupported"
SELF_COMPARED = "self-compared"
"""A feature and a code: what two objects of the candidate's say of each other was believed."""


@frozen
class IsolatedTest:
    """How one test used the wire.

    `features` are names from `isolation.features`, `level` is their highest. `codes` are all
    refusals and losses, `unsupported` those of them that make the test impossible to judge.
    """

    id: str
    outcome: str
    level: int
    features: tuple[str, ...]
    trips: int
    codes: tuple[str, ...]
    unsupported: tuple[str, ...]


@frozen
class IsolatedReport:
    """`run` holds what a plain run would report; a test that can't be judged is an error there.

    `tests` has the same tests in the same order. `features` and `unsupported_files` are about
    loading the files. `faults` counts the breaches of the exchange.
    """

    run: RunReport
    tests: tuple[IsolatedTest, ...]
    features: tuple[str, ...]
    unsupported_files: tuple[str, ...]
    faults: int

    @property
    def unsupported(self) -> dict[str, tuple[str, ...]]:
        """The codes of each test that can't be judged."""
        return {test.id: test.unsupported for test in self.tests if test.outcome == _UNSUPPORTED}

    @property
    def codes(self) -> tuple[str, ...]:
        """Every code that some test has, and the mark of a run that needs level 6."""
        codes = {code for test in self.tests for code in test.codes}
        if any(SELF_COMPARED in test.features for test in self.tests):
            codes.add(SELF_COMPARED)
        return tuple(sorted(codes))

    @property
    def levels(self) -> dict[str, float]:
        """How many tests have each level."""
        counts = {f"level_{level}": 0.0 for level in range(HIGHEST_LEVEL + 1)}
        for test in self.tests:
            counts[f"level_{test.level}"] += 1
        return counts


def decode_isolated_report(frame: bytes) -> IsolatedReport:
    """The report in one frame; raises ReportFault."""
    keys = {"schema", "tests", "errors", "features", "unsupported", "trips", "faults"}
    document = read_object(read_json(frame), "report", keys)
    if type(document["schema"]) is not int or document["schema"] != _SCHEMA:
        raise ReportFault("report has an unknown schema")
    tests = [_test(item) for item in read_list(document["tests"], "tests", MAX_TESTS)]
    errors = tuple(map(read_failed, read_list(document["errors"], "errors", MAX_ERRORS)))
    _count(document["trips"], _MAX_COUNT)
    return IsolatedReport(
        run=RunReport(tuple(plain for plain, _ in tests), errors),
        tests=tuple(test for _, test in tests),
        features=_words(document["features"], _MAX_FEATURES),
        unsupported_files=_words(document["unsupported"], _MAX_CODES),
        faults=_count(document["faults"], _MAX_COUNT),
    )


def merged(reports: Iterable[IsolatedReport]) -> IsolatedReport | None:
    """The reports of several drivers as one, in their order; None if there is none."""
    reports = tuple(reports)
    if not reports:
        return None
    return IsolatedReport(
        run=RunReport(
            tuple(test for report in reports for test in report.run.tests),
            tuple(error for report in reports for error in report.run.errors),
        ),
        tests=tuple(test for report in reports for test in report.tests),
        features=tuple(sorted({name for report in reports for name in report.features})),
        unsupported_files=tuple(
            sorted({code for report in reports for code in report.unsupported_files})
        ),
        faults=sum(report.faults for report in reports),
    )


def isolation_artifact(report: IsolatedReport) -> bytes:
    """What the artifact `isolation.json` holds: canonical JSON, tests in the order they ran."""
    return rfc8785.dumps(
        {
            "schema": _ARTIFACT_SCHEMA,
            "files": {
                "features": list(report.features),
                "unsupported": list(report.unsupported_files),
            },
            "tests": [
                {
                    "id": test.id,
                    "outcome": test.outcome,
                    "level": test.level,
                    "features": list(test.features),
                    "trips": test.trips,
                    "codes": list(test.codes),
                    "unsupported": list(test.unsupported),
                }
                for test in report.tests
            ],
        }
    )


def _test(item: Any) -> tuple[ReportedTest, IsolatedTest]:
    own = {"level", "features", "trips", "codes", "unsupported"}
    fields = read_object(item, "test", {"id", "outcome", "message"} | own)
    plain = {key: fields[key] for key in fields if key not in own}
    if plain["outcome"] == _UNSUPPORTED:
        plain["outcome"] = TestOutcome.ERROR.value
    reported = read_test(plain)
    return reported, IsolatedTest(
        id=reported.id,
        outcome=fields["outcome"],
        level=_count(fields["level"], HIGHEST_LEVEL),
        features=_words(fields["features"], _MAX_FEATURES),
        trips=_count(fields["trips"], _MAX_COUNT),
        codes=_words(fields["codes"], _MAX_CODES),
        unsupported=_words(fields["unsupported"], _MAX_CODES),
    )


def _words(value: Any, most: int) -> tuple[str, ...]:
    words = read_list(value, "words", most)
    if not all(type(word) is str and _CODE.fullmatch(word) for word in words):
        raise ReportFault("a code or feature is not a word")
    return tuple(words)


def _count(value: Any, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ReportFault("a count is out of range")
    return value

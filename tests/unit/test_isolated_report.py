"""The report of an isolated run, and the table of tests that is kept of it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from support.repository import ROOT

from assay.api import TestOutcome
from assay_graders.isolated_report import decode_isolated_report, isolation_artifact
from assay_graders.isolation.features import HIGHEST_LEVEL, LEVELS, level_of
from assay_graders.report import ReportFault

TEST = {
    "id": "t.py::test_a",
    "outcome": "passed",
    "message": "",
    "level": 2,
    "features": ["attributes", "functions"],
    "trips": 3,
    "codes": [],
    "unsupported": [],
}


def frame(**changes: Any) -> bytes:
    empty = {"tests": [], "errors": [], "features": [], "unsupported": [], "trips": 0, "faults": 0}
    return json.dumps({"schema": 3, **empty, **changes}).encode()


def test_each_test_keeps_its_level_features_trips_and_codes() -> None:
    codes = {"codes": ["code", "lost-died"], "unsupported": ["code"], "outcome": "unsupported"}
    other = {**TEST, "id": "t.py::test_b", "level": 4, **codes}

    report = decode_isolated_report(frame(tests=[TEST, other], features=["modules"]))

    assert [test.outcome for test in report.run.tests] == [TestOutcome.PASSED, TestOutcome.ERROR]
    assert report.unsupported == {"t.py::test_b": ("code",)}
    assert report.codes == ("code", "lost-died")
    assert report.levels["level_2"] == report.levels["level_4"] == 1
    kept = json.loads(isolation_artifact(report))
    shown = [{key: test[key] for key in test if key != "message"} for test in (TEST, other)]
    assert kept == {
        "schema": 1,
        "files": {"features": ["modules"], "unsupported": []},
        "tests": shown,
    }


def test_the_artifact_is_canonical() -> None:
    report = decode_isolated_report(frame(tests=[{**TEST, "id": "é\x1f\u2028"}]))

    written = isolation_artifact(report)

    assert written.startswith(b'{"files":{"features":[],"unsupported":[]},"schema":1,"tests":[{')
    assert '"id":"é\\u001f\u2028"'.encode() in written


@pytest.mark.parametrize(
    "changes",
    [
        {"level": HIGHEST_LEVEL + 1},
        {"level": True},
        {"trips": -1},
        {"features": ["Attributes"]},
        {"features": "attributes"},
        {"features": ["a"] * 101},
        {"codes": ["x y"]},
        {"unsupported": [1]},
        {"extra": 1},
    ],
    ids=str,
)
def test_anything_else_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ReportFault):
        decode_isolated_report(frame(tests=[{**TEST, **changes}]))


def test_every_feature_is_documented_with_its_level() -> None:
    page = (ROOT / "docs/formats/run-folder.md").read_text("utf-8")

    rows = re.findall(r"^\| (`[^|]+) \| (\d) \|", page, re.MULTILINE)
    found = {name: int(level) for names, level in rows for name in re.findall(r"`(.+?)`", names)}
    assert found == LEVELS


def test_a_test_has_the_highest_level_of_what_it_used() -> None:
    assert level_of([]) == 0
    assert level_of(["functions", "callbacks", "errors"]) == 3
    assert max(LEVELS.values()) <= HIGHEST_LEVEL

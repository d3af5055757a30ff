"""Whatever bytes a jail sends, the decoder returns the documented data or refuses."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.api import TestOutcome
from assay_graders.expected import compare
from assay_graders.report import ReportFault, RunReport, decode_report

OUTCOMES = ("passed", "failed", "skipped", "xfailed", "error")
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
TESTS = st.lists(
    st.fixed_dictionaries(
        {"id": TEXT.filter(bool), "outcome": st.sampled_from(OUTCOMES), "message": TEXT}
    ),
    max_size=6,
)
ERRORS = st.lists(st.fixed_dictionaries({"file": TEXT, "message": TEXT}), max_size=3)
REPORTS = st.fixed_dictionaries({"schema": st.just(1), "tests": TESTS, "errors": ERRORS})
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["schema", "tests", "errors", "id"]), inner)
    ),
    max_leaves=8,
)


def decoded(frame: bytes) -> RunReport | None:
    try:
        return decode_report(frame)
    except ReportFault:
        return None


@given(REPORTS)
def test_every_legal_report_is_read_back(document: dict[str, Any]):
    report = decode_report(json.dumps(document).encode())

    assert [
        {"id": test.id, "outcome": test.outcome.value, "message": test.message}
        for test in report.tests
    ] == document["tests"]
    assert [{"file": error.file, "message": error.message} for error in report.errors] == document[
        "errors"
    ]


@given(st.binary(max_size=200))
def test_random_bytes_never_escape_as_another_error(frame: bytes):
    assert decoded(frame) is None


@given(JSON)
def test_random_json_never_escapes_as_another_error(value: Any):
    decoded(json.dumps(value).encode())


@given(REPORTS, st.data())
@settings(max_examples=200)
def test_a_changed_byte_never_makes_two_readings(document: dict[str, Any], data: st.DataObject):
    frame = bytearray(json.dumps(document).encode())
    place = data.draw(st.integers(0, len(frame) - 1))
    frame[place] = data.draw(st.integers(0, 255))

    report = decoded(bytes(frame))

    if report is not None:
        again = json.loads(bytes(frame))
        assert [test.id for test in report.tests] == [test["id"] for test in again["tests"]]


IDS = st.sampled_from([f"{file}::{name}" for file in ("a", "b") for name in ("x", "y", "z")])


@given(
    st.lists(IDS, min_size=1, max_size=6, unique=True),
    st.lists(st.tuples(IDS, st.sampled_from(OUTCOMES)), max_size=8),
    st.lists(st.sampled_from(["a", "b", "c"]), max_size=2),
)
def test_all_pass_iff_exactly_the_expected_tests_passed_once(
    expect: list[str], runs: list[tuple[str, str]], failed: list[str]
):
    document = {
        "schema": 1,
        "tests": [{"id": test, "outcome": outcome, "message": ""} for test, outcome in runs],
        "errors": [{"file": file, "message": ""} for file in failed],
    }
    report = decode_report(json.dumps(document).encode())

    results = compare(tuple(expect), report, lambda test: test.partition("::")[0])

    all_passed = all(result.outcome is TestOutcome.PASSED for result in results)
    exactly = sorted(runs) == sorted((test, "passed") for test in expect)
    assert all_passed == (exactly and not failed)
    assert [result.id for result in results[: len(expect)]] == expect

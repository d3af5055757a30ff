"""The report decoder: exactly the documented shape, or refused."""

import json
from typing import Any

import pytest

from assay.api import TestOutcome
from assay_graders.report import (
    MAX_FRAME_BYTES,
    MAX_ID_BYTES,
    MAX_MESSAGE_BYTES,
    MAX_TESTS,
    FailedFile,
    ReportedTest,
    ReportFault,
    decode_report,
)

TEST = {"id": "t.py::test_a", "outcome": "passed", "message": ""}


def frame(**changes: Any) -> bytes:
    return json.dumps({"schema": 1, "tests": [], "errors": [], **changes}).encode()


def test_a_report_keeps_order_and_repeated_ids():
    second = {**TEST, "outcome": "failed", "message": "assert 1 == 2"}
    error = {"file": "u.py", "message": "SyntaxError"}

    report = decode_report(frame(tests=[TEST, second], errors=[error]))

    assert report.tests == (
        ReportedTest("t.py::test_a", TestOutcome.PASSED, ""),
        ReportedTest("t.py::test_a", TestOutcome.FAILED, "assert 1 == 2"),
    )
    assert report.errors == (FailedFile("u.py", "SyntaxError"),)


@pytest.mark.parametrize(
    "test_id",
    [
        "t.py::test_q[a b - c]",
        "t.py::test_q[x] - y]",
        "t.py::test_\U0001f600",
        "caf\u00e9.py::test",
        "cafe\u0301.py::test",
        "t.py::test_a[\x1b\n\x00]",
    ],
)
def test_ids_are_kept_exactly(test_id: str):
    report = decode_report(frame(tests=[{**TEST, "id": test_id}]))

    assert [test.id for test in report.tests] == [test_id]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff\xfe", id="not-utf-8"),
        pytest.param(b"\xef\xbb\xbf" + frame(), id="bom"),
        pytest.param(frame() + b"{}", id="two-documents"),
        pytest.param(frame()[:-1], id="cut"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b'{"schema":1' + b"0" * 5_000 + b',"tests":[],"errors":[]}', id="huge-number"),
        pytest.param(b'{"schema":1,"schema":1,"tests":[],"errors":[]}', id="repeated-key"),
        pytest.param(b'{"schema":1,"tests":[NaN],"errors":[]}', id="nan"),
        pytest.param(b'{"schema":Infinity,"tests":[],"errors":[]}', id="infinity"),
        pytest.param(b"[]", id="list"),
        pytest.param(b"null", id="null"),
        pytest.param(frame(extra=1), id="unknown-key"),
        pytest.param(b'{"schema":1,"tests":[]}', id="missing-key"),
        pytest.param(frame(schema=2), id="other-schema"),
        pytest.param(frame(schema=True), id="schema-true"),
        pytest.param(frame(schema=1.0), id="schema-float"),
        pytest.param(frame(tests={}), id="tests-object"),
        pytest.param(frame(tests=[[]]), id="test-list"),
        pytest.param(frame(tests=[{**TEST, "extra": 1}]), id="test-unknown-key"),
        pytest.param(frame(tests=[{"id": "a", "outcome": "passed"}]), id="test-missing-key"),
        pytest.param(frame(tests=[{**TEST, "id": ""}]), id="empty-id"),
        pytest.param(frame(tests=[{**TEST, "id": 1}]), id="number-id"),
        pytest.param(frame(tests=[{**TEST, "id": "\ud800"}]), id="lone-surrogate"),
        pytest.param(frame(tests=[{**TEST, "id": "a" * (MAX_ID_BYTES + 1)}]), id="long-id"),
        pytest.param(frame(tests=[{**TEST, "outcome": "PASSED"}]), id="other-case"),
        pytest.param(frame(tests=[{**TEST, "outcome": "missing"}]), id="not-for-runners"),
        pytest.param(frame(tests=[{**TEST, "outcome": True}]), id="outcome-true"),
        pytest.param(frame(tests=[{**TEST, "message": None}]), id="no-message"),
        pytest.param(
            frame(tests=[{**TEST, "message": "a" * (MAX_MESSAGE_BYTES + 1)}]), id="long-message"
        ),
        pytest.param(frame(errors=[{"file": "a"}]), id="error-missing-key"),
        pytest.param(frame(errors=["a"]), id="error-text"),
    ],
)
def test_anything_else_is_refused(content: bytes):
    with pytest.raises(ReportFault):
        decode_report(content)


def test_a_frame_above_the_cap_is_refused():
    with pytest.raises(ReportFault, match="too long"):
        decode_report(frame().ljust(MAX_FRAME_BYTES + 1))


def test_too_many_tests_are_refused():
    with pytest.raises(ReportFault, match="more than"):
        decode_report(frame(tests=[TEST] * (MAX_TESTS + 1)))


def test_a_refusal_shows_no_content():
    with pytest.raises(ReportFault) as refused:
        decode_report(frame(tests=[{**TEST, "outcome": "hostile"}]))

    assert "hostile" not in str(refused.value)

"""Normalised output: equal for equal runs, and still different where results differ."""

from __future__ import annotations

import pytest

from assay.normalise import normalise

FIRST = """collected 2 items
run in /tmp/assay-k3j2/ws pid 811 at 0x7f00aa01d0a0 on port 40211
started 2024-01-31T10:00:00Z, serving localhost:35001
ratio = 2.72
============ 2 passed in 9.31s ============
"""
SECOND = """collected 2 items
run in /var/tmp/other_9/ws pid 90312 at 0x55e1b2c4e9d0 on port 7
started 2025-12-01 23:59:59.125+02:00, serving localhost:51920
ratio = 2.72
====== 2 passed in 71.90s (0:01:11) =======
"""
OTHER = SECOND.replace("2.72", "2.73").replace("2 passed", "1 failed, 1 passed")


def test_equal_runs_become_equal() -> None:
    assert normalise(FIRST) == normalise(SECOND)


def test_other_results_stay_different() -> None:
    assert normalise(FIRST) != normalise(OTHER)
    assert normalise(FIRST) != normalise(SECOND.replace("2.72", "2.73"))
    assert normalise(FIRST) != normalise(SECOND.replace("2 passed", "1 failed, 1 passed"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/tmp/x1/ws/f.py:3", "<workspace>/ws/f.py:3"),
        ("see /private/tmp/x", "see <workspace>"),
        ("duration_ms 12.5", "duration_ms <normalized>"),
        ("duration_ms: 0.031", "duration_ms: <normalized>"),
        ("0.01s call     t.py::test_a", "<normalized> call     t.py::test_a"),
        ("pid=12, pid: 13", "pid=<normalized>, pid: <normalized>"),
        ("<X object at 0x7f00aa01>", "<X object at <normalized>>"),
        ("http://127.0.0.1:8080/x", "http://127.0.0.1:<normalized>/x"),
        ("== 1 failed, 2 passed in 0.12s ==", "===== 1 failed, 2 passed in <normalized> ====="),
        ("===== 3 passed in 1.02s =====", "===== 3 passed in <normalized> ====="),
        ("======= short test summary info =======", "======= short test summary info ======="),
        ("took 5 ms", "took <normalized>"),
    ],
)
def test_each_form(text: str, expected: str) -> None:
    assert normalise(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "E       assert 'took 3 s' == 'took 4 s'",
        "E         - /tmp/one",
        ">       assert f() == '/tmp/two'",
        "AssertionError: pid 3 in 0.5s",
        "'port 80' !== 'port 81'",
        "pid 3 >= pid 4",
        "+ port 80",
        "- port 81",
        "  actual: 'port 80',",
        "  expected: 'port 81',",
        "exit status 3, signal 9, timed out",
        "value = 3.14",
        "test 3 of 12",
        "ratio 1.2.3.4:5",
        "see src/tmp/x and /tmpfile",
        "in 3 steps",
        "on 2024-01-31",
    ],
)
def test_assertions_and_other_text_stay(text: str) -> None:
    assert normalise(text) == text

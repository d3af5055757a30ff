"""What runs show: each guard is measured, and each sign of tampering is told from a failure."""

import json
import random
from typing import Any

import pytest
from attrs import evolve

from assay.api import Reason, TestOutcome
from assay_graders.evident.guarded_report import GuardedReport, decode_guarded_report
from assay_graders.evident.judging import (
    Shown,
    parts_as_results,
    shown_by_break,
    shown_by_canaries,
    shown_by_real,
)
from assay_graders.report import ReportedTest, ReportFault, RunReport

IDS = ("t.py::a", "t.py::b[1]", "t.py::b[2]")
ORDER = "7"
TAMPERING = frozenset({Reason.TAMPERING_DETECTED})


def stem(test: str) -> str:
    return test.partition("[")[0]


def in_order(ids: tuple[str, ...]) -> list[str]:
    shuffled = list(ids)
    random.Random(ORDER).shuffle(shuffled)
    return shuffled


def report(
    ids: tuple[str, ...] = IDS, failed: tuple[str, ...] = (), **changes: Any
) -> GuardedReport:
    tests = tuple(
        ReportedTest(test, TestOutcome.FAILED if test in failed else TestOutcome.PASSED)
        for test in in_order(ids)
    )
    return GuardedReport(
        **{
            "run": RunReport(tests),
            "collected": ids,
            "parts": (),
            "held": frozenset({"no-plugins"}),
            "strays": (),
            "restored": 0,
            **changes,
        }
    )


BASE = report(failed=IDS)
ALL = {"no-plugins", "trusted-collection", "shuffled-order", "module-origins"}


def test_a_run_as_it_should_be_shows_all_its_guards():
    assert shown_by_real(report(), BASE, IDS, ORDER) == Shown(held=frozenset(ALL))


REAL = {
    "a guard only in one run": (report(held=frozenset()), BASE, {"no-plugins"}, ""),
    "a guard only in the other": (report(), evolve(BASE, held=frozenset()), {"no-plugins"}, ""),
    "other tests without the candidate": (report(), report(IDS[:2]), {"trusted-collection"}, ""),
    "more tests without the candidate": (
        report(),
        report((*IDS, "t.py::c")),
        {"trusted-collection"},
        "",
    ),
    "a test twice": (report(), report((*IDS, IDS[0])), {"trusted-collection"}, ""),
    "the candidate's order": (
        report(run=RunReport(tuple(reversed(report().run.tests)))),
        BASE,
        {"shuffled-order"},
        "order-changed",
    ),
    "the runtime's own order": (
        report(run=RunReport(tuple(reversed(report().run.tests)))),
        evolve(BASE, run=RunReport(tuple(reversed(BASE.run.tests)))),
        {"shuffled-order"},
        "",
    ),
    "a replaced module": (report(strays=("json",)), BASE, {"module-origins"}, "module-replaced"),
    "a name of the runtime's": (
        report(strays=("json",)),
        evolve(BASE, strays=("json",)),
        {"module-origins"},
        "",
    ),
}


@pytest.mark.parametrize("case", REAL)
def test_a_guard_that_does_not_hold_is_missing(case: str):
    real, pristine, lost, code = REAL[case]

    shown = shown_by_real(real, pristine, IDS, ORDER)

    assert ALL - shown.held == lost
    assert shown.codes == ({code} if code else set())
    assert shown.reasons == (TAMPERING if code else frozenset())


CANARIES = {
    "as they must": (report(failed=IDS[1:]), ("t.py::b",), "", frozenset()),
    "ids of other parameters": (
        report(("t.py::a", "t.py::b[9]", "t.py::b[8]"), failed=("t.py::b[9]", "t.py::b[8]")),
        ("t.py::b",),
        "",
        frozenset(),
    ),
    "all pass": (report(), ("t.py::b",), "canary-passed", TAMPERING),
    "one passes": (report(failed=IDS[1:2]), ("t.py::b",), "canary-passed", TAMPERING),
    "all fail": (report(failed=IDS), ("t.py::b",), "unsteady", {Reason.TESTS_NOT_PASSED}),
    "one is missing": (
        report(failed=IDS[1:], run=RunReport(report(IDS[1:], failed=IDS[1:]).run.tests)),
        ("t.py::b",),
        "unsteady",
        {Reason.TESTS_NOT_PASSED},
    ),
    "no report": (None, ("t.py::b",), "canary-unlike", TAMPERING),
    "other tests": (report(IDS[:1]), ("t.py::a",), "canary-unlike", TAMPERING),
}


@pytest.mark.parametrize("case", CANARIES)
def test_exactly_the_changed_tests_must_fail(case: str):
    canary, changed, code, reasons = CANARIES[case]

    shown = shown_by_canaries(report(), canary, changed, stem)

    assert shown == Shown(codes=frozenset({code} if code else ()), reasons=frozenset(reasons))


RESTORED = {"restored": 1}
BREAKS = {
    "as before": (report(failed=IDS, **RESTORED), BASE, True, ""),
    "fails less, but not before": (
        report(failed=IDS[:1], **RESTORED),
        report(failed=IDS[:1]),
        True,
        "",
    ),
    "passes": (report(**RESTORED), BASE, False, "re-break-passed"),
    "one passes": (report(failed=IDS[1:], **RESTORED), BASE, False, "re-break-passed"),
    "nothing failed before": (report(failed=IDS, **RESTORED), report(), False, ""),
    "nothing was restored": (report(failed=IDS), BASE, False, ""),
    "nothing ran": (report(run=RunReport(), **RESTORED), BASE, False, ""),
    "no report": (None, BASE, False, "re-break-unlike"),
}


@pytest.mark.parametrize("case", BREAKS)
def test_what_failed_before_must_fail_with_the_old_code(case: str):
    broken, pristine, is_held, code = BREAKS[case]

    shown = shown_by_break(broken, pristine, IDS)

    assert shown.held == ({"re-break"} if is_held else set())
    assert shown.codes == ({code} if code else set())
    assert shown.reasons == (TAMPERING if code else frozenset())


def test_sub_tests_that_did_not_pass_are_results_without_the_candidates_text():
    parts = tuple(
        ReportedTest("t.py::a", outcome, "private")
        for outcome in (TestOutcome.PASSED, TestOutcome.SKIPPED)
    )

    (result,) = parts_as_results(report(parts=parts))

    assert (result.id, result.outcome) == ("sub-test-2", TestOutcome.SKIPPED)
    assert result.message_public == "skipped: sub-test 2"


NONCE = "ab" * 16
DOCUMENT = {
    "schema": 3,
    "nonce": NONCE,
    "collected": ["t.py::a"],
    "tests": [{"id": "t.py::a", "outcome": "passed", "message": ""}],
    "parts": [],
    "errors": [],
    "held": ["no-plugins"],
    "strays": [],
    "restored": 0,
}


def test_a_report_with_its_nonce_is_read():
    read = decode_guarded_report(json.dumps(DOCUMENT).encode(), NONCE)

    assert read.collected == read.order == ("t.py::a",)
    assert read.held == {"no-plugins"}


@pytest.mark.parametrize(
    "change",
    [
        {"nonce": "cd" * 16},
        {"nonce": ""},
        {"nonce": None},
        {"schema": True},
        {"schema": 1},
        {"collected": "t.py::a"},
        {"collected": [1]},
        {"held": ["a"] * 50},
        {"restored": -1},
        {"restored": True},
        {"parts": [{}]},
        {"more": 1},
    ],
    ids=str,
)
def test_any_other_report_is_refused(change: dict[str, Any]):
    with pytest.raises(ReportFault):
        decode_guarded_report(json.dumps({**DOCUMENT, **change}).encode(), NONCE)


def test_a_report_without_a_nonce_is_refused():
    document = {key: value for key, value in DOCUMENT.items() if key != "nonce"}

    with pytest.raises(ReportFault):
        decode_guarded_report(json.dumps(document).encode(), NONCE)

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
    shown_by_order,
    shown_by_origins,
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
NONE: frozenset[str] = frozenset()


def test_a_run_as_it_should_be_shows_its_guards():
    shown = shown_by_real(report(), BASE, IDS, "/")

    assert shown == Shown(held=frozenset({"no-plugins", "trusted-collection"}))


REAL = {
    "a guard only in one run": (report(held=NONE), BASE, "no-plugins"),
    "a guard only in the other": (report(), evolve(BASE, held=NONE), "no-plugins"),
    "other tests without the candidate": (report(), report(IDS[:2]), "trusted-collection"),
    "more tests without the candidate": (
        report(),
        report((*IDS, "t.py::c")),
        "trusted-collection",
    ),
    "a test twice": (report(), report((*IDS, IDS[0])), "trusted-collection"),
}


@pytest.mark.parametrize("case", REAL)
def test_a_guard_that_does_not_hold_is_missing(case: str):
    real, pristine, lost = REAL[case]

    shown = shown_by_real(real, pristine, IDS, "/")

    assert shown == Shown(held=frozenset({"no-plugins", "trusted-collection"}) - {lost})


def test_a_part_of_a_test_that_fails_without_the_candidate_need_not_be_collected():
    ids = ("t.mjs > a", "t.mjs > a > part")

    for failed, holds in ((ids[:1], True), ((), False)):
        shown = shown_by_real(report(ids), report(ids[:1], failed=failed), ids, " > ")

        assert ("trusted-collection" in shown.held) is holds


TRUSTED = {
    "order": (shown_by_order, (True, True), (False, True), (False, False)),
    "origins": (
        shown_by_origins,
        (report(), BASE),
        (report(strays=("json",)), BASE),
        (report(strays=("json",)), evolve(BASE, strays=("json",))),
    ),
}


@pytest.mark.parametrize("case", TRUSTED)
def test_what_only_the_candidates_run_lacks_is_tampering(case: str):
    judge, as_asked, changed, never = TRUSTED[case]

    assert len(judge(*as_asked).held) == 1
    assert judge(*changed).reasons == TAMPERING
    assert not judge(*changed).held
    assert judge(*never) == Shown()


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

    shown = shown_by_canaries(report(), canary, changed, stem, is_placed=True, mark="/")

    assert shown == Shown(codes=frozenset({code} if code else ()), reasons=frozenset(reasons))


def test_tests_that_keep_their_ids_may_lack_their_parts_in_a_canary_run():
    ids = ("t.mjs > a", "t.mjs > a > part", "t.mjs > b")
    canary = report((ids[0], ids[2]), failed=(ids[0],))

    for changed, codes in (((ids[0],), set()), ((ids[2],), {"canary-passed", "unsteady"})):
        shown = shown_by_canaries(report(ids), canary, changed, str, is_placed=False, mark=" > ")

        assert shown.codes == codes


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

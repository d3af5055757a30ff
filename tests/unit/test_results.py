"""The canonical report and the exit code that follows from it."""

from __future__ import annotations

import random
import signal

import pytest
from attrs import evolve
from support.records import facts, invalid, plan, record, rejected

from assay.api import (
    BoundaryFacts,
    Expectation,
    GraderRole,
    Limits,
    Reason,
    TestOutcome,
    TrialRecord,
    VerdictStatus,
    Violation,
)
from assay.canonical import canonical_json
from assay.cli.exits import most_serious, run_exit_code
from assay.results import as_expected, build_report, results_digest

FAILING = (
    facts(GraderRole.VISIBLE),
    facts(GraderRole.HIDDEN, TestOutcome.FAILED),
)


def _records() -> list[TrialRecord]:
    return [
        record("add", "gold"),
        record("sum", "gold"),
        record("add", "half", rejected(Reason.HIDDEN_TESTS_FAILED), facts=FAILING),
        record("sum", "half", invalid(Reason.SANDBOX_FAILED), facts=(), claims=None, boundary=None),
    ]


def test_a_retired_task_is_listed_and_in_no_count_and_no_rate() -> None:
    records = _records()
    made = plan(records)
    old = made.tasks["sum"]
    retired = evolve(old, task=evolve(old.task, retired={"reason": "too easy"}))
    report = build_report(evolve(made, tasks={**made.tasks, "sum": retired}), records, {}, {})
    assert report["results"]["retired"] == [{"task": "sum"}]
    assert [trial["task"] for trial in report["results"]["trials"]].count("sum") == 2
    assert report["summary"]["trials"] == 2
    assert [row["trials"] for row in report["summary"]["candidates"]] == [1, 1]
    assert "retired" not in build_report(made, records, {}, {})["results"]


def test_an_ungradable_trial_is_in_no_denominator() -> None:
    records = _records()
    rows = build_report(plan(records), records, {}, {})["summary"]["candidates"]
    assert rows == [
        {
            "candidate": "gold",
            "trials": 2,
            "invalid": 0,
            "accepted": 2,
            "visible": {"passed": 2, "of": 2},
            "hidden": {"passed": 2, "of": 2},
            "boundary": {"passed": 2, "of": 2},
            "evidence": {"passed": 2, "of": 2},
        },
        {
            "candidate": "half",
            "trials": 1,
            "invalid": 1,
            "accepted": 0,
            "visible": {"passed": 1, "of": 1},
            "hidden": {"passed": 0, "of": 1},
            "boundary": {"passed": 1, "of": 1},
            "evidence": {"passed": 1, "of": 1},
        },
    ]


def test_the_order_of_completion_never_shows() -> None:
    records = _records()
    expected = canonical_json(build_report(plan(records), records, {}, {}))
    for seed in range(10):
        shuffled = random.Random(seed).sample(records, len(records))
        assert canonical_json(build_report(plan(records), shuffled, {}, {})) == expected


def test_the_digest_covers_everything_but_the_identity() -> None:
    records = _records()
    report = build_report(plan(records), records, {}, {"host": "a"})
    digest = results_digest(report)
    assert results_digest({**report, "identity": {"host": "b"}}) == digest
    for key in ("schema", "protocol", "suite", "subject", "results", "summary"):
        assert results_digest({**report, key: "changed"}) != digest


def test_no_time_and_no_usage_enter_the_report() -> None:
    made = record()
    limited = evolve(made.spec, limits=Limits(wall=3.5))
    slow = evolve(made, timings={"grading": 9.5}, usage={"cpu": 3.5}, seq=7, spec=limited)
    assert build_report(plan([made]), [made], {}, {}) == build_report(plan([slow]), [slow], {}, {})


@pytest.mark.parametrize(
    ("required", "permitted", "measured", "holds"),
    [
        ({Reason.TIME_LIMIT}, set(), (Reason.TIME_LIMIT,), True),
        ({Reason.TIME_LIMIT}, set(), (), False),
        ({Reason.TIME_LIMIT}, set(), (Reason.NO_CHANGES, Reason.TIME_LIMIT), False),
        ({Reason.TIME_LIMIT}, {Reason.NO_CHANGES}, (Reason.NO_CHANGES, Reason.TIME_LIMIT), True),
        (set(), {Reason.NO_CHANGES}, (), True),
    ],
)
def test_required_reasons_must_all_show_and_no_others(
    required: set[Reason], permitted: set[Reason], measured: tuple[Reason, ...], holds: bool
) -> None:
    made = record(verdict=rejected(*measured))
    expect = Expectation(VerdictStatus.REJECTED, frozenset(required), frozenset(permitted))
    candidate = plan([made], expect).candidates["add", "gold"]
    assert as_expected(made, candidate) is holds


def _code(made: TrialRecord, expect: Expectation | None = None, by: int | None = None) -> int:
    return run_exit_code([made], plan([made], expect).candidates, interrupted_by=by)


def test_each_kind_of_end_has_its_exit_code() -> None:
    gold = Expectation(VerdictStatus.ACCEPTED)
    assert _code(record()) == 0
    assert _code(record(), gold) == 0
    assert _code(record(verdict=rejected(Reason.NO_CHANGES))) == 1
    assert _code(record(verdict=rejected(Reason.NO_CHANGES)), gold) == 3
    assert _code(record(verdict=invalid(Reason.COPY_FAILED))) == 3
    assert _code(record(verdict=invalid(Reason.SANDBOX_UNAVAILABLE))) == 4
    assert _code(record(verdict=invalid(Reason.SOURCE_CONTAMINATED))) == 5
    assert _code(record(leaks=("assay-ws-1",))) == 5
    assert _code(record(), by=signal.SIGINT) == 130
    assert _code(record(), by=signal.SIGTERM) == 143


def test_the_most_serious_code_wins() -> None:
    ordered = [5, 130, 4, 3, 1, 0]
    for index, code in enumerate(ordered):
        assert most_serious(reversed(ordered[index:])) == code
    assert most_serious([]) == 0


def test_violations_break_the_boundary_rate() -> None:
    outside = record(
        verdict=rejected(Reason.UNSAFE_PATH),
        boundary=BoundaryFacts((Violation("../x", Reason.UNSAFE_PATH),), non_empty=True),
    )
    report = build_report(plan([outside]), [outside], {}, {})
    assert report["summary"]["candidates"][0]["boundary"] == {"passed": 0, "of": 1}

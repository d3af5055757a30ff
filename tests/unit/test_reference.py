"""Reference runs: every gold counts, under both limits, and what fails is never a candidate's."""

from __future__ import annotations

import pytest
from attrs import evolve
from support.records import ACCEPTED, DIGEST, invalid, rejected, spec

from assay.api import (
    Candidate,
    CandidateKind,
    Limits,
    LimitScale,
    Reason,
    RelPath,
    Task,
    TrialRecord,
    TrialSpec,
    Verdict,
    VerdictStatus,
)
from assay.benchmark import BenchmarkTask
from assay.reference import reference_runs, under_references

MOST = Limits(wall=20.0)


def task(task_id: str, *gold: str, scale: LimitScale | None) -> BenchmarkTask:
    return BenchmarkTask(
        Task(task_id, "bugfix", "Do it.", RelPath("fixture"), limits=MOST, scale=scale),
        "tiny",
        "/nowhere",
        references=tuple(Candidate(one, task_id, CandidateKind.FILES, DIGEST) for one in gold),
    )


TASKS = {
    "add": task("add", "gold", "slow", scale=LimitScale(2.0)),
    "plain": task("plain", scale=None),
}
SPECS = [spec("add", "mine"), spec("plain", "mine")]


def accepted(one: TrialSpec) -> TrialRecord:
    """A gold that took its time, and passed."""
    return TrialRecord(one, ACCEPTED, usage={"wall": 3.0 if "slow" in one.candidate else 1.0})


def test_the_slowest_gold_decides_and_each_is_run_under_the_result() -> None:
    asked: list[TrialSpec] = []

    def run(specs: list[TrialSpec]) -> list[TrialRecord]:
        asked.extend(specs)
        return [accepted(one) for one in reversed(specs)]

    found = reference_runs(TASKS, SPECS, run)
    derived = Limits(wall=6.0)
    assert list(found) == ["add"]
    assert (found["add"].limits, found["add"].failed) == (derived, None)
    assert under_references(SPECS[0], found) == evolve(SPECS[0], limits=derived)
    assert under_references(SPECS[1], found) == SPECS[1]
    names = ("@reference-gold", "@reference-slow")
    assert [(one.candidate, one.limits) for one in asked] == [
        *((name, None) for name in names),
        *((name, derived) for name in names),
    ]


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (rejected(Reason.TIME_LIMIT), Reason.BASELINE_DRIFT),
        (invalid(Reason.SANDBOX_FAILED), Reason.SANDBOX_FAILED),
    ],
)
@pytest.mark.parametrize("second", [False, True])
def test_a_gold_that_is_not_accepted_makes_the_task_ungradable(
    verdict: Verdict, reason: Reason, second: bool
) -> None:
    def answer(one: TrialSpec) -> Verdict:
        fails = one.candidate.endswith("slow") and (one.limits is not None) is second
        return verdict if fails else ACCEPTED

    found = reference_runs(
        TASKS, SPECS, lambda specs: [evolve(accepted(one), verdict=answer(one)) for one in specs]
    )["add"]
    assert found.limits is None
    assert found.failed is not None
    assert found.failed.verdict.status is VerdictStatus.INVALID
    assert found.failed.verdict.reasons == (reason,)
    when = "under the limits derived from it" if second else "in the reference run"
    code = verdict.reasons[0].value
    assert found.failed.error == f"limits: candidate slow is not accepted {when}: {code}"
    assert found.measured["wall"] == 3.0


def test_too_little_trust_says_nothing_of_what_a_gold_takes() -> None:
    low = invalid(Reason.TRUST_TOO_LOW)
    found = reference_runs(
        TASKS, SPECS, lambda specs: [evolve(accepted(one), verdict=low) for one in specs]
    )["add"]
    assert (found.limits, found.failed) == (Limits(wall=6.0), None)

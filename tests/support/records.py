"""Trial records and plans made by hand, for what only reads them."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from assay.api import (
    BoundaryFacts,
    Candidate,
    CandidateKind,
    Claim,
    ClaimFacts,
    Digest,
    Expectation,
    Facts,
    GraderRole,
    Reason,
    RelPath,
    SuiteHeader,
    Task,
    TaskPins,
    TestOutcome,
    TestResult,
    TreeRef,
    TrialRecord,
    TrialSpec,
    Trust,
    Verdict,
    VerdictStatus,
)
from assay.benchmark import BenchmarkTask
from assay.plan import Plan

DIGEST = Digest("sha256:" + "0" * 64)
ACCEPTED = Verdict(VerdictStatus.ACCEPTED, (), Trust.UNGUARDED, "1")


def spec(task: str = "add", candidate: str = "gold", attempt: int = 1) -> TrialSpec:
    """A spec whose digests are all the same."""
    return TrialSpec("tiny", task, candidate, attempt, DIGEST, DIGEST, None, DIGEST)


def rejected(*reasons: Reason) -> Verdict:
    """A rejection."""
    return Verdict(VerdictStatus.REJECTED, reasons, Trust.UNGUARDED, "1")


def invalid(*reasons: Reason) -> Verdict:
    """A trial that could not be graded."""
    return Verdict(VerdictStatus.INVALID, reasons, Trust.UNGUARDED, "1")


def facts(role: GraderRole, outcome: TestOutcome = TestOutcome.PASSED, **changes: Any) -> Facts:
    """One grader's facts with a single test."""
    made = Facts(
        grader=role.value,
        plugin="pytest",
        role=role,
        version="1",
        options_digest=DIGEST,
        completed=True,
        trust=Trust.UNGUARDED,
        tests=(TestResult("test.py::test", outcome, "public", "private"),),
    )
    return evolve(made, **changes)


def record(
    task: str = "add", candidate: str = "gold", verdict: Verdict = ACCEPTED, **changes: Any
) -> TrialRecord:
    """A graded record with all that a report shows."""
    made = TrialRecord(
        spec=spec(task, candidate),
        verdict=verdict,
        boundary=BoundaryFacts(permitted=(RelPath("src/calc.py"),), non_empty=True),
        facts=(facts(GraderRole.VISIBLE), facts(GraderRole.HIDDEN)),
        claims=ClaimFacts(Claim(visible_exit_code=0), agrees=True),
        source_before=DIGEST,
        source_after=DIGEST,
    )
    return evolve(made, **changes)


def plan(records: list[TrialRecord], expect: Expectation | None = None) -> Plan:
    """The plan that these records would have come from."""
    tasks = sorted({made.spec.task for made in records})
    return Plan(
        header=SuiteHeader("tiny", ("bugfix",), 1),
        tasks={
            task: BenchmarkTask(
                Task(task, "bugfix", "Do it.", RelPath("fixture")), "tiny", "/nowhere"
            )
            for task in tasks
        },
        revisions={
            task: TaskPins(TreeRef("assay-tree-v1", DIGEST), None, DIGEST) for task in tasks
        },
        runtimes={},
        candidates={
            (made.spec.task, made.spec.candidate): Candidate(
                made.spec.candidate,
                made.spec.task,
                CandidateKind.FILES,
                DIGEST,
                expect=expect,
            )
            for made in records
        },
        specs=tuple(made.spec for made in records),
        skipped=(),
        retired=(),
        submitted=expect is None,
    )

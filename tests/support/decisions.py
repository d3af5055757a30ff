"""Tasks, facts and candidates in a few words, for tests of the gate."""

from __future__ import annotations

from attrs import evolve

from assay.api.jail import Outcome, OutcomeStatus
from assay.api.reasons import Reason
from assay.api.records import BoundaryFacts, ClaimFacts, Facts, TestOutcome, TestResult
from assay.api.tasks import (
    AllowRule,
    Candidate,
    CandidateKind,
    Claim,
    EvidencePolicy,
    GraderRole,
    GraderSpec,
    Task,
)
from assay.api.trees import Digest, RelPath
from assay.api.trust import Trust

VISIBLE = GraderSpec("visible", "pytest", GraderRole.VISIBLE)
HIDDEN = GraderSpec("hidden", "pytest", GraderRole.HIDDEN)
KEPT = BoundaryFacts(permitted=(RelPath("src/m.py"),), non_empty=True)
AGREES = ClaimFacts(Claim(visible_exit_code=0), True)


def task(
    *graders: GraderSpec,
    allow: tuple[AllowRule, ...] = (),
    protect: tuple[str, ...] = (),
    evidence: EvidencePolicy = EvidencePolicy.OPTIONAL,
    require_trust: Trust = Trust.UNGUARDED,
) -> Task:
    """A task with a visible and a hidden grader unless others are given."""
    return Task(
        id="t",
        category="c",
        prompt="p",
        fixture=RelPath("fixture"),
        graders=graders or (VISIBLE, HIDDEN),
        allow=allow,
        protect=protect,
        evidence=evidence,
        require_trust=require_trust,
    )


def facts(
    spec: GraderSpec,
    *outcomes: TestOutcome,
    status: OutcomeStatus = OutcomeStatus.EXITED,
    completed: bool = True,
    trust: Trust = Trust.UNGUARDED,
    reasons: frozenset[Reason] = frozenset(),
) -> Facts:
    """What one grader measured: one test per outcome."""
    tests = tuple(TestResult(f"test {n}", outcome) for n, outcome in enumerate(outcomes))
    return Facts(
        grader=spec.id,
        plugin=spec.use,
        role=spec.role,
        version="1",
        options_digest=Digest("sha256:" + "0" * 64),
        completed=completed,
        trust=trust,
        tests=tests,
        outcome=Outcome(status),
        reasons=reasons,
    )


def passed(spec: GraderSpec, trust: Trust = Trust.UNGUARDED) -> Facts:
    """A grader with one test, passed."""
    return facts(spec, TestOutcome.PASSED, trust=trust)


def candidate(**changes: object) -> Candidate:
    """A candidate of kind files that changes nothing, but for the changes given."""
    return evolve(Candidate("c", "t", CandidateKind.FILES, Digest("")), **changes)

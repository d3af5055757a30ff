"""The gate: facts and the task's policy in, a verdict out. Pure and versioned.

Accepted is a conjunction: the candidate changed something, inside the boundary, every
required grader passed with enough trust, and its claims agree. Each part that fails adds
a reason; no part outweighs another. What could not be measured is never an acceptance.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.api.jail import OutcomeStatus
from assay.api.reasons import Reason, ReasonClass
from assay.api.records import BoundaryFacts, ClaimFacts, Facts, TestOutcome, Verdict
from assay.api.tasks import EvidencePolicy, GraderRole, GraderSpec, Task, VerdictStatus
from assay.api.trust import Trust

__all__ = ["DECISION_VERSION", "decide"]

DECISION_VERSION = "1"

_ROLE_REASONS = {
    GraderRole.VISIBLE: Reason.VISIBLE_TESTS_FAILED,
    GraderRole.HIDDEN: Reason.HIDDEN_TESTS_FAILED,
    GraderRole.REGRESSION: Reason.REGRESSION_TESTS_FAILED,
    GraderRole.STRUCTURE: Reason.STRUCTURE_FAILED,
}
_LIMIT_REASONS = {
    OutcomeStatus.TIMED_OUT: Reason.TIME_LIMIT,
    OutcomeStatus.OUTPUT_LIMIT: Reason.OUTPUT_LIMIT,
    OutcomeStatus.MEMORY_LIMIT: Reason.MEMORY_LIMIT,
    OutcomeStatus.DISK_LIMIT: Reason.DISK_LIMIT,
}
_FAULT_REASONS = {
    OutcomeStatus.CANCELLED: Reason.CANCELLED,
    OutcomeStatus.SETUP_FAILED: Reason.SANDBOX_FAILED,
}
_FAILURES = frozenset({TestOutcome.FAILED, TestOutcome.ERROR})


def decide(
    task: Task,
    *,
    boundary: BoundaryFacts | None,
    facts: Sequence[Facts],
    claims: ClaimFacts | None,
    candidate_reasons: frozenset[Reason] = frozenset(),
    invalid: frozenset[Reason] = frozenset(),
    diagnostic: str = "",
) -> Verdict:
    """The verdict on one trial; its reasons are in the order of their codes.

    `candidate_reasons` were found before anything was graded; with them, `boundary`,
    `facts` and `claims` may be missing. `invalid` holds what went wrong on our side. One
    reason of the class invalid makes the verdict invalid, with only such reasons. `diagnostic`
    says what the jails left out on purpose: whatever was measured in them is unguarded.
    """
    required = tuple(spec for spec in task.graders if spec.required)
    used = _required_facts(required, facts)
    trust = min((fact.trust for _, fact in used), key=lambda level: level.rank, default=None)
    if diagnostic:
        trust = Trust.UNGUARDED
    reasons = set(candidate_reasons | invalid)
    if not candidate_reasons and not invalid:
        reasons |= _missing(required, used, boundary)
    if boundary is not None:
        reasons |= _boundary_reasons(boundary)
    for spec, fact in used:
        reasons |= _grader_reasons(spec, fact)
    reasons |= _claim_reasons(task, claims, candidate_reasons)
    if not reasons and (trust is None or trust < task.require_trust):
        reasons.add(Reason.TRUST_TOO_LOW)
    return _verdict(reasons, trust or Trust.UNGUARDED, diagnostic)


def _verdict(reasons: set[Reason], trust: Trust, diagnostic: str) -> Verdict:
    faults = {reason for reason in reasons if reason.klass is ReasonClass.INVALID}
    if faults:
        status = VerdictStatus.INVALID
    else:
        status = VerdictStatus.REJECTED if reasons else VerdictStatus.ACCEPTED
    ordered = sorted(faults or reasons, key=lambda reason: reason.value)
    return Verdict(status, tuple(ordered), trust, DECISION_VERSION, diagnostic)


def _required_facts(
    required: Sequence[GraderSpec], facts: Sequence[Facts]
) -> list[tuple[GraderSpec, Facts]]:
    return [(spec, fact) for spec in required for fact in facts if fact.grader == spec.id]


def _missing(
    required: Sequence[GraderSpec],
    used: Sequence[tuple[GraderSpec, Facts]],
    boundary: BoundaryFacts | None,
) -> set[Reason]:
    found = set()
    if boundary is None:
        found.add(Reason.ENVIRONMENT_FAILED)
    if not required or {spec.id for spec, _ in used} != {spec.id for spec in required}:
        found.add(Reason.GRADER_UNFIT)
    return found


def _boundary_reasons(boundary: BoundaryFacts) -> set[Reason]:
    found = {violation.reason for violation in boundary.violations}
    if not boundary.non_empty:
        found.add(Reason.NO_CHANGES)
    return found


def _grader_reasons(spec: GraderSpec, fact: Facts) -> set[Reason]:
    """Why one grader did not pass; a reached limit explains tests that are missing."""
    status = fact.outcome.status if fact.outcome is not None else None
    found = set(fact.reasons)
    if status in _FAULT_REASONS:
        found.add(_FAULT_REASONS[status])
    limit = _LIMIT_REASONS.get(status) if status is not None else None
    if limit is not None:
        found.add(limit)
    for test in fact.tests:
        if test.outcome in _FAILURES:
            found.add(_ROLE_REASONS[spec.role])
        elif test.outcome is TestOutcome.MISSING:
            found |= set() if limit else {Reason.TESTS_MISSING}
        elif test.outcome is not TestOutcome.PASSED:
            found.add(Reason.TESTS_NOT_PASSED)
    if not found and not fact.passed:
        is_empty = fact.completed and not fact.tests
        found.add(Reason.TESTS_MISSING if is_empty else _ROLE_REASONS[spec.role])
    return found


def _claim_reasons(
    task: Task, claims: ClaimFacts | None, candidate_reasons: frozenset[Reason]
) -> set[Reason]:
    if claims is not None:
        return set(claims.reasons)
    is_missing = task.evidence is EvidencePolicy.REQUIRED and not candidate_reasons
    return {Reason.REPORTED_EVIDENCE_MISSING} if is_missing else set()

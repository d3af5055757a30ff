"""The gate: a conjunction, shown on every combination of small domains."""

from __future__ import annotations

from itertools import product

import pytest
from attrs import evolve
from support.decisions import AGREES, HIDDEN, KEPT, VISIBLE, facts, passed, task

from assay.api.jail import OutcomeStatus
from assay.api.reasons import Reason, ReasonClass
from assay.api.records import BoundaryFacts, ClaimFacts, TestOutcome, Verdict
from assay.api.tasks import Claim, EvidencePolicy, GraderRole, GraderSpec, VerdictStatus
from assay.api.trees import Violation
from assay.api.trust import Trust
from assay.decide import DECISION_VERSION, decide

MISMATCH = ClaimFacts(
    Claim(visible_exit_code=0), False, frozenset({Reason.REPORTED_EVIDENCE_MISMATCH})
)
BROKEN = evolve(KEPT, violations=(Violation("x", Reason.PROTECTED_PATH_CHANGED),))
EMPTY = BoundaryFacts()


def reasons(verdict: Verdict) -> set[Reason]:
    assert [reason.value for reason in verdict.reasons] == sorted(
        reason.value for reason in verdict.reasons
    )
    assert verdict.decided_by == DECISION_VERSION
    return set(verdict.reasons)


BOUNDARIES = {
    KEPT: set(),
    BROKEN: {Reason.PROTECTED_PATH_CHANGED},
    EMPTY: {Reason.NO_CHANGES},
    evolve(BROKEN, non_empty=False): {Reason.PROTECTED_PATH_CHANGED, Reason.NO_CHANGES},
}
OUTCOMES = {
    TestOutcome.PASSED: None,
    TestOutcome.FAILED: "role",
    TestOutcome.ERROR: "role",
    TestOutcome.MISSING: Reason.TESTS_MISSING,
    TestOutcome.SKIPPED: Reason.TESTS_NOT_PASSED,
    TestOutcome.XFAILED: Reason.TESTS_NOT_PASSED,
    TestOutcome.DUPLICATE: Reason.TESTS_NOT_PASSED,
    TestOutcome.UNKNOWN: Reason.TESTS_NOT_PASSED,
}
CLAIMS = {AGREES: set(), MISMATCH: {Reason.REPORTED_EVIDENCE_MISMATCH}}
FAULTS = (frozenset(), frozenset({Reason.COPY_FAILED}))


def _role(reason: object, role: Reason) -> set[Reason]:
    return set() if reason is None else {role if reason == "role" else reason}  # type: ignore[arg-type]


def test_every_combination_of_parts() -> None:
    for boundary, visible, hidden, claims, fault in product(
        BOUNDARIES, OUTCOMES, OUTCOMES, CLAIMS, FAULTS
    ):
        verdict = decide(
            task(),
            boundary=boundary,
            facts=(facts(VISIBLE, TestOutcome.PASSED, visible), facts(HIDDEN, hidden)),
            claims=claims,
            invalid=fault,
        )
        expected = (
            BOUNDARIES[boundary]
            | _role(OUTCOMES[visible], Reason.VISIBLE_TESTS_FAILED)
            | _role(OUTCOMES[hidden], Reason.HIDDEN_TESTS_FAILED)
            | CLAIMS[claims]
        )
        if fault:
            assert verdict.status is VerdictStatus.INVALID
            assert reasons(verdict) == fault
        else:
            assert reasons(verdict) == expected
            assert (verdict.status is VerdictStatus.ACCEPTED) == (not expected)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (OutcomeStatus.TIMED_OUT, Reason.TIME_LIMIT),
        (OutcomeStatus.OUTPUT_LIMIT, Reason.OUTPUT_LIMIT),
        (OutcomeStatus.MEMORY_LIMIT, Reason.MEMORY_LIMIT),
        (OutcomeStatus.DISK_LIMIT, Reason.DISK_LIMIT),
    ],
)
@pytest.mark.parametrize("completed", [True, False])
def test_reached_limit_rejects_even_when_all_tests_passed(
    status: OutcomeStatus, reason: Reason, completed: bool
) -> None:
    for outcomes in ((), (TestOutcome.PASSED,), (TestOutcome.PASSED, TestOutcome.MISSING)):
        limited = facts(HIDDEN, *outcomes, status=status, completed=completed)
        verdict = decide(task(), boundary=KEPT, facts=(passed(VISIBLE), limited), claims=AGREES)
        assert verdict.status is VerdictStatus.REJECTED
        assert reasons(verdict) == {reason}
    failing = facts(HIDDEN, TestOutcome.FAILED, status=status, completed=completed)
    verdict = decide(task(), boundary=KEPT, facts=(passed(VISIBLE), failing), claims=AGREES)
    assert reasons(verdict) == {reason, Reason.HIDDEN_TESTS_FAILED}


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (OutcomeStatus.SETUP_FAILED, Reason.SANDBOX_FAILED),
        (OutcomeStatus.CANCELLED, Reason.CANCELLED),
    ],
)
def test_failure_of_the_jail_is_never_blamed_on_the_candidate(
    status: OutcomeStatus, reason: Reason
) -> None:
    broken = facts(HIDDEN, TestOutcome.FAILED, status=status, completed=False)
    verdict = decide(task(), boundary=BROKEN, facts=(passed(VISIBLE), broken), claims=MISMATCH)
    assert verdict.status is VerdictStatus.INVALID
    assert reasons(verdict) == {reason}


def test_graders_without_tests_and_unfinished_graders_never_pass() -> None:
    for measured, reason in (
        (facts(HIDDEN), Reason.TESTS_MISSING),
        (facts(HIDDEN, TestOutcome.PASSED, completed=False), Reason.HIDDEN_TESTS_FAILED),
        (facts(HIDDEN, completed=False), Reason.HIDDEN_TESTS_FAILED),
    ):
        verdict = decide(task(), boundary=KEPT, facts=(passed(VISIBLE), measured), claims=None)
        assert reasons(verdict) == {reason}


def test_each_role_has_its_reason() -> None:
    expected = {
        GraderRole.VISIBLE: Reason.VISIBLE_TESTS_FAILED,
        GraderRole.HIDDEN: Reason.HIDDEN_TESTS_FAILED,
        GraderRole.REGRESSION: Reason.REGRESSION_TESTS_FAILED,
        GraderRole.STRUCTURE: Reason.STRUCTURE_FAILED,
    }
    for role, reason in expected.items():
        spec = GraderSpec("g", "command", role)
        failing = facts(spec, TestOutcome.FAILED)
        verdict = decide(task(spec), boundary=KEPT, facts=(failing,), claims=None)
        assert reasons(verdict) == {reason}


def test_reasons_that_a_grader_measured_itself_are_kept() -> None:
    tampered = facts(HIDDEN, TestOutcome.PASSED, reasons=frozenset({Reason.TAMPERING_DETECTED}))
    verdict = decide(task(), boundary=KEPT, facts=(passed(VISIBLE), tampered), claims=None)
    assert reasons(verdict) == {Reason.TAMPERING_DETECTED}


def test_missing_graders_are_our_fault() -> None:
    verdict = decide(task(), boundary=KEPT, facts=(passed(VISIBLE),), claims=AGREES)
    assert verdict.status is VerdictStatus.INVALID
    assert reasons(verdict) == {Reason.GRADER_UNFIT}
    optional = evolve(HIDDEN, required=False)
    verdict = decide(task(optional), boundary=KEPT, facts=(passed(HIDDEN),), claims=AGREES)
    assert reasons(verdict) == {Reason.GRADER_UNFIT}


def test_unmeasured_boundary_is_our_fault() -> None:
    verdict = decide(task(), boundary=None, facts=(passed(VISIBLE), passed(HIDDEN)), claims=AGREES)
    assert reasons(verdict) == {Reason.ENVIRONMENT_FAILED}


def test_candidate_that_could_not_be_read_is_rejected_for_that_alone() -> None:
    verdict = decide(
        task(evidence=EvidencePolicy.REQUIRED),
        boundary=None,
        facts=(),
        claims=None,
        candidate_reasons=frozenset({Reason.PATCH_DOES_NOT_APPLY}),
    )
    assert verdict.status is VerdictStatus.REJECTED
    assert reasons(verdict) == {Reason.PATCH_DOES_NOT_APPLY}


def test_required_evidence_that_nobody_looked_at_counts_as_missing() -> None:
    strict = task(evidence=EvidencePolicy.REQUIRED)
    verdict = decide(strict, boundary=KEPT, facts=(passed(VISIBLE), passed(HIDDEN)), claims=None)
    assert reasons(verdict) == {Reason.REPORTED_EVIDENCE_MISSING}


def test_optional_graders_decide_nothing() -> None:
    extra = GraderSpec("extra", "command", GraderRole.REGRESSION, required=False)
    measured = (passed(VISIBLE), passed(HIDDEN), facts(extra, TestOutcome.FAILED))
    verdict = decide(task(VISIBLE, HIDDEN, extra), boundary=KEPT, facts=measured, claims=AGREES)
    assert verdict.status is VerdictStatus.ACCEPTED


def test_trust_is_that_of_the_weakest_required_grader() -> None:
    for first, second, demanded in product(Trust, Trust, Trust):
        measured = (passed(VISIBLE, first), passed(HIDDEN, second))
        verdict = decide(task(require_trust=demanded), boundary=KEPT, facts=measured, claims=AGREES)
        weakest = min(first, second, key=lambda level: level.rank)
        assert verdict.trust is weakest
        if weakest.rank < demanded.rank:
            assert verdict.status is VerdictStatus.INVALID
            assert reasons(verdict) == {Reason.TRUST_TOO_LOW}
        else:
            assert verdict.status is VerdictStatus.ACCEPTED


def test_low_trust_does_not_turn_a_rejection_into_an_invalid_trial() -> None:
    measured = (passed(VISIBLE), facts(HIDDEN, TestOutcome.FAILED))
    verdict = decide(
        task(require_trust=Trust.ISOLATED), boundary=KEPT, facts=measured, claims=AGREES
    )
    assert verdict.status is VerdictStatus.REJECTED
    assert reasons(verdict) == {Reason.HIDDEN_TESTS_FAILED}


def test_invalid_reasons_stand_alone_wherever_they_come_from() -> None:
    for fault in (reason for reason in Reason if reason.klass is ReasonClass.INVALID):
        for where in ("candidate_reasons", "invalid"):
            verdict = decide(
                task(),
                boundary=BROKEN,
                facts=(passed(VISIBLE), passed(HIDDEN)),
                claims=MISMATCH,
                **{where: frozenset({fault})},
            )
            assert verdict.status is VerdictStatus.INVALID
            assert reasons(verdict) == {fault}


def test_what_a_fault_prevented_is_no_fault_of_its_own() -> None:
    verdict = decide(
        task(), boundary=None, facts=(), claims=None, invalid=frozenset({Reason.NO_SPACE})
    )
    assert verdict.status is VerdictStatus.INVALID
    assert reasons(verdict) == {Reason.NO_SPACE}


@pytest.mark.parametrize("required", list(Trust))
def test_what_jails_left_out_on_purpose_takes_all_trust(required: Trust) -> None:
    """Facts of the highest trust, measured in jails that are only for finding faults."""
    measured = [passed(VISIBLE, trust=Trust.ISOLATED), passed(HIDDEN, trust=Trust.ISOLATED)]
    verdict = decide(
        task(require_trust=required),
        boundary=KEPT,
        facts=measured,
        claims=AGREES,
        diagnostic="system calls are not filtered",
    )
    assert verdict.trust is Trust.UNGUARDED
    assert verdict.diagnostic == "system calls are not filtered"
    enough = required is Trust.UNGUARDED
    assert verdict.status is (VerdictStatus.ACCEPTED if enough else VerdictStatus.INVALID)
    assert reasons(verdict) == (set() if enough else {Reason.TRUST_TOO_LOW})


def test_a_rejection_stays_one_whatever_jails_left_out() -> None:
    measured = [passed(VISIBLE), facts(HIDDEN, TestOutcome.FAILED)]
    verdict = decide(task(), boundary=KEPT, facts=measured, claims=AGREES, diagnostic="no filter")
    assert (verdict.status, verdict.diagnostic) == (VerdictStatus.REJECTED, "no filter")

"""The gate on arbitrary facts: accepted only if nothing is wrong, and never by adding wrong."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from support.decisions import HIDDEN, VISIBLE, facts, passed, task

from assay.api.jail import OutcomeStatus
from assay.api.reasons import Reason, ReasonClass
from assay.api.records import BoundaryFacts, ClaimFacts, Facts, TestOutcome
from assay.api.tasks import EvidencePolicy, VerdictStatus
from assay.api.trees import Violation
from assay.api.trust import Trust
from assay.decide import decide

REASONS = st.frozensets(st.sampled_from(Reason), max_size=2)
SPECS = st.sampled_from([VISIBLE, HIDDEN])
FACTS = st.builds(
    lambda spec, outcomes, status, completed, trust, reasons: facts(
        spec, *outcomes, status=status, completed=completed, trust=trust, reasons=reasons
    ),
    SPECS,
    st.lists(st.sampled_from(TestOutcome), max_size=3),
    st.sampled_from(OutcomeStatus),
    st.booleans(),
    st.sampled_from(Trust),
    REASONS | st.just(frozenset()),
)
GOOD = st.builds(passed, SPECS, st.sampled_from(Trust))
BOUNDARIES = st.builds(
    BoundaryFacts,
    violations=st.lists(st.builds(Violation, st.just("x"), st.sampled_from(Reason))).map(tuple),
    non_empty=st.booleans(),
)
CLAIMS = st.builds(ClaimFacts, st.none(), st.none(), REASONS | st.just(frozenset()))
TASKS = st.builds(
    lambda evidence, trust: task(evidence=evidence, require_trust=trust),
    st.sampled_from(EvidencePolicy),
    st.sampled_from(Trust),
)
INPUTS = st.fixed_dictionaries(
    {
        "boundary": st.none() | BOUNDARIES | st.just(BoundaryFacts(non_empty=True)),
        "facts": st.lists(FACTS | GOOD, max_size=4).map(tuple),
        "claims": st.none() | CLAIMS,
        "candidate_reasons": REASONS | st.just(frozenset()),
        "invalid": REASONS | st.just(frozenset()),
    }
)


def _bad(fact: Facts) -> bool:
    return not fact.passed or (
        fact.outcome is not None
        and fact.outcome.status not in (OutcomeStatus.EXITED, OutcomeStatus.SIGNALLED)
    )


@settings(max_examples=300)
@given(TASKS, INPUTS)
def test_accepted_means_that_every_part_is_good(of, inputs) -> None:  # type: ignore[no-untyped-def]
    verdict = decide(of, **inputs)
    boundary, measured, claims = inputs["boundary"], inputs["facts"], inputs["claims"]
    is_good = (
        boundary is not None
        and boundary.kept
        and boundary.non_empty
        and {fact.grader for fact in measured} == {"visible", "hidden"}
        and not any(_bad(fact) for fact in measured)
        and not inputs["candidate_reasons"] | inputs["invalid"]
        and not (claims.reasons if claims else of.evidence is EvidencePolicy.REQUIRED)
        and all(of.require_trust <= fact.trust for fact in measured)
    )
    assert (verdict.status is VerdictStatus.ACCEPTED) == is_good
    assert (verdict.status is VerdictStatus.ACCEPTED) == (not verdict.reasons)
    classes = {reason.klass for reason in verdict.reasons}
    if verdict.status is VerdictStatus.INVALID:
        assert classes == {ReasonClass.INVALID}
    elif verdict.status is VerdictStatus.REJECTED:
        assert classes == {ReasonClass.REJECTED}


@settings(max_examples=200)
@given(TASKS, INPUTS, FACTS.filter(_bad), st.sampled_from(Reason))
def test_adding_something_bad_never_makes_accepted(of, inputs, fact, reason) -> None:  # type: ignore[no-untyped-def]
    worse = (
        {**inputs, "facts": (*inputs["facts"], fact)},
        {**inputs, "candidate_reasons": inputs["candidate_reasons"] | {reason}},
        {**inputs, "invalid": inputs["invalid"] | {reason}},
        {**inputs, "boundary": BoundaryFacts(violations=(Violation("x", reason),))},
        {**inputs, "claims": ClaimFacts(None, False, frozenset({reason}))},
    )
    for changed in worse:
        assert decide(of, **changed).status is not VerdictStatus.ACCEPTED


@given(TASKS, INPUTS)
def test_order_and_repetition_of_facts_do_not_matter(of, inputs) -> None:  # type: ignore[no-untyped-def]
    measured = inputs["facts"]
    for other in (measured[::-1], measured * 2):
        assert decide(of, **{**inputs, "facts": other}) == decide(of, **inputs)

"""One task of each shipped suite, grader by grader: what each calibration candidate measures.

The whole table is the matter of the runs of the suites.
"""

import pytest
from support.grading import grade_shipped, shipped_candidate
from support.jail import runtime

from assay.api import TestOutcome, Trust

SUITES = ("delivery-eval", "delivery-eval-node")
TASK = "retry-delay"
MEASURED = {
    None: (False, False),
    "reference-minimal": (True, True),
    "visible-only": (True, False),
    "scope-creep": (True, True),
    "fabricated-evidence": (False, False),
}


@pytest.fixture(params=SUITES)
def suite(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name.endswith("node") and "node" in runtime().unavailable:
        pytest.skip(runtime().unavailable["node"])
    return name


@pytest.mark.parametrize("candidate", MEASURED, ids=str)
def test_a_candidate_measures_as_the_table_says(suite: str, candidate: str | None):
    facts = grade_shipped(suite, TASK, candidate)

    visible, hidden = facts["visible"], facts["hidden"]
    assert (visible.passed, hidden.passed) == MEASURED[candidate]
    for fact in (visible, hidden):
        assert fact.completed
        assert not fact.reasons
        assert fact.trust is Trust.ISOLATED
        assert {test.outcome for test in fact.tests} <= {TestOutcome.PASSED, TestOutcome.FAILED}
    if candidate is not None:
        declared = set(shipped_candidate(suite, TASK, candidate)["expect"]["required"])
        assert ("visible-tests-failed" in declared) == (not visible.passed)
        assert ("hidden-tests-failed" in declared) == (not hidden.passed)
        assert ("reported-evidence-mismatch" in declared) == (not visible.passed)


def test_two_gradings_measure_the_same(suite: str):
    first, second = (grade_shipped(suite, TASK, "visible-only") for _ in range(2))

    for grader in ("visible", "hidden"):
        assert first[grader].tests == second[grader].tests

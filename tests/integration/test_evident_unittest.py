"""Mode `tamper-evident` of the unittest grader."""

import pytest
from support.grading import GRADERS, grade, outcomes

from assay.api import Facts, GraderRole, Reason, TestOutcome, Trust
from assay_graders.evident.grading import ALWAYS, NEEDED
from assay_graders.evident.python import UnittestLanguage
from assay_graders.unittest_grader import UnittestOptions

FIXTURE = {"src/calc.py": "def mul(a, b):\n    return a + b\n"}
HIDDEN = """
import unittest
from calc import mul

class First(unittest.TestCase):
    def test_small(self):
        self.assertEqual(mul(2, 5), 10)

    def test_more(self):
        with self.subTest(n=1):
            self.assertEqual(mul(1, 1), 1)
        with self.subTest(n=3):
            self.assertTrue(mul(3, 3) == 9)

class Second(unittest.TestCase):
    def test_types(self):
        self.assertEqual(mul("a", 2), "aa")
"""
EXPECT = (
    "test_h.First.test_small",
    "test_h.First.test_more",
    "test_h.First.test_more (n=1)",
    "test_h.First.test_more (n=3)",
    "test_h.Second.test_types",
)
ALWAYS_EQUAL = """
class Equal:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
def mul(a, b): return Equal()
"""
NO_FAILURES = """
import unittest
for name in ("addFailure", "addError"):
    for kind in [unittest.TestResult, *unittest.TestResult.__subclasses__()]:
        setattr(kind, name, lambda self, *args: self.addSuccess(args[0]))
unittest.TestCase.assertEqual = unittest.TestCase.assertTrue = lambda *args: None
def mul(a, b): return a + b
"""


def grade_calc(calc: str) -> Facts:
    options = UnittestOptions(
        ("test_h.py",), EXPECT, hidden=True, roots=("src",), mode="tamper-evident"
    )
    return grade(
        GRADERS["unittest"],
        options,
        {"src/calc.py": calc},
        hidden={"test_h.py": HIDDEN},
        fixture=FIXTURE,
        role=GraderRole.HIDDEN,
    )


def test_an_honest_candidate_passes_with_every_guard_in_force():
    facts = grade_calc("def mul(a, b):\n    return a * b\n")

    assert (facts.passed, facts.trust, facts.codes) == (True, Trust.TAMPER_EVIDENT, ())
    assert set(facts.layers_held) == {*ALWAYS, *NEEDED, *UnittestLanguage.guards}


@pytest.mark.parametrize("attack", [ALWAYS_EQUAL, NO_FAILURES], ids=["equal", "no-failures"])
def test_a_forged_pass_shows(attack: str):
    facts = grade_calc(attack)

    assert set(outcomes(facts).values()) == {TestOutcome.PASSED}
    assert facts.reasons == {Reason.TAMPERING_DETECTED}
    assert facts.trust is Trust.UNGUARDED

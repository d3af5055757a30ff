"""The `unittest` grader: what its modes run and refuse, and candidates that only try to pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.grading import GRADERS, grade, outcomes

from assay.api import Facts, GraderRole, GraderUnfit, Limits, TestOutcome, Trust

BASE = "import unittest\nimport cand\n"


def graded(
    tests: str,
    source: str,
    *expect: str,
    mode: str = "isolated",
    more: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    **options: Any,
) -> Facts:
    """Facts of one hidden file of test cases over `src/cand.py`; ids without the file's name."""
    grader = GRADERS["unittest"]
    made = grader.Options(
        tests=("test_h.py",),
        expect=tuple(f"test_h.{test}" for test in expect),
        hidden=True,
        roots=("src",),
        mode=mode,
        **options,
    )
    bounds = {} if limits is None else {"limits": limits}
    return grade(
        grader,
        made,
        {"src/cand.py": source, **(more or {})},
        hidden={"test_h.py": BASE + tests},
        role=GraderRole.HIDDEN,
        **bounds,
    )


def found(facts: Facts) -> dict[str, str]:
    """Outcome by id without the file's name."""
    return {test.removeprefix("test_h."): got.value for test, got in outcomes(facts).items()}


RIGHT = """
import asyncio, warnings
class Full(ValueError): pass
class Box:
    def __init__(self, *items): self.items = list(items)
    def __len__(self): return len(self.items)
    def __contains__(self, item): return item in self.items
    def __iter__(self): return iter(self.items)
class Items(list): pass
def add(a, b): return a + b
def full(): raise Full("no room")
def items(*args): return Items(args)
def old(): warnings.warn("old", DeprecationWarning); return 1
def ratio(): return 1 / 3
def sort(values): values.sort()
NONE = None
"""

RIGHT_TESTS = """
def setUpModule():
    global BOX
    BOX = cand.Box(1, 2)

class Shared(unittest.TestCase):
    @classmethod
    def setUpClass(cls): cls.box = cand.Box(3)
    def setUp(self): self.addCleanup(lambda: self.assertEqual(len(self.box), 1))
    def test_fixtures(self):
        self.assertEqual(len(BOX), 2)
        self.assertIn(3, self.box)
        self.assertNotIsInstance(self.box, list)

class Case(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(cand.add(1, 2), 3)
        self.assertEqual(3, cand.add(1, 2))
        self.assertNotEqual(cand.add(1, 2), 4)
        self.assertEqual(cand.items(1, 2), [1, 2])
        self.assertListEqual(cand.add([1], [2]), [1, 2])
        self.assertDictEqual(dict(a=cand.add(1, 1)), {"a": 2})
        self.assertTupleEqual(cand.add((1,), ()), (1,))
        self.assertMultiLineEqual(cand.add("a", "b"), "ab")
    def test_counts(self):
        self.assertCountEqual(cand.Box(2, 1), [1, 2])
        self.assertCountEqual(cand.items(2, 1), [1, 2])
        self.assertSequenceEqual(list(cand.Box(1)), [1])
    def test_identity(self):
        self.assertIs(cand.NONE, None)
        self.assertIsNone(cand.NONE)
        self.assertIsNot(cand.Box(), cand.Box())
        self.assertIsInstance(cand.Box(), cand.Box)
    def test_numbers(self):
        self.assertAlmostEqual(cand.ratio(), 0.3333, 3)
        self.assertAlmostEqual(cand.ratio(), 0.3, delta=0.1)
        self.assertGreater(cand.ratio(), 0.3)
    def test_raises(self):
        with self.assertRaises(cand.Full) as caught: cand.full()
        self.assertEqual(str(caught.exception), "no room")
        self.assertRaises(ValueError, cand.full)
        self.assertRaises(TypeError, cand.add, 1)
        with self.assertRaisesRegex(cand.Full, "no .*"): cand.full()
    def test_warns(self):
        with self.assertWarns(DeprecationWarning): self.assertEqual(cand.old(), 1)
        self.assertWarnsRegex(DeprecationWarning, "old", cand.old)
    def test_changed(self):
        values = [2, 1]
        cand.sort(values)
        self.assertEqual(values, [1, 2])
    def test_rows(self):
        for n in (1, 2):
            with self.subTest(n=n): self.assertEqual(cand.add(n, 1), n + 1)

class Later(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self): self.box = cand.Box(1)
    async def test_async(self): self.assertEqual(len(self.box), 1)
"""
RIGHT_NAMES = (
    *("Shared.test_fixtures", "Case.test_equal", "Case.test_counts", "Case.test_identity"),
    *("Case.test_numbers", "Case.test_raises", "Case.test_warns", "Case.test_changed"),
    *("Case.test_rows", "Case.test_rows (n=1)", "Case.test_rows (n=2)", "Later.test_async"),
)


@pytest.mark.parametrize("mode", ["unguarded", "isolated"])
def test_right_code_passes(mode: str):
    facts = graded(RIGHT_TESTS, RIGHT, *RIGHT_NAMES, mode=mode)

    private = {test.id: test.message_private for test in facts.tests}
    assert found(facts) == dict.fromkeys(RIGHT_NAMES, "passed"), private
    assert facts.passed
    assert facts.trust is (Trust.ISOLATED if mode == "isolated" else Trust.UNGUARDED)
    if mode == "isolated":
        assert facts.measures["level_4"] == 1


WRONG = """
import gc, sys, unittest
class Always:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return hash(4)
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __sub__(self, other): return 0.0
    __rsub__ = __lt__ and __sub__
    def __abs__(self): return 0.0
    def __round__(self, places=0): return 0
    def __bool__(self): return True
    def __len__(self): return 1
    def __iter__(self): return iter([Always()])
class AlwaysStr(str):
    def __eq__(self, other): return True
    __hash__ = str.__hash__
class AlwaysDict(dict):
    def __eq__(self, other): return True
    __hash__ = None
def always(*_): return Always()
def text(*_): return AlwaysStr("")
def mapping(*_): return AlwaysDict()
def listed(*_): return [Always()]

# A27: the assertions themselves, in whatever process this is.
def nothing(*_, **__): pass
def patches_assertions():
    for name in dir(unittest.TestCase):
        if name.startswith("assert"): setattr(unittest.TestCase, name, nothing)
    unittest.TestCase.fail = nothing
    unittest.TestCase.failureException = unittest.SkipTest
    return 5
# A28: where failures are kept.
def patches_results():
    for name in ("addFailure", "addError", "addSubTest"):
        setattr(unittest.TestResult, name, nothing)
    unittest.TestResult.wasSuccessful = lambda self: True
    unittest.case._Outcome.testPartExecutor = None
    return 5
# A34 and A33: names that the runner may look for in a module of tests.
def load_tests(*_): return unittest.TestSuite()
def injects():
    for found in gc.get_objects():
        if isinstance(found, dict) and "EXPECTED" in found: found["load_tests"] = load_tests
    return 5
__unittest_skip__ = True
def setUpModule(): raise unittest.SkipTest
class Expecting(Exception): __unittest_expecting_failure__ = True
def skips(): raise unittest.SkipTest("no")
def stops(): raise unittest.case._ShouldStop
def finds():
    for found in gc.get_objects():
        if isinstance(found, dict) and "EXPECTED" in found: return found["EXPECTED"]
        if isinstance(found, unittest.TestCase): return 4
def swallows(function):
    try: function()
    except BaseException: pass
    return 4
class Holds:
    def __enter__(self): return self
    def __exit__(self, *_): return True
class Looks(AssertionError): pass
def looks(): raise Looks
class Tests(unittest.TestCase):
    def test_own(self): pass
    def runTest(self): pass
    def assertEqual(self, *_): pass
    def __eq__(self, other): return True
    __hash__ = None
def decorates(function): return lambda self: None
def rows(): return []
"""

WRONG_TESTS = {
    "equal": "self.assertEqual(cand.always(), 4)",
    "equal_reflected": "self.assertEqual(4, cand.always())",
    "not_unequal": "self.assertFalse(cand.always() != 4)",
    "equal_text": "self.assertEqual(cand.text(), 'x')",
    "multi_line": "self.assertMultiLineEqual(cand.text(), 'x')",
    "equal_mapping": "self.assertEqual(cand.mapping(), {'a': 4})",
    "mapping": "self.assertDictEqual(cand.mapping(), {'a': 4})",
    "listed": "self.assertEqual(cand.listed(), [4])",
    "list": "self.assertListEqual(cand.listed(), [4])",
    "sequence": "self.assertSequenceEqual(cand.listed(), [4])",
    "count": "self.assertCountEqual(cand.always(), [4])",
    "count_reflected": "self.assertCountEqual([4], cand.listed())",
    "set": "self.assertSetEqual({cand.always()}, {4})",
    "almost": "self.assertAlmostEqual(cand.always(), 4)",
    "almost_delta": "self.assertAlmostEqual(cand.always(), 4, delta=1)",
    "almost_reflected": "self.assertAlmostEqual(4, cand.always())",
    "is_in": "self.assertIn(4, cand.always())",
    "is_in_expected": "self.assertIn(cand.always(), [4, 5])",
    "greater": "self.assertGreater(cand.always(), 4)",
    "less_reflected": "self.assertLess(4, cand.always())",
    "identity": "self.assertIs(cand.always(), None)",
    "matches": "self.assertRegex(cand.text(), 'x')",
    "patches_assertions": "self.assertEqual(cand.patches_assertions(), 4)",
    "after_patching": "self.assertEqual(cand.always(), 4)",
    "patches_results": "self.assertEqual(cand.patches_results(), 4)",
    "after_patching_results": "self.fail(cand.text())",
    "injects": "self.assertEqual(cand.injects(), 4)",
    "skips": "self.assertEqual(cand.skips(), 4)",
    "stops": "self.assertEqual(cand.stops(), 4)",
    "finds": "self.assertEqual(cand.finds(), EXPECTED)",
    "swallows": "self.assertEqual(cand.swallows(self.fail), 4)",
    "swallows_refusal": "self.assertEqual(cand.swallows(lambda: cand.always() == 4), 4)",
    "holds": "\n        with cand.Holds(): self.fail()",
    "holds_subtest": "\n        with cand.Holds(), self.subTest(): self.fail()",
    "looks_like_a_failure": "\n        with self.assertRaises(AttributeError): cand.looks()",
    "raises_takes_refusal": "\n        with self.assertRaises(BaseException): cand.always() == 4",
    "subtest_swallows_refusal": "\n        with self.subTest():\n"
    "            try: cand.always() == 4\n            except BaseException: pass",
    "subtest_named_by_candidate": "\n        with self.subTest(n=cand.always()): self.fail()",
    "cleaned_up": "self.addCleanup(self.assertEqual, cand.always(), 4)",
}
"""Must not pass, whatever the code of the candidate is."""


def test_wrong_candidates_fail():
    bodies = "".join(f"    def test_{name}(self): {body}\n" for name, body in WRONG_TESTS.items())
    tests = "from cand import Expecting, Tests\nEXPECTED = 4\n"
    tests += f"class Case(unittest.TestCase):\n{bodies}"
    names = [f"Case.test_{name}" for name in WRONG_TESTS]

    facts = graded(tests, WRONG, *names)

    assert {name for name, got in found(facts).items() if got not in ("failed", "error")} == set()
    assert list(found(facts)) == names
    assert facts.trust is Trust.ISOLATED


UNFIT = {
    "can't be isolated: load-tests": "load_tests = lambda *_: []\n",
    r"expect\[0\] can't be isolated: code": "def setUpModule(): eval('1')\n",
    r"expect\[0\] can't be isolated: process-state": "import os\nfrom unittest import mock\n"
    "def setUpModule(): mock.patch.dict(os.environ, {'A': 'b'}).start()\n",
    r"expect\[0\] can't be isolated: attribute-set": "from unittest import mock\n"
    "def tearDownModule(): mock.patch('cand.rows', list).start()\n",
}


def test_a_method_that_the_candidate_put_in_place_of_a_test_is_its_fault():
    case = "class Case(unittest.TestCase):\n    @cand.decorates\n"
    facts = graded(f"{case}    def test_a(self): self.fail()\n", WRONG, "Case.test_a")

    assert not facts.passed
    assert found(facts)["Case.test_a"] == "error"


@pytest.mark.parametrize("code", UNFIT)
def test_what_tests_or_their_fixtures_can_not_do_here_makes_the_grader_unfit(code: str):
    case = "class Case(unittest.TestCase):\n    def test_a(self): cand.rows()\n"

    with pytest.raises(GraderUnfit, match=code):
        graded(UNFIT[code] + case, WRONG, "Case.test_a")


FIXTURES = """
class Refused(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try: cand.always() == 4
        except BaseException: pass
    def test_a(self): pass
class RefusedAtTheEnd(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        try: cand.always() == 4
        except BaseException: pass
    def test_a(self): pass
class Kept(unittest.TestCase):
    @classmethod
    def setUpClass(cls): cls.rows = cand.rows()
    def test_a(self): self.assertEqual(self.rows, [])
    def test_b(self): self.rows.append(1)
    def test_c(self): self.assertEqual(cand.rows(), [])
class Skipped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try: cand.skips()
        except Exception as error: raise
    def test_a(self): pass
class Lost(unittest.TestCase):
    @classmethod
    def setUpClass(cls): cls.kept = cand.Holds()
    def test_a(self): cand.leave()
    def test_b(self): self.kept.anything
    def test_c(self): self.assertEqual(cand.rows(), [])
class LostInFixture(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try: cand.leave()
        except BaseException: pass
    def test_a(self): self.assertEqual(cand.rows(), [])
class Slow(unittest.TestCase):
    def test_a(self): list(cand.endless())
    def test_b(self):
        for n in range(50):
            with self.subTest(n=n): list(cand.endless())
    def test_c(self): cand.sleep()
class SlowFixture(unittest.TestCase):
    @classmethod
    def setUpClass(cls): list(cand.endless())
    def test_a(self): pass
class Fast(unittest.TestCase):
    def test_a(self): self.assertEqual(cand.rows(), [])
"""
LEAVES = """
import os, time
def leave(): os._exit(0)
def sleep(): time.sleep(60)
def endless():
    while True: yield 1
"""


def test_what_happens_in_a_fixture_counts_for_each_test_and_costs_no_other():
    names = ("Refused.test_a", "RefusedAtTheEnd.test_a", "Skipped.test_a", "Lost.test_a")
    names += ("Lost.test_b", "Lost.test_c", "LostInFixture.test_a", "Slow.test_a", "Slow.test_b")
    names += ("Slow.test_c", "SlowFixture.test_a", "Fast.test_a")
    names += ("Kept.test_a", "Kept.test_b", "Kept.test_c")

    facts = graded(FIXTURES, WRONG + LEAVES, *names, test_seconds=1.0)

    assert found(facts) == {
        "Refused.test_a": "failed",
        "RefusedAtTheEnd.test_a": "failed",
        "Skipped.test_a": "error",
        "Lost.test_a": "error",
        "Lost.test_b": "error",
        "Lost.test_c": "passed",
        "LostInFixture.test_a": "failed",
        "Slow.test_a": "error",
        "Slow.test_b": "error",
        "Slow.test_c": "error",
        "SlowFixture.test_a": "error",
        "Fast.test_a": "passed",
        "Kept.test_a": "passed",
        "Kept.test_b": "failed",
        "Kept.test_c": "passed",
    }
    assert {"equality", "result-changed", "stale", "lost-died", "lost-time"} <= set(facts.codes)


UNGUARDED = """
class Case(unittest.TestCase):
    def test_a(self): self.assertEqual(cand.two(), 2)
    def test_b(self): self.assertEqual(cand.two() * 2, 4)
"""
EDGES = {
    "wrong": ("def two(): return 3\n", "failed"),
    "load_tests": (
        "import gc, unittest\ndef two(): return 3\n"
        "for found in gc.get_objects():\n"
        "    if isinstance(found, dict) and found.get('__name__') == 'test_h':\n"
        "        found['load_tests'] = lambda *_: unittest.TestSuite()\n",
        "error",
    ),
    "skips": ("import unittest\ndef two(): raise unittest.SkipTest\n", "skipped"),
    "skips_the_module": (
        "import sys, unittest\ndef two(): return 3\ndef skip(): raise unittest.SkipTest\n"
        "frame = sys._getframe()\n"
        "while frame and frame.f_globals.get('__name__') != 'test_h': frame = frame.f_back\n"
        "frame.f_globals['setUpModule'] = skip\n",
        "skipped",
    ),
    "leaves_at_import": ("import os\nos._exit(0)\n", "missing"),
    "leaves": ("import os\ndef two(): os._exit(0)\n", "missing"),
    "leaves_politely": ("import sys\ndef two(): sys.exit(0)\n", "error"),
    "interrupts": ("def two(): raise KeyboardInterrupt\n", "error"),
    "expects": (
        "import unittest\ndef two(): return 3\n"
        "unittest.TestCase.__unittest_expecting_failure__ = True\n",
        "xfailed",
    ),
    "prints": (
        "import os, sys\nsys.stderr.write('Ran 2 tests in 0.0s\\n\\nOK\\n')\nos._exit(0)\n",
        "missing",
    ),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges_of_a_run_give_no_pass_even_unguarded(name: str):
    source, outcome = EDGES[name]

    facts = graded(UNGUARDED, source, "Case.test_a", "Case.test_b", mode="unguarded")

    assert [test.outcome.value for test in facts.tests[:2]] == [outcome, outcome]
    assert not facts.passed


@pytest.mark.parametrize("mode", ["unguarded", "isolated"])
def test_visible_tests_may_lie_in_the_package_under_test(mode: str):
    grader = GRADERS["unittest"]
    options = grader.Options(
        tests=("pkg/tests/test_v.py",),
        expect=("pkg.tests.test_v.A.test_a",),
        roots=(".",),
        mode=mode,
    )
    test = "import unittest\nfrom ..core import two\nfrom . import near\n"
    test += "class A(unittest.TestCase):\n"
    test += "    def test_a(self): self.assertEqual(two(), near.TWO)\n"
    tree = {
        "pkg/__init__.py": "from .core import two\n",
        "pkg/core.py": "def two(): return 2\n",
        "pkg/tests/__init__.py": "",
        "pkg/tests/near.py": "TWO = 2\n",
        "pkg/tests/test_v.py": test,
    }

    assert grade(grader, options, tree).passed
    gone = grade(grader, options, tree, modified=("pkg/tests/test_v.py",))
    assert outcomes(gone) == {
        "pkg.tests.test_v.A.test_a": (
            TestOutcome.MISSING if mode == "isolated" else TestOutcome.PASSED
        )
    }

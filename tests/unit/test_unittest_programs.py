"""The program that runs test cases: ids, outcomes, fixtures, and what takes no part in a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.programs import run_unittest, write_tree

from assay_graders.report import RunReport


def outcomes(report: RunReport | None) -> dict[str, str]:
    assert report is not None
    found = {test.id: test.outcome.value for test in report.tests}
    assert len(found) == len(report.tests)
    return found


def short(report: RunReport | None) -> dict[str, str]:
    return {test.removeprefix("test_a."): outcome for test, outcome in outcomes(report).items()}


OUTCOMES = """
import asyncio, unittest

class Case(unittest.TestCase):
    def test_passed(self): self.assertEqual(1, 1)
    def test_failed(self): self.assertEqual(1, 2)
    def test_error(self): raise RuntimeError
    def test_exits(self): raise SystemExit(0)
    def test_interrupted(self): raise KeyboardInterrupt
    @unittest.skip("why")
    def test_skipped(self): pass
    def test_skips_itself(self): self.skipTest("why")
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.expectedFailure
    def test_unexpected(self): pass
    def test_subtests(self):
        for n in (1, 2):
            with self.subTest(n=n): self.assertEqual(n, 1)
    def test_subtest_skipped(self):
        with self.subTest(n=1): self.skipTest("why")
    def test_cleanup(self): self.addCleanup(self.fail)
    async def test_never_awaited(self): self.fail()
    def test_never_iterated(self): yield self.fail()
    def test_returns_a_coroutine(self): return asyncio.sleep(0)
    def test_returns_something(self): return 4

class Late(unittest.TestCase):
    def tearDown(self): raise RuntimeError
    def test_late(self): pass

@unittest.skip("why")
class Skipped(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise RuntimeError
    def test_skipped(self): pass

class Async(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self): self.value = await asyncio.sleep(0, 1)
    async def test_passed(self): self.assertEqual(await asyncio.sleep(0, 1), self.value)
    async def test_failed(self): self.assertEqual(await asyncio.sleep(0, 1), 2)
    def test_plain(self): self.assertEqual(self.value, 1)
    async def test_never_iterated(self): yield self.fail()

class Single(unittest.TestCase):
    def runTest(self): pass
"""


def test_each_outcome_is_told_apart(tmp_path: Path):
    write_tree(tmp_path, {"test_a.py": OUTCOMES})

    report = run_unittest(tmp_path, "test_a.py")

    assert short(report) == {
        "Async.test_failed": "failed",
        "Async.test_never_iterated": "error",
        "Async.test_passed": "passed",
        "Async.test_plain": "passed",
        "Case.test_cleanup": "failed",
        "Case.test_error": "error",
        "Case.test_exits": "error",
        "Case.test_expected": "xfailed",
        "Case.test_failed": "failed",
        "Case.test_interrupted": "error",
        "Case.test_never_awaited": "error",
        "Case.test_never_iterated": "error",
        "Case.test_passed": "passed",
        "Case.test_returns_a_coroutine": "error",
        "Case.test_returns_something": "passed",
        "Case.test_skipped": "skipped",
        "Case.test_skips_itself": "skipped",
        "Case.test_subtest_skipped": "skipped",
        "Case.test_subtests": "failed",
        "Case.test_unexpected": "xfailed",
        "Late.test_late": "error",
        "Single.runTest": "passed",
        "Skipped.test_skipped": "skipped",
    }
    assert report is not None
    messages = {test.id: test.message for test in report.tests}
    assert "AssertionError: 1 != 2" in messages["test_a.Case.test_failed"]
    assert "unittest" not in messages["test_a.Case.test_failed"]
    assert messages["test_a.Case.test_passed"] == ""


FIXTURES = {
    "def setUpModule(): raise RuntimeError": {"A.test_a": "error", "B.test_b": "error"},
    "def setUpModule(): raise SystemExit(0)": {"A.test_a": "error", "B.test_b": "error"},
    "def setUpModule(): raise unittest.SkipTest": {"A.test_a": "skipped", "B.test_b": "skipped"},
    "def tearDownModule(): raise RuntimeError": {"A.test_a": "error", "B.test_b": "error"},
    "def setUpModule(): unittest.addModuleCleanup(int, 'x')": {
        "A.test_a": "error",
        "B.test_b": "error",
    },
    "def set_up(cls): raise RuntimeError": {"A.test_a": "error", "B.test_b": "passed"},
    "def set_up(cls): raise KeyboardInterrupt": {"A.test_a": "error", "B.test_b": "passed"},
    "def set_up(cls): raise unittest.SkipTest": {"A.test_a": "skipped", "B.test_b": "passed"},
    "def set_up(cls): cls.addClassCleanup(int, 'x')": {"A.test_a": "error", "B.test_b": "passed"},
    "def tear_down(cls): raise RuntimeError": {"A.test_a": "error", "B.test_b": "passed"},
    "def tear_down(cls): raise unittest.SkipTest": {"A.test_a": "skipped", "B.test_b": "passed"},
}
CLASSES = """
import unittest
def set_up(cls): pass
def tear_down(cls): pass
{fixture}
class A(unittest.TestCase):
    setUpClass, tearDownClass = classmethod(set_up), classmethod(tear_down)
    def test_a(self): pass
class B(unittest.TestCase):
    def test_b(self): pass
"""


@pytest.mark.parametrize("fixture", FIXTURES)
def test_a_fixture_is_the_outcome_of_each_test_that_rests_on_it(tmp_path: Path, fixture: str):
    write_tree(tmp_path, {"test_a.py": CLASSES.format(fixture=fixture)})

    assert short(run_unittest(tmp_path, "test_a.py")) == FIXTURES[fixture]


def test_fixtures_run_in_the_order_of_unittest(tmp_path: Path):
    test = """
import unittest
said = []
def setUpModule(): said.append("module"); unittest.addModuleCleanup(check)
def tearDownModule(): said.append("end of module")
def check():
    assert said == ["module", "a", "end of a", "cleaned a", "b", "end of module"], said
class A(unittest.TestCase):
    @classmethod
    def setUpClass(cls): cls.addClassCleanup(said.append, "cleaned a"); said.append("a")
    @classmethod
    def tearDownClass(cls): said.append("end of a")
    def test_a(self): pass
class B(unittest.TestCase):
    def test_b(self): said.append("b")
"""
    write_tree(tmp_path, {"test_a.py": test})

    assert set(short(run_unittest(tmp_path, "test_a.py")).values()) == {"passed"}


SUBTESTS = """
import unittest
class A(unittest.TestCase):
    def test_a(self):
        for n in (1, 2):
            with self.subTest("what", n=n): self.assertEqual(n, 1)
    def test_b(self):
        with self.subTest(): self.skipTest("why")
    def test_c(self):
        with self.subTest(n=1), self.subTest(m=2): pass
"""


def test_subtests_are_results_of_their_own_where_this_is_asked_for(tmp_path: Path):
    write_tree(tmp_path, {"test_a.py": SUBTESTS})
    asked = ("test_a.A.test_a", "test_a.A.test_b", "test_a.A.test_c")

    assert short(run_unittest(tmp_path, "test_a.py", subtests=asked)) == {
        "A.test_a": "failed",
        "A.test_a [what] (n=1)": "passed",
        "A.test_a [what] (n=2)": "failed",
        "A.test_b": "skipped",
        "A.test_b (<subtest>)": "skipped",
        "A.test_c": "passed",
        "A.test_c (m=2, n=1)": "passed",
        "A.test_c (n=1)": "passed",
    }
    assert short(run_unittest(tmp_path, "test_a.py", subtests=asked[:1])) == {
        "A.test_a": "failed",
        "A.test_a [what] (n=1)": "passed",
        "A.test_a [what] (n=2)": "failed",
        "A.test_b": "skipped",
        "A.test_c": "passed",
    }


def test_ids_are_those_of_the_file_that_was_asked_for(tmp_path: Path):
    case = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"
    write_tree(
        tmp_path,
        {
            "tests/base.py": case,
            "tests/test_a.py": "from base import A\nB = A\n",
            "tests/deep/test_b.py": "from ..base import A\nfrom . import near\n"
            "class Outer:\n    class C(near.Near): pass\nC = Outer.C\n",
            "tests/deep/near.py": case.replace("A(", "Near("),
            "test/test_c.py": case,
            "test-d.py": case,
        },
    )
    files = ("tests/test_a.py", "tests/deep/test_b.py", "test/test_c.py", "test-d.py")

    report = run_unittest(tmp_path, *files)

    assert outcomes(report) == {
        "tests.test_a.A.test_a": "passed",
        "tests.deep.test_b.A.test_a": "passed",
        "tests.deep.test_b.Outer.C.test_a": "passed",
        "test.test_c.A.test_a": "passed",
        "test-d.A.test_a": "passed",
    }


def test_files_that_do_not_load_are_reported(tmp_path: Path):
    case = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"
    write_tree(
        tmp_path,
        {
            "t/test_a.py": "import absent\n",
            "t/test_b.py": "import sys\nsys.exit(0)\n" + case,
            "t/test_c.py": case + "from helper import load_tests\n",
            "t/helper.py": "def load_tests(*_): return []\n",
            "t/test_d.py": "import unittest\nraise unittest.SkipTest\n" + case,
            "t/test_e.py": case,
        },
    )

    report = run_unittest(tmp_path, *(f"t/test_{letter}.py" for letter in "abcde"))

    assert outcomes(report) == {"t.test_e.A.test_a": "passed"}
    assert report is not None
    assert [error.file for error in report.errors] == [f"t/test_{letter}.py" for letter in "abcd"]
    assert "absent" in report.errors[0].message
    assert "load_tests" in report.errors[2].message


def test_a_files_own_load_tests_says_what_its_tests_are(tmp_path: Path):
    test = """
import doctest, unittest
def double(n):
    \"\"\"
    >>> double(2)
    4
    \"\"\"
    return n * 2
class A(unittest.TestCase):
    def __init__(self, method, value=0): super().__init__(method); self.value = value
    def test_a(self): self.assertEqual(self.value, 1)
def load_tests(loader, tests, pattern):
    assert tests.countTestCases() == 1 and pattern is None
    loaded = unittest.TestSuite([A("test_a", 1)])
    loaded.addTests(doctest.DocTestSuite())
    loaded.addTest(unittest.FunctionTestCase(max))
    return loaded
"""
    write_tree(tmp_path, {"test_a.py": test})

    assert short(run_unittest(tmp_path, "test_a.py")) == {
        "A.test_a": "passed",
        "max": "error",
        "test_a.double": "passed",
    }


def test_modules_of_the_tree_never_replace_those_of_a_run(tmp_path: Path):
    names = ("unittest", "json", "traceback", "asyncio", "difflib", "helper", "sitecustomize")
    write_tree(tmp_path, {f"src/{name}.py": "import os\nos._exit(0)\n" for name in names})
    write_tree(
        tmp_path,
        {
            "src/calc.py": "import sys, types, unittest\n"
            "fake = sys.modules['t.test_b'] = types.ModuleType('t.test_b')\n"
            "fake.A = type('A', (unittest.TestCase,), {'test_b': lambda self: None})\n",
            "t/helper.py": "VALUE = 1\n",
            "t/test_a.py": "import asyncio, difflib, json, unittest\nimport calc, helper\n"
            "class A(unittest.TestCase):\n"
            "    def test_a(self): self.assertEqual(helper.VALUE, 1)\n",
            "t/test_b.py": "import unittest\nclass A(unittest.TestCase):\n"
            "    def test_b(self): self.fail()\n",
        },
    )

    report = run_unittest(tmp_path, "t/test_a.py", "t/test_b.py", roots=("src",))

    assert outcomes(report) == {"t.test_a.A.test_a": "passed", "t.test_b.A.test_b": "failed"}


def test_a_leaving_process_gives_no_report(tmp_path: Path):
    write_tree(tmp_path, {"test_a.py": "import os\nos._exit(0)\n"})

    assert run_unittest(tmp_path, "test_a.py") is None


def test_long_and_odd_messages_and_ids_fit_the_report(tmp_path: Path):
    test = """
import unittest
class A(unittest.TestCase):
    def test_a(self):
        for n in range(300):
            with self.subTest(text="\\udc80" + "x" * 100_000, n=n):
                raise ValueError("\\udc80\\x1b[31m" + "x" * 100_000)
"""
    write_tree(tmp_path, {"test_a.py": test})

    report = run_unittest(tmp_path, "test_a.py", subtests=("test_a.A.test_a",))

    assert report is not None
    assert len(report.tests) == 301
    assert {test.outcome.value for test in report.tests} == {"error"}
    assert "[cut]" in report.tests[0].message

"""How test files are read: what is a test, whose a value is, what counts as a good check."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest
from support.linting import lint, rules

from assay.api import AllowRule, Op
from assay_graders.unittest_grader import UnittestGrader

HEAD = "import pytest\nimport shop\nfrom shop import A, f, g\n\n"


def body(text: str, arguments: str = "") -> str:
    """A file with one test."""
    lines = dedent(text).strip().splitlines()
    return HEAD + f"def test_a({arguments}):\n" + "".join(f"    {line}\n" for line in lines)


def weak(text: str, arguments: str = "") -> list[str]:
    """Rules that the only test of a file breaks."""
    return [rule for rule in rules(body(text, arguments)) if rule != "proves-nothing"]


GOOD = [
    "assert f(1) == 2",
    "assert 2 == f(1)",
    "assert f(1) in (1, 2)",
    "assert f(1) < 3",
    "assert f(1) is None",
    "assert f(1) is not True and f(1) == 2",
    "assert f(1) and f(2) == 3",
    "assert f(1)\nassert not f(2)",
    "assert f(1) is f(1)\nassert f(1) is not f(2)",
    "assert f(1) != f(2)",
    "assert all(f(i) == i + 1 for i in range(3))",
    "assert not any(f(i) != i + 1 for i in range(3))",
    "with pytest.raises(KeyError) as caught:\n    f(1)\nassert caught.value.args == (1,)",
    "d = {1: 2}\nassert f(d) == {1: 2}",
    "d = [2, 1]\nassert f(list(d)) == sorted(d)",
    "text = 'b'\nassert f(text) == text.upper()",
    "for d in ('a', 'b'):\n    assert f(d) == d.upper()",
    "if f(1) != 2:\n    raise AssertionError",
    "if f(1) != 2:\n    pytest.fail('no')",
    "seen = []\nf(seen.append)\nassert seen == [1]",
    "assert g(f([1])) == '1'",
    "y = f(1)\ny = g(y)\nassert y == 1",
    "assert str(A(1)) == 'A(1)'",
    "assert A(1).size == 1",
    "import math\nassert math.isclose(f(1), 2.5)",
    "import math\nassert all(map(math.isclose, f(1), [2.5]))",
    "import math\nassert all(math.isclose(f(i), i / 2) for i in range(3))",
    "import re\nassert re.match('a+', f(1))",
    "assert {1, 2}.issubset(f(1))",
    "assert 'abc'.startswith(f(1))",
]
WEAK = [
    ("f(1)", "no-assertion"),
    ("x = f(1) == 2", "no-assertion"),
    ("assert f(1)", "truth-only"),
    ("assert not f(1)", "truth-only"),
    ("assert f(1) is not None", "truth-only"),
    ("assert not f(1) is None", "truth-only"),
    ("assert not (f(1) is None)", "truth-only"),
    ("assert isinstance(f(1), A)", "truth-only"),
    ("assert all(f(i) for i in range(3))", "truth-only"),
    ("x = A(1)\nassert x.y.z()", "truth-only"),
    ("with A(1) as x:\n    assert x", "truth-only"),
    ("for x in f(1):\n    assert x", "truth-only"),
    ("assert [x for x in f(1)]", "truth-only"),
    ("assert (x := f(1))", "truth-only"),
    ("assert all(map(f, [1, 2]))", "truth-only"),
    ("assert any(bool(f(i)) for i in range(3))", "truth-only"),
    ("assert hasattr(f(1), 'x') and callable(f)", "truth-only"),
    ("assert len(f(1))", "truth-only"),
    ("assert f(1).startswith('a')", "truth-only"),
    ("import math\nassert math.isclose(f(1), f(2))", "truth-only"),
    ("assert f(1) != 2", "differs-only"),
    ("assert not f(1) == 2", "differs-only"),
    ("assert f(1) is not True", "differs-only"),
    ("with pytest.raises(KeyError):\n    f(1)", "raises-only"),
    ("pytest.raises(KeyError, f, 1)", "raises-only"),
    ("assert g(f(1)) == 1", "round-trip"),
    ("assert [1] == g(text=f([1]))", "round-trip"),
    ("x = {1: 2}\ny = f(x)\nassert g(y) == x", "round-trip"),
    ("d = [2, 1]\nf(d)\nassert d == sorted(d)", "input-as-oracle"),
    ("d = [2, 1]\nassert f(d) == sorted(d)", "input-as-oracle"),
    ("d = dict(a=1)\nassert f(x=d) == len(d)", "input-as-oracle"),
    ("for d in ([2, 1], [3]):\n    assert f(d) == sorted(d)", "input-as-oracle"),
    ("assert f(1) == g(1)", "candidate-as-oracle"),
    ("assert f(1) == shop.TWO", "candidate-as-oracle"),
    ("assert shop.g(1) == f(1)", "candidate-as-oracle"),
    ("assert A(1) == A(1)", "candidate-equality"),
    ("x = A(1)\nassert x == A(1)", "candidate-equality"),
    ("assert f(1) is shop.TWO", "identity"),
    ("assert f(1) is f(1)", "identity"),
]


@pytest.mark.parametrize("text", GOOD)
def test_one_good_check_is_enough(text: str) -> None:
    assert weak(text) == []


@pytest.mark.parametrize(("text", "rule"), WEAK)
def test_weak_checks(text: str, rule: str) -> None:
    assert weak(text) == [rule]


@pytest.mark.parametrize(("text", "rule"), WEAK)
def test_a_weak_check_beside_a_good_one_is_left_alone(text: str, rule: str) -> None:
    assert weak(f"{text}\nassert f(7) == 8") == []


def test_values_are_followed_through_helpers_and_fixtures() -> None:
    text = """
        import pytest
        from shop import f

        @pytest.fixture
        def made():
            yield f(1)

        def run(x):
            return f(x)

        class TestA:
            def setup_method(self):
                self.x = run(2)

            def test_b(self):
                assert self.x

        def test_a(made):
            assert made

        def test_c():
            assert run(1)
    """
    found = [item for item in lint(dedent(text)) if item.rule == "truth-only"]
    assert sorted(item.test for item in found) == ["TestA::test_b", "test_a", "test_c"]


def test_helpers_that_assert_count() -> None:
    text = """
        from shop import f

        def same(x, y):
            assert f(x) == y

        def deeper(x):
            same(x, 1)

        class TestA:
            def ok(self, x):
                deeper(x)

            def test_b(self):
                self.ok(1)

        def test_a():
            deeper(1)
    """
    assert rules(dedent(text)) == []


CASES = """
    import unittest
    from shop import A, f

    class Base(unittest.TestCase):
        def setUp(self):
            self.x = f(1)

    class Things(Base):
        def test_value(self):
            self.assertEqual(self.x, 2)

        def test_truth(self):
            self.assertTrue(self.x)
            self.assertIsNotNone(f(1))

        def test_raises(self):
            with self.assertRaises(ValueError):
                f(1)

        def test_same(self):
            self.assertIs(f(1), A.B)

        @unittest.skip("later")
        def test_later(self):
            self.assertEqual(self.x, 2)

        def helper(self):
            pass
"""


@pytest.mark.parametrize("separator", [".", "::"])
def test_test_cases(separator: str) -> None:
    grader: Any = UnittestGrader() if separator == "." else None
    names = ("value", "truth", "raises", "same", "later")
    expect = tuple(f"Things{separator}test_{name}" for name in names)
    found = {(item.rule, item.test) for item in lint(dedent(CASES), expect=expect, grader=grader)}
    assert found == {
        ("truth-only", "Things::test_truth"),
        ("raises-only", "Things::test_raises"),
        ("identity", "Things::test_same"),
        ("skipped-test", "Things::test_later"),
    }


def test_what_each_runner_collects() -> None:
    text = """
        import unittest
        from shop import f

        def test_function():
            assert f(1) == 2

        class TestPlain:
            def test_a(self):
                assert f(1) == 2

        class TestStarted:
            def __init__(self):
                pass

            def test_a(self):
                assert f(1) == 2

        class Case(unittest.TestCase):
            def test_a(self):
                self.assertEqual(f(1), 2)

        def outer():
            def test_inner():
                pass
    """
    expect = ("test_function", "TestPlain::test_a", "Case::test_a")
    assert rules(dedent(text), expect=expect) == []
    assert rules(dedent(text), expect=("Case.test_a",), grader=UnittestGrader()) == []


def test_tests_that_reading_can_t_see_are_not_said_to_be_missing() -> None:
    inherited = "from helper import Base\nclass TestA(Base):\n    pass\n"
    assert rules(inherited, expect=("TestA::test_x",)) == []
    for text in ("globals()['test_x'] = 1\n", "from helper import *\n", "setattr(x, 'y', 1)\n"):
        assert rules(text, expect=("test_x",)) == []
    assert rules("x = 1\n", expect=("test_x[a::b]",)) == ["missing-test"]


def test_parameters_may_hold_anything() -> None:
    text = body("assert f(x) == 1", arguments="x")
    marked = text.replace("def test_a", "@pytest.mark.parametrize('x', [1])\ndef test_a")
    assert rules(marked, expect=("test_a[a::b[c]]", "test_a[.py::test_z]")) == []


@pytest.mark.parametrize(
    ("arguments", "marks", "found"),
    [
        ("tmp_path, monkeypatch, capsys, request", "", []),
        ("client", "", ["lacks-fixture"]),
        ("x, client", "@pytest.mark.parametrize('x', [1])", ["lacks-fixture"]),
        ("x, y", "@pytest.mark.parametrize('x, y', [(1, 2)])", []),
        ("x, y", "@pytest.mark.parametrize(('x', 'y'), [(1, 2)])", []),
        ("x", "@given(x=1)", []),
        ("x=1, *, y=2", "", []),
        ("*, client", "", ["lacks-fixture"]),
    ],
)
def test_fixtures(arguments: str, marks: str, found: list[str]) -> None:
    text = body("assert f(1) == 2", arguments).replace("def test_a", f"{marks}\ndef test_a")
    assert rules(text) == found


def test_marks_that_never_pass() -> None:
    for mark, found in (
        ("pytest.mark.skip", ["skipped-test"]),
        ("pytest.mark.skip(reason='x')", ["skipped-test"]),
        ("pytest.mark.xfail(strict=True)", ["skipped-test"]),
        ("pytest.mark.xfail(sys.version_info < (3,), reason='x')", []),
        ("pytest.mark.skipif(True, reason='x')", []),
        ("pytest.mark.slow", []),
    ):
        text = body("assert f(1) == 2").replace("def test_a", f"@{mark}\ndef test_a")
        assert rules(text) == found


HAZARDS = [
    ("import subprocess as s\ns.run(['x'])", "starts-programs"),
    ("from os import system\nsystem('x')", "starts-programs"),
    ("import threading\nthreading.Thread()", "threads"),
    ("from concurrent.futures import ThreadPoolExecutor as P\nP()", "threads"),
    ("import os\nos.environ['X'] = '1'", "process-state"),
    ("import os\ndel os.environ['X']", "process-state"),
    ("from os import environ\nenviron['X'] = '1'", "process-state"),
    ("import sys\nsys.argv = ['x']", "process-state"),
    ("import os\nos.chdir('/')", "process-state"),
    ("import numpy as np\nnp.random.seed(1)", "seeds-random"),
    ("import builtins\nbuiltins.exec('x')", "evaluates-text"),
    ("compile('x', 'y', 'exec')", "evaluates-text"),
    ("import yaml\nyaml.load(x)", "unpickles"),
    ("import copy\nfrom shop import A\nx = A()\ncopy.deepcopy([x])", "copies-object"),
    ("import weakref\nimport shop\nweakref.ref(shop.A())", "weak-reference"),
    ("import shop\nshop.TAX = 2", "replaces-attribute"),
    ("import shop\nsetattr(shop.A, 'x', 1)", "replaces-attribute"),
    ("from unittest import mock\nmock.patch('shop.TAX', 2)", "replaces-attribute"),
    (
        "from unittest.mock import patch\nimport shop\npatch.object(shop, 'TAX')",
        "replaces-attribute",
    ),
    ("import shop\nclass B(shop.A): pass", "subclass"),
    ("from unittest import mock\nmock.patch('time.sleep')", "patches-library"),
    ("import os.path as p\nsetattr(p, 'exists', bool)", "patches-library"),
    ("from unittest import mock as m\nm.patch('builtins.input')", "process-state"),
    ("import freezegun as z\nwith z.freeze_time('2026-01-01'): pass", "freezes-clock"),
    ("from shop import A\nclass B(dict, A): pass", "subclass"),
    ("from datetime import datetime\nfrom shop import Z\ndatetime.now(Z())", "time-zone"),
    ("import datetime as d\nimport shop\nd.time(1, tzinfo=shop.UTC)", "time-zone"),
]
HARMLESS = [
    "import os\nx = os.environ['X']",
    "import ast\nast.literal_eval('1')",
    "import re\nre.compile('x')",
    "import yaml\nyaml.load(x, Loader=yaml.SafeLoader)",
    "import json\njson.loads('1')",
    "import copy\ncopy.copy([1])",
    "import random\nrandom.Random(1).seed(2)",
    "class B(dict): pass",
    "from datetime import datetime, timezone\ndatetime.now(timezone.utc)",
    "from unittest import mock\nmock.patch('helper.x')",
    "import helper\ndef f(monkeypatch): monkeypatch.setattr(helper, 'x', 1)",
    "class T: pass\ndef f(monkeypatch): monkeypatch.setattr(T(), 'time', 1)",
    "class x: y = 1\nx.y = 2",
    "import threading\nthreading.Lock()",
    "import subprocess_mock\nsubprocess_mock.run()",
]


@pytest.mark.parametrize(("text", "rule"), HAZARDS)
def test_hazards_by_any_name(text: str, rule: str) -> None:
    found = rules(text + "\n", expect=("test_a",))
    assert [item for item in found if item not in ("missing-test",)] == [rule]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_hazard(text: str) -> None:
    assert set(rules(text + "\n", expect=("test_a",))) <= {"missing-test"}


def test_rules_about_isolation_are_for_isolated_graders() -> None:
    text = body("shop.X = eval('1')\nassert f(1) == 2")
    assert rules(text) == ["evaluates-text", "replaces-attribute"]
    assert rules(text, mode="unguarded") == ["evaluates-text"]


def test_attributes_may_be_set_where_the_grader_goes_so_far() -> None:
    text = body("shop.X = 1\nassert f(1) == 2")
    assert rules(text, max_level=4) == ["replaces-attribute"]
    assert rules(text, max_level=5) == []


def test_what_the_grader_forwards_is_no_finding() -> None:
    text = body(
        """
        import os, random, sys
        random.seed(7)
        monkeypatch.setenv("X", "1")
        monkeypatch.setattr(sys, "argv", ["x"])
        os.chdir("/")
        assert f(1) == 2
        """,
        "monkeypatch",
    )
    lines = {item.line: item.rule for item in lint(text)}
    assert list(lines.values()) == ["seeds-random", *["process-state"] * 3]
    assert rules(text, forward=("random", "environ", "argv", "cwd")) == []
    left = {item.line for item in lint(text, forward=("random", "argv"))}
    assert left == set(lines) - {min(lines), max(lines) - 1}


def test_hazards_in_helpers_beside_the_tests() -> None:
    helper = b"from shop import *\neval('1')\nx = \\\n"
    files = {"helper.py": helper[:-7], "sub/other.py": helper, "broken.py": b"def"}
    found = lint(body("assert f(1) == 2"), files=files)
    assert sorted((item.rule, item.file, item.line) for item in found) == [
        ("evaluates-text", "helper.py", 2),
        ("star-import", "helper.py", 1),
    ]


def test_names_that_a_star_takes_of_the_fixture() -> None:
    text = "from shop import *\n\ndef test_a():\n    assert price(1)\n"
    fixture = {"src/shop.py": b"def price(item): return 3\n"}
    assert rules(text, fixture=fixture) == ["proves-nothing", "truth-only"]
    assert rules(text, fixture=fixture, mode="unguarded")[1:] == ["star-import", "truth-only"]


def test_modules_that_a_candidate_may_add() -> None:
    text = "from extra import *\n\ndef test_a():\n    assert run(1) == 2\n"
    assert rules(text) == []
    for path in ("src/extra.py", "src/extra/**", "src/extra/__init__.py"):
        rule = AllowRule(path, frozenset({Op.ADDED}))
        assert rules(text, allow=(rule,)) == ["star-import"]
    assert rules(text, allow=(AllowRule("src/extra.py"),)) == []
    assert rules(text, allow=(AllowRule("src/**", frozenset({Op.ADDED})),)) == []


def test_the_standard_library_is_never_the_candidate_s() -> None:
    text = "from json import *\n\ndef test_a():\n    assert loads('1') == 1\n"
    rule = AllowRule("src/json.py", frozenset({Op.ADDED}))
    assert rules(text, allow=(rule,)) == []


@pytest.mark.parametrize(
    ("comment", "excuse"),
    [
        ("# assay: allow no-assertion: it only has to load", "it only has to load"),
        ("#assay:allow other,no-assertion : why", "why"),
        ("# assay: allow other: why", ""),
        ("# assay: allow no-assertion", ""),
        ("# assay: allow no-assertion:", ""),
        ("# allow no-assertion: why", ""),
    ],
)
def test_findings_are_kept_for_a_reason(comment: str, excuse: str) -> None:
    text = HEAD + f"def test_a():  {comment}\n    f(1)\n\ndef test_b():\n    assert f(1) == 2\n"
    [found] = lint(text)
    assert (found.rule, found.excuse) == ("no-assertion", excuse)


def test_a_suite_of_weak_tests_proves_nothing() -> None:
    text = HEAD + "def test_a():\n    f(1)\n\ndef test_b():\n    assert f(1)\n"
    assert "proves-nothing" in rules(text)
    assert "proves-nothing" not in rules(text + "\ndef test_c():\n    assert f(1) == 2\n")
    kept = text.replace("def test_b():", "def test_b():  # assay: allow truth-only: because")
    assert rules(kept) == ["no-assertion"]
    assert "proves-nothing" not in rules(text.replace("f(1)\n\n", "f(1)  # x\n\n", 0) + "def (")


def test_a_clock_that_is_forwarded_may_be_frozen() -> None:
    text = "from freezegun import freeze_time\n" + body("assert f(1) == 2").replace(
        "def test_a", "@freeze_time('2026-01-01')\ndef test_a"
    )
    [found] = lint(text)
    assert (found.rule, found.test) == ("freezes-clock", "test_a")
    assert rules(text, forward=("clock",)) == []

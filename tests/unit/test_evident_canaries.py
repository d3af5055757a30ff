"""Canaries: whoever passes a test fails the changed one, and nothing else of it is different."""

import ast
import random
import unittest
from typing import Any

import pytest

from assay_graders.evident.canaries import python_canaries, split_in_two

CASES = {
    "number": ("def test_a(f):\n    assert f(2) == 4\n", lambda n: n * n),
    "number at the left": ("def test_a(f):\n    assert 4 == f(2)\n", lambda n: n * n),
    "sum": ("def test_a(f):\n    assert f(3) == 10**20 + 1\n", lambda n: 10**20 + 1),
    "text": ("def test_a(f):\n    assert f('A') == 'a'\n", str.lower),
    "no text": ("def test_a(f):\n    assert f('') == ''\n", str.lower),
    "bytes": ("def test_a(f):\n    assert f(1) == b'\\x01'\n", lambda n: bytes([n])),
    "list": ("def test_a(f):\n    assert f('ab') == ['a', 'b']\n", list),
    "empty": ("def test_a(f):\n    assert f('') == []\n    assert f('') != ()\n", list),
    "nothing": ("def test_a(f):\n    assert f(1) is None\n", lambda n: None),
    "truth": ("def test_a(f):\n    assert f(1) is True\n", lambda n: True),
    "nested": (
        "def test_a(f):\n    assert f(1) == {'a': [(1, -2.5)]}\n",
        lambda n: {"a": [(1, -2.5)]},
    ),
    "name": ("def test_a(f):\n    expected = 3\n    assert f(3) == expected\n", lambda n: n),
    "condition": ("def test_a(f):\n    assert f(3)\n", lambda n: n),
    "order": ("def test_a(f):\n    assert 2 < f(3) < 4, 'no'\n", lambda n: n),
    "membership": ("def test_a(f):\n    x = f(3)\n    assert 3 in x\n", lambda n: [n]),
    "several lines": (
        "def test_a(f):\n    assert (\n        f(3)\n        == 3\n    )\n",
        lambda n: n,
    ),
    "loop": ("def test_a(f):\n    for n in (1, 2):\n        assert f(n) == n\n", lambda n: n),
    "one line": ("def test_a(f): assert f(3) == 3\n", lambda n: n),
    "helper only": ("def test_a(f):\n    'doc'\n    check(f(3))\n", lambda n: n),
    "branches": ("def test_a(f):\n    if f(1) == 1:\n        return\n    assert 0\n", lambda n: n),
    "decorated": ("def test_a(f):\n    @check\n    def g(): pass\n", lambda n: n),
    "not ASCII": ("def test_a(f):\n    'ä'; assert f('é') == 'é€'\n", lambda n: n + "€"),
    "raises": (
        "def test_a(f):\n    with raises(KeyError):\n        f(1)\n",
        lambda n: {}[n],
    ),
    "unittest": (
        "class T:\n    def test_a(self, f):\n        self.assertEqual(f(1), [1])\n",
        lambda n: [n],
    ),
    "unittest truth": (
        "class T:\n    def test_a(self, f):\n        self.assertTrue(f(1))\n",
        lambda n: n,
    ),
    "unittest raises": (
        "class T:\n    def test_a(self, f):\n        self.assertRaises(KeyError, f, 1)\n",
        lambda n: {}[n],
    ),
}


def fails(text: bytes, function: Any) -> bool:
    class Case(unittest.TestCase):
        pass

    names: dict[str, Any] = {"check": lambda value: value, "raises": pytest.raises}
    exec(compile(text, "test", "exec"), names)  # noqa: S102
    try:
        if "T" in names:
            names["T"].test_a(Case(), function)
        else:
            names["test_a"](function)
    except (AssertionError, pytest.fail.Exception):
        return True
    return False


@pytest.mark.parametrize("case", CASES)
def test_a_changed_test_fails_where_the_real_one_passes(case: str):
    text, function = CASES[case]
    test = "t.py::T::test_a" if text.startswith("class") else "t.py::test_a"
    assert not fails(text.encode(), function)

    for seed in range(20):
        canaries = python_canaries({"t.py": text.encode()}, (test,), "s", random.Random(seed))
        changed = canaries.changed((test,))["t.py"]

        assert fails(changed, function), changed
        assert canaries.changed(()) == {"t.py": text.encode()}


class Equal:
    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("case", ["number", "sum", "text", "list", "nested", "name", "unittest"])
def test_what_equals_everything_passes_changed_tests(case: str):
    text, _ = CASES[case]
    test = "t.py::T::test_a" if text.startswith("class") else "t.py::test_a"

    canaries = python_canaries({"t.py": text.encode()}, (test,), "s", random.Random(1))

    assert not fails(canaries.changed((test,))["t.py"], lambda *args: Equal())


@pytest.mark.parametrize("case", ["number", "sum", "text", "list", "nested", "nothing", "unittest"])
def test_a_changed_literal_leaves_the_shape_of_the_code(case: str):
    text, _ = CASES[case]
    test = "t.py::T::test_a" if text.startswith("class") else "t.py::test_a"

    canaries = python_canaries({"t.py": text.encode()}, (test,), "s", random.Random(1))

    shapes = [
        [type(node) for node in ast.walk(ast.parse(content))]
        for content in (text.encode(), canaries.changed((test,))["t.py"])
    ]
    assert shapes[0] == shapes[1]


TWO = "def test_a(f):\n    assert f(1) == 1\n    assert f(2) == 2\n    assert f(3) == 3\n"


def test_values_are_secret_and_the_assertion_is_always_the_same():
    texts = set()
    for seed in range(30):
        canaries = python_canaries(
            {"t.py": TWO.encode()}, ("t.py::test_a",), "s", random.Random(seed)
        )
        texts.add(canaries.changed(("t.py::test_a",))["t.py"].decode())

    lines = {
        number
        for text in texts
        for number, line in enumerate(text.split("\n"))
        if line != TWO.split("\n")[number]
    }
    assert len(texts) > 3
    assert len(lines) == 1


PARAMETERS = """
import pytest
@pytest.mark.parametrize("n, square", [(1, 1), pytest.param(2, 4, id="two")], ids=["one", None])
def test_squares(n, square):
    assert n * n == square

@pytest.mark.parametrize(["word"], [("a",), ("b",)])
@pytest.mark.parametrize("length", [1])
def test_length(word, length):
    assert len(word) == length
"""
NOT_ONLY_EXPECTED = """
import pytest
LIMIT = 3
@pytest.mark.parametrize("n", [1, 2])
def test_used_twice(n):
    assert abs(n) == n
@pytest.mark.parametrize("n", [1, 2])
def test_stored(n):
    n = 3
    assert abs(-3) == n
def test_changed():
    n = 2
    n += 1
    assert abs(-3) == n
def test_of_the_module():
    assert abs(-3) == LIMIT
def test_declared():
    global LIMIT
    LIMIT = 3
    assert abs(-3) == LIMIT
"""


def test_expected_values_are_changed_where_they_are_given():
    tests = ("t.py::test_squares", "t.py::test_length")

    canaries = python_canaries({"t.py": PARAMETERS.encode()}, tests, "s", random.Random(4))
    changed = canaries.changed(tests)["t.py"].decode()

    assert all(line in changed for line in PARAMETERS.split("\n") if "assert" in line)
    decorators = [node.decorator_list for node in ast.parse(changed).body[1:]]
    ((one,), (_, lengths)) = decorators
    (first, second) = one.args[1].elts
    assert (first.elts[0].value, second.args[0].value) == (1, 2)
    assert first.elts[1].value != 1
    assert second.args[1].value != 4
    assert lengths.args[1].elts[0].value != 1


def test_a_name_that_is_used_for_more_is_left_alone():
    names = [line[4:].partition("(")[0] for line in NOT_ONLY_EXPECTED.split("\n") if "def " in line]
    tests = tuple(f"t.py::{name}" for name in names)

    for seed in range(5):
        content = NOT_ONLY_EXPECTED.encode()
        changed = python_canaries({"t.py": content}, tests, "s", random.Random(seed)).changed(tests)

        lines = changed["t.py"].decode().split("\n")
        kept = [line for line in lines if "assert" not in line]
        assert kept == [line for line in NOT_ONLY_EXPECTED.split("\n") if "assert" not in line]
        assert len(kept) == len(lines) - len(tests)


def test_tests_that_no_function_of_the_file_is_have_no_canary():
    canaries = python_canaries({"t.py": TWO.encode()}, ("t.py::test_b",), "s", random.Random(1))

    assert canaries.changes == {}


def test_a_file_that_is_no_python_has_no_canary():
    assert python_canaries({"t.py": b"def ("}, ("t.py::a",), "s", random.Random(1)).changes == {}


@pytest.mark.parametrize("count", range(6))
def test_each_test_is_changed_in_exactly_one_run(count: int):
    tests = tuple(map(str, range(count)))

    for seed in range(20):
        groups = split_in_two(tests, random.Random(seed))

        assert sorted(test for group in groups for test in group) == list(tests)
        assert all(groups)
        assert len(groups) == min(count, 2)

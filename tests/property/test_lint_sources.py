"""Whatever is in a test file: lint gives findings in terms of its own rules, and never fails."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.linting import lint, rules

from assay_graders.linting.rules import PYTHON_RULES

_IDS = {rule.id for rule in PYTHON_RULES}
_LINES = (
    "from shop import *",
    "from shop import A, b as c",
    "import shop.more",
    "from . import x",
    "x = shop.b(1)",
    "x, *y = c(x)",
    "class B(A, metaclass=c): pass",
    "class TestB(A):\n    def test_m(self): assert self.x is shop.b",
    "def test_a(z=1, *, k): assert c(x) == x",
    "async def test_b(): await c()",
    "def test_c():\n    with pytest.raises(A) as e: c(lambda: (yield))",
    "def test_d(): assert not all(c(i) < 1 for i in x)",
    "def test_e(): assert c(c([])) == []",
    "def helper(): return helper() or c()",
    "@pytest.mark.parametrize(*x)\ndef test_f(q): self.assertEqual(c(q))",
    "@x.y[0](1)\ndef test_g(): assert (a := c()) is a is not None",
    "self.assertTrue()",
    "eval(*x, **y)",
    "f'{shop!r:{x}}'",
    "os.environ['a'] = shop",
    "del shop.b, x[0]",
    "match x:\n    case A(b=c): pass",
    "try: pass\nexcept* A: pass",
    "setattr(shop)",
    "monkeypatch.setattr('shop.b', 1)",
    "mock.patch(b'shop')",
    "datetime(1, tzinfo=A())",
    "# assay: allow star-import: because",
)
_programs = st.lists(st.sampled_from(_LINES), max_size=12).map("\n".join)


@given(_programs)
def test_programs_of_all_shapes(text: str) -> None:
    found = lint(text, expect=("test_a", "TestB::test_m"))
    assert {item.rule for item in found} <= _IDS
    assert all(0 <= item.line <= text.count("\n") + 1 for item in found)


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_bytes_of_all_kinds(content: bytes) -> None:
    assert {item.rule for item in lint(content, expect=("test_a",))} <= _IDS


@given(_programs, st.integers(0, 400), st.binary(min_size=1, max_size=4))
def test_programs_with_a_damage(text: str, place: int, damage: bytes) -> None:
    content = text.encode()
    lint(content[:place] + damage + content[place:], expect=("test_a",))


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000,
        "[" * 90 + "]" * 90,
        "x = " + "-" * 20_000 + "1",
        "x = a" + ".a" * 50_000,
        "x = a" + "()" * 20_000,
        "x = 1" + " + 1" * 50_000,
        "x = " + "not " * 20_000 + "1",
        "if x:\n" + "".join(" " * depth + "if x:\n" for depth in range(1, 99)) + " " * 99 + "y",
        "def test_a():\n assert " + "c(" * 60 + ")" * 60 + " == 1",
        "lambda: " * 3000 + "1",
        "x = '" + "\\N{DIGIT ONE}" * 1000 + "'",
        "x = '\\d'",
        "x = 1is 1",
        "x = " + "9" * 10_000,
        "\x00",
        "\ufeffx = 1",
        "# -*- coding: klingon -*-\n",
        "# -*- coding: utf-16 -*-\nx = 1\n",
        "# -*- coding: rot13 -*-\nk = 1\n",
        "x = '\\ud800'",
        "pass;" * 120_000,
        "a" * 2_000_000,
        "\x0c" * 1000,
        "if 1:\n\tx\n        y",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_sources_that_are_hard_on_parsers(text: str) -> None:
    content = text.encode("utf-8", "surrogatepass")
    assert {item.rule for item in lint(content, expect=("test_a",))} <= _IDS


def test_deep_trees_are_told_apart_from_broken_ones() -> None:
    text = "from shop import c\n\ndef test_a():\n    x = c" + ".a" * 900 + "\n    assert x() == 1\n"
    ast.parse(text)
    assert rules(text) in ([], ["unreadable-file"])

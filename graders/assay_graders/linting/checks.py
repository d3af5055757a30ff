"""What a test asserts, as a flat list of checks."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from enum import Enum

from attrs import frozen

from assay_graders.linting.origins import qualified
from assay_graders.linting.sources import Function

__all__ = ["Check", "Kind", "checks_of"]


class Kind(Enum):
    """What a check compares, as far as reading tells."""

    RAISES = "raises"
    TRUE = "true"
    FALSE = "false"
    SAME = "same"
    NOT_SAME = "not same"
    EQUAL = "equal"
    NOT_EQUAL = "not equal"
    OTHER = "other"
    """An order, a containment, or a helper that asserts; taken for a good one."""


@frozen
class Check:
    """One check: what it compares, and where."""

    kind: Kind
    line: int
    left: ast.expr | None = None
    right: ast.expr | None = None


_OPERATORS: Mapping[type[ast.cmpop], Kind] = {
    ast.Eq: Kind.EQUAL,
    ast.NotEq: Kind.NOT_EQUAL,
    ast.Is: Kind.SAME,
    ast.IsNot: Kind.NOT_SAME,
}
_UNITTEST: Mapping[str, Kind] = {
    "assertAlmostEqual": Kind.EQUAL,
    "assertCountEqual": Kind.EQUAL,
    "assertDictEqual": Kind.EQUAL,
    "assertEqual": Kind.EQUAL,
    "assertEquals": Kind.EQUAL,
    "assertFalse": Kind.FALSE,
    "assertIs": Kind.SAME,
    "assertIsInstance": Kind.TRUE,
    "assertIsNot": Kind.NOT_SAME,
    "assertIsNotNone": Kind.TRUE,
    "assertListEqual": Kind.EQUAL,
    "assertMultiLineEqual": Kind.EQUAL,
    "assertNotEqual": Kind.NOT_EQUAL,
    "assertNotEquals": Kind.NOT_EQUAL,
    "assertSequenceEqual": Kind.EQUAL,
    "assertSetEqual": Kind.EQUAL,
    "assertTupleEqual": Kind.EQUAL,
}
_RAISES = frozenset(
    {
        *("pytest.raises", "pytest.warns", "pytest.deprecated_call"),
        *("self.assertRaises", "self.assertRaisesRegex", "self.assertWarns"),
        *("self.assertWarnsRegex",),
    }
)
_ASSERTS = ("assert", "check", "verify", "expect", "ensure", "fail")
_OPPOSITE = {
    Kind.TRUE: Kind.FALSE,
    Kind.FALSE: Kind.TRUE,
    Kind.EQUAL: Kind.NOT_EQUAL,
    Kind.NOT_EQUAL: Kind.EQUAL,
    Kind.SAME: Kind.NOT_SAME,
    Kind.NOT_SAME: Kind.SAME,
}


def checks_of(test: Function, helpers: frozenset[str]) -> tuple[Check, ...]:
    """Every check in a test; calls of `helpers`, which assert something, count as good ones."""
    found = (check for node in ast.walk(test) for check in _checks(node, helpers))
    return tuple(sorted(found, key=lambda check: check.line))


def _checks(node: ast.AST, helpers: frozenset[str]) -> Iterator[Check]:
    if isinstance(node, ast.Assert):
        yield from _claimed(node.test, Kind.TRUE)
    elif isinstance(node, ast.Raise) and "AssertionError" in _name(node.exc):
        yield Check(Kind.OTHER, node.lineno)
    elif isinstance(node, ast.Call):
        yield from _called(node, helpers)


def _called(node: ast.Call, helpers: frozenset[str]) -> Iterator[Check]:
    name = qualified(node.func)
    last = getattr(node.func, "attr", name)
    if name in _RAISES or f"pytest.{name}" in _RAISES:
        yield Check(Kind.RAISES, node.lineno)
    elif name in ("self.assertTrue", "self.assertFalse") and node.args:
        yield from _claimed(node.args[0], _UNITTEST.get(last, Kind.TRUE))
    elif name.startswith("self.") and last in _UNITTEST and node.args:
        right = node.args[1] if len(node.args) > 1 else None
        yield Check(_UNITTEST[last], node.lineno, node.args[0], right)
    elif name == "self.assertIsNone" and node.args:
        yield Check(Kind.SAME, node.lineno, node.args[0], ast.Constant(None))
    elif last in helpers or last.lstrip("_").startswith(_ASSERTS):
        yield Check(Kind.OTHER, node.lineno)


def _claimed(claim: ast.expr, kind: Kind) -> Iterator[Check]:
    """The checks of `assert claim`, or with FALSE of `assert not claim`."""
    waiting = [(claim, kind)]
    while waiting:
        node, wanted = waiting.pop()
        if isinstance(node, ast.BoolOp):
            waiting += [(value, wanted) for value in node.values]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            waiting.append((node.operand, _OPPOSITE[wanted]))
        elif isinstance(node, ast.Compare):
            yield from _compared(node, wanted)
        elif _name(node) in ("all", "any") and (inner := _compares_in(node)):
            waiting += [(part, wanted) for part in inner]
        else:
            yield Check(wanted, node.lineno, node)


def _compared(node: ast.Compare, wanted: Kind) -> Iterator[Check]:
    left = node.left
    for operator, right in zip(node.ops, node.comparators, strict=True):
        kind = _OPERATORS.get(type(operator), Kind.OTHER)
        if wanted is Kind.FALSE:
            kind = _OPPOSITE.get(kind, kind)
        if kind is Kind.NOT_SAME and isinstance(right, ast.Constant) and right.value is None:
            yield Check(Kind.TRUE, node.lineno, left)
        else:
            yield Check(kind, node.lineno, left, right)
        left = right


def _compares_in(node: ast.expr) -> list[ast.expr]:
    return [part for part in ast.walk(node) if isinstance(part, ast.Compare)]


def _name(node: ast.AST | None) -> str:
    """The last part of the name of what is called, or named."""
    target = node.func if isinstance(node, ast.Call) else node
    return str(getattr(target, "attr", getattr(target, "id", "")))

"""Whether a test that compares the candidate with itself also demands something else.

A candidate whose objects are all alike, or all one, passes a test that asks only whether two of
them are equal. One demand that they differ, or one value of the test's own, is what it fails.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

__all__ = ["is_anchored"]

_DIFFER = (ast.NotEq, ast.IsNot, ast.NotIn)
_DIFFERING = frozenset({"assertNotEqual", "assertIsNot", "assertNotIn", "assertNotAlmostEqual"})


def is_anchored(function: Any) -> bool:
    """Whether a test's source asserts a difference, or compares with a literal."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return False
    return any(map(_demands, ast.walk(tree)))


def _demands(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return any(map(_compares, ast.walk(node.test)))
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    name = node.func.attr
    if name in _DIFFERING:
        return True
    return name.startswith("assert") and len(node.args) > 1 and any(map(_is_literal, node.args[:2]))


def _compares(node: ast.AST) -> bool:
    if not isinstance(node, ast.Compare):
        return False
    sides = [node.left, *node.comparators]
    if any(map(_is_literal, sides)) and not all(map(_is_literal, sides)):
        return True
    return any(isinstance(operator, _DIFFER) for operator in node.ops)


def _is_literal(node: ast.expr) -> bool:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return value is not None

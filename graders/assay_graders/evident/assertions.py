"""Where a Python test asserts something, and how to make exactly that assertion fail.

Every change keeps to one rule: whoever passes the test as it is fails the changed one. So
only statements that are reached whenever the test passes are changed.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence

from assay_graders.evident.literals import Source, Splice, other_value
from assay_graders.evident.named import defining

__all__ = ["Function", "failing", "functions_of"]

Function = ast.FunctionDef | ast.AsyncFunctionDef

_SWALLOWING = ("raises", "suppress", "assertRaises", "assertRaisesRegex", "deprecated_call")
_EQUAL = ("assertEqual", "assertListEqual", "assertDictEqual", "assertTupleEqual", "assertSetEqual")
_OPPOSITES = {
    "assertTrue": "assertFalse",
    "assertIs": "assertIsNot",
    "assertIsNone": "assertIsNotNone",
    "assertIn": "assertNotIn",
    "assertGreater": "assertLessEqual",
    "assertGreaterEqual": "assertLess",
    "assertIsInstance": "assertNotIsInstance",
}
_OPPOSITES |= {opposite: name for name, opposite in _OPPOSITES.items()}
_OPPOSITES["assertNotEqual"] = "assertEqual"


def functions_of(tree: ast.Module) -> dict[tuple[str, ...], Function]:
    """Functions of a module and of its classes by their names; the last of a name counts."""
    found: dict[tuple[str, ...], Function] = {}

    def add(body: Sequence[ast.stmt], above: tuple[str, ...]) -> None:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found[(*above, node.name)] = node
            elif isinstance(node, ast.ClassDef):
                add(node.body, (*above, node.name))

    add(tree.body, ())
    return found


def failing(
    source: Source, function: Function, which: random.Random, how: random.Random
) -> list[Splice]:
    """Replacements that make a test fail: `which` picks the assertion, `how` the values.

    Without an assertion that can be changed, the test fails at its start.
    """
    strong: list[list[Splice]] = []
    weak: list[list[Splice]] = []
    for statement in _reached(function):
        for splices, is_strong in _changes(source, function, statement, how):
            (strong if is_strong else weak).append(splices)
    if strong or weak:
        return which.choice(strong or weak)
    return [_at_the_start(source, function.body[0])]


def _at_the_start(source: Source, first: ast.stmt) -> Splice:
    decorators = getattr(first, "decorator_list", [])
    start, _ = source.span(first)
    if decorators:
        start = source.span(decorators[0])[0] - 1
    if _is_simple(first):
        return start, start, b"assert 0; "
    line = source.content.rfind(b"\n", 0, start) + 1
    return start, start, b"assert 0\n" + source.content[line:start]


def _is_simple(statement: ast.stmt) -> bool:
    compound = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try)
    others = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Match)
    return not isinstance(statement, (*compound, *others))


def _reached(function: Function) -> Iterator[ast.stmt]:
    """Statements that run whenever the test passes: up to the first that may return."""
    yield from _straight(function.body)


def _straight(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            yield statement
            if not any(_swallows(item.context_expr) for item in statement.items):
                yield from _straight(statement.body)
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            yield from _straight(statement.body)
        else:
            yield statement
        if any(isinstance(node, (ast.Return, ast.Break, ast.Continue)) for node in _own(statement)):
            return


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    """The statement and what is in it, but for functions that it defines."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))


def _swallows(context: ast.expr) -> bool:
    return isinstance(context, ast.Call) and _name(context.func) in _SWALLOWING


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _changes(
    source: Source, function: Function, statement: ast.stmt, how: random.Random
) -> Iterator[tuple[list[Splice], bool]]:
    """Ways to make a statement fail, and whether each needs the compared value itself."""
    if isinstance(statement, ast.Assert):
        yield _failing_condition(source, function, statement.test, how)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        yield from _failing_call(source, function, statement.value, how)
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        for item in statement.items:
            if isinstance(item.context_expr, ast.Call):
                yield from _failing_raises(source, item.context_expr, how)


def _failing_condition(
    source: Source, function: Function, test: ast.expr, how: random.Random
) -> tuple[list[Splice], bool]:
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        sides = (test.comparators[0], test.left)
        if isinstance(test.ops[0], (ast.Eq, ast.Is)):
            for side in sides:
                splices = _other_expected(source, function, side, how)
                if splices:
                    return splices, True
        if isinstance(test.ops[0], ast.Eq):
            return [_wrapped(source, _expected_side(*sides))], True
    start, end = source.span(test)
    return [(start, end, b"not (" + source.content[start:end] + b")")], False


def _expected_side(right: ast.expr, left: ast.expr) -> ast.expr:
    """The side that calls nothing, or else the right one."""
    is_called = [any(isinstance(n, ast.Call) for n in ast.walk(side)) for side in (right, left)]
    return left if is_called[0] and not is_called[1] else right


def _other_expected(
    source: Source, function: Function, side: ast.expr, how: random.Random
) -> list[Splice]:
    """Another value for a literal, or for what a name stands for; nothing where neither is."""
    if isinstance(side, ast.Name):
        return _all_other(source, defining(function, side) or [], how)
    if isinstance(side, ast.Call) and _name(side.func) == "approx" and len(side.args) == 1:
        return [] if side.keywords else _all_other(source, side.args, how)
    return _all_other(source, [side], how)


def _all_other(source: Source, nodes: list[ast.expr], how: random.Random) -> list[Splice]:
    """Another value for each of these; nothing if one of them is no literal."""
    splices = [other_value(source, node, how) for node in nodes]
    found = [splice for splice in splices if splice is not None]
    return found if len(found) == len(splices) else []


def _wrapped(source: Source, node: ast.expr) -> Splice:
    start, end = source.span(node)
    return start, end, b"[" + source.content[start:end] + b"]"


def _failing_call(
    source: Source, function: Function, call: ast.Call, how: random.Random
) -> Iterator[tuple[list[Splice], bool]]:
    """An assertion method of unittest."""
    name = _name(call.func)
    if not isinstance(call.func, ast.Attribute) or any(
        isinstance(arg, ast.Starred) for arg in call.args
    ):
        return
    if name in _EQUAL and len(call.args) >= 2:
        for side in (call.args[1], call.args[0]):
            splices = _other_expected(source, function, side, how)
            if splices:
                yield splices, True
                return
        if name == "assertEqual":
            yield [_wrapped(source, _expected_side(call.args[1], call.args[0]))], True
    elif name in _OPPOSITES:
        _, end = source.span(call.func)
        yield [(end - len(name), end, _OPPOSITES[name].encode())], False
    elif name in ("assertRaises", "raises") and len(call.args) >= 2:
        yield from _failing_raises(source, call, how)


def _failing_raises(
    source: Source, call: ast.Call, how: random.Random
) -> Iterator[tuple[list[Splice], bool]]:
    """Expecting an exception: with a text that no exception has."""
    name, unlikely = _name(call.func), f"{how.getrandbits(64):016x}".encode()
    if name == "raises" and len(call.args) == 1 and not call.keywords:
        _, end = source.span(call.args[0])
        yield [(end, end, b', match="' + unlikely + b'"')], False
    elif name == "assertRaises" and call.args and not call.keywords:
        _, end = source.span(call.func)
        _, first = source.span(call.args[0])
        yield [(end, end, b"Regex"), (first, first, b', "' + unlikely + b'"')], False

"""Tests that prove little: every check in them can be met without doing the work."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attrs import frozen

from assay_graders.linting.checks import Check, Kind, checks_of
from assay_graders.linting.origins import Origins, inside, qualified
from assay_graders.linting.sources import Function, TestCode, TestFile

__all__ = ["asserting_helpers", "weakness"]

_MUTABLE = frozenset({"list", "dict", "set", "bytearray", "deque", "defaultdict", "OrderedDict"})
_LONGEST_CHAIN = 20
"""Most helpers that call each other one after the other."""
_WRAPPERS = frozenset({"all", "any", "bool"})
_TYPE_TESTS = frozenset({"isinstance", "issubclass", "hasattr", "callable", "len", "iter"})
_LOOKS_AT_ONE = {"differs-only": 1, "truth-only": 2, "raises-only": 3}
_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


@frozen
class _Place:
    """One test: what its names stand for, and what it does with them."""

    origins: Origins
    values: dict[str, ast.expr]
    """Names that are assigned exactly once."""
    mutable: frozenset[str]
    handed: frozenset[str]
    """Names that are arguments of the candidate."""


def asserting_helpers(file: TestFile) -> frozenset[str]:
    """Functions of a file, not tests themselves, that assert something."""
    functions = {
        node.name: node
        for node in ast.walk(file.tree)
        if isinstance(node, Function) and not node.name.startswith("test")
    }
    found: frozenset[str] = frozenset()
    for _ in range(min(len(functions), _LONGEST_CHAIN)):
        more = frozenset(name for name, node in functions.items() if checks_of(node, found))
        if more == found:
            break
        found = more
    return found


def weakness(test: TestCode, origins: Origins, helpers: frozenset[str]) -> tuple[str, int] | None:
    """The rule that a weak test breaks, and the line; None for one that proves something."""
    checks = checks_of(test.node, helpers)
    if not checks:
        return "no-assertion", test.node.lineno
    place = _place(test, inside(origins, test))
    found = [(_weak_check(check, place), check) for check in checks]
    if any(not rule for rule, _ in found) or _tells_apart([check for _, check in found]):
        return None
    # What compares two values says more about the test than what only looks at one.
    rule, check = min(found, key=lambda item: _LOOKS_AT_ONE.get(item[0], 0))
    return rule, check.line


def _tells_apart(checks: list[Check]) -> bool:
    """Whether a candidate that always does the same would break one of the checks."""
    kinds = {check.kind for check in checks}
    pairs = ((Kind.TRUE, Kind.FALSE), (Kind.SAME, Kind.NOT_SAME), (Kind.EQUAL, Kind.NOT_EQUAL))
    return any(one in kinds and other in kinds for one, other in pairs)


def _weak_check(check: Check, place: _Place) -> str:
    """The rule that a single check breaks, or nothing."""
    if check.kind is Kind.RAISES:
        return "raises-only"
    if check.kind is Kind.OTHER or check.left is None:
        return ""
    theirs = [place.origins.mentions(side) for side in (check.left, check.right)]
    if check.kind in (Kind.TRUE, Kind.FALSE):
        return "truth-only" if theirs[0] and not _is_compared(check.left, place.origins) else ""
    if check.right is None:
        return ""
    if check.kind in (Kind.NOT_EQUAL, Kind.NOT_SAME):
        # Two results that must differ tell a candidate apart that always does the same.
        return "differs-only" if any(theirs) and not all(theirs) else ""
    if check.kind is Kind.SAME:
        return "identity" if all(theirs) else ""
    return _weak_equality(check.left, check.right, place)


def _is_compared(node: ast.expr, origins: Origins) -> bool:
    """Whether a function of others, such as `math.isclose`, gets a value to compare with."""
    while isinstance(node, ast.Call) and qualified(node.func) in _WRAPPERS and node.args:
        inner = node.args[0]
        node = inner.elt if isinstance(inner, (ast.GeneratorExp, ast.ListComp)) else inner
    if not isinstance(node, ast.Call) or qualified(node.func) in _TYPE_TESTS:
        return False
    judge, given = node.func, node.args
    if qualified(judge) == "map" and given:
        judge, given = given[0], given[1:]
    elif isinstance(judge, ast.Attribute) and qualified(judge.value) not in origins.imported:
        # A method of a value of the test's is such a function, and the value is compared with.
        given = [judge.value, *given]
    return not origins.mentions(judge) and not all(origins.mentions(value) for value in given)


def _weak_equality(left: ast.expr, right: ast.expr, place: _Place) -> str:
    if _goes_round(left, right, place) or _goes_round(right, left, place):
        return "round-trip"
    if _shares_argument(left, right, place):
        return "input-as-oracle"
    if place.origins.mentions(left) and place.origins.mentions(right):
        is_object = _is_object(left, place) and _is_object(right, place)
        return "candidate-equality" if is_object else "candidate-as-oracle"
    return ""


def _goes_round(result: ast.expr, plain: ast.expr, place: _Place) -> bool:
    """Whether the result is made of `plain` by two calls of the candidate, one in the other."""
    wanted = ast.dump(plain)
    for outer in place.origins.calls(_written_out(result, place)):
        for argument in (*outer.args, *(keyword.value for keyword in outer.keywords)):
            for inner in place.origins.calls(_written_out(argument, place)):
                given = (*inner.args, *(keyword.value for keyword in inner.keywords))
                if any(ast.dump(value) == wanted for value in given):
                    return True
    return False


def _written_out(node: ast.expr, place: _Place) -> ast.expr:
    """What a name was assigned, if it was assigned once."""
    if isinstance(node, ast.Name):
        return place.values.get(node.id, node)
    return node


def _shares_argument(left: ast.expr, right: ast.expr, place: _Place) -> bool:
    risky = place.mutable & place.handed
    return bool(_loaded(left) & _loaded(right) & risky)


def _loaded(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _is_object(side: ast.expr, place: _Place) -> bool:
    """Whether an expression looks like an instance: a call of a name in capitals."""
    node = _written_out(side, place)
    if not isinstance(node, ast.Call):
        return False
    name = qualified(node.func).rpartition(".")[2].lstrip("_")
    return name[:1].isupper() and (len(name) == 1 or not name.isupper())


def _place(test: TestCode, origins: Origins) -> _Place:
    values: dict[str, ast.expr] = {}
    twice: set[str] = set()
    mutable: set[str] = set()
    handed: set[str] = set()
    for node in ast.walk(test.node):
        for name, value in _stored(node):
            twice |= {name} if name in values else set()
            values[name] = value
            mutable |= {name} if _is_mutable(value) else set()
    for call in origins.calls(test.node):
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            if isinstance(argument, ast.Name):
                handed.add(argument.id)
    once = {name: value for name, value in values.items() if name not in twice}
    return _Place(origins, once, frozenset(mutable), frozenset(handed))


def _stored(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
    elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
        # Of a loop over a display, what it holds tells what the name stands for.
        parts = node.iter.elts if isinstance(node.iter, (ast.List, ast.Tuple)) else []
        yield node.target.id, parts[0] if parts else node.iter


def _is_mutable(value: ast.expr) -> bool:
    if isinstance(value, _DISPLAYS):
        return True
    return isinstance(value, ast.Call) and qualified(value.func).rpartition(".")[2] in _MUTABLE

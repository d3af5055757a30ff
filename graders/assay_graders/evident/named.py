"""Where a test gets an expected value from that its assertion only names.

A name counts that the test uses once: what it stands for is then nothing but the expected value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

__all__ = ["defining"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def defining(function: _Function, name: ast.Name) -> list[ast.expr] | None:
    """All expressions that may be the value of a name; None where that is not certain."""
    uses = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name.id]
    loads = [use for use in uses if isinstance(use.ctx, ast.Load)]
    stores = [use for use in uses if not isinstance(use.ctx, ast.Load)]
    if len(loads) != 1 or _is_declared(function, name.id):
        return None
    arguments = {arg.arg for arg in (*function.args.args, *function.args.kwonlyargs)}
    if name.id in arguments:
        return None if stores else _parameters(function, name.id)
    found = [
        statement.value
        for statement in function.body
        if isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and statement.targets[0] in stores
    ]
    return found if len(found) == len(stores) == 1 else None


def _is_declared(function: _Function, name: str) -> bool:
    """Whether it is a name of the module's, or of the function around this one."""
    return any(
        isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names
        for node in ast.walk(function)
    )


def _parameters(function: _Function, name: str) -> list[ast.expr] | None:
    """The values in the one `parametrize` that gives this argument."""
    givers = [
        (call, names)
        for call in function.decorator_list
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("mark.parametrize")
        for names in [_argument_names(call)]
        if name in names
    ]
    if len(givers) != 1:
        return None
    call, names = givers[0]
    is_plain = not any(keyword.arg != "ids" for keyword in call.keywords)
    if len(call.args) != 2 or not is_plain or not isinstance(call.args[1], (ast.List, ast.Tuple)):
        return None
    values = [_value(row, names, names.index(name)) for row in call.args[1].elts]
    found = [value for value in values if value is not None]
    return found if len(found) == len(values) > 0 else None


def _argument_names(call: ast.Call) -> list[str]:
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return [name.strip() for name in first.value.split(",") if name.strip()]
    return list(_strings(first.elts)) if isinstance(first, (ast.List, ast.Tuple)) else []


def _strings(nodes: Sequence[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _value(row: ast.expr, names: list[str], index: int) -> ast.expr | None:
    if isinstance(row, ast.Call):
        if not ast.unparse(row.func).endswith("pytest.param") or len(row.args) != len(names):
            return None
        return row.args[index]
    if len(names) == 1:
        return row
    if isinstance(row, (ast.Tuple, ast.List)) and len(row.elts) == len(names):
        return row.elts[index]
    return None

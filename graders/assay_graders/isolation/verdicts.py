"""Which exceptions are verdicts of the tests, and which cut a verdict short.

A candidate that may swallow an exception of a test's code must not swallow what the test has
found, nor leave out what it would have found: raising in the middle of a test's function, and
holding that back, would skip every assertion that follows.
"""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
import types
from collections.abc import Iterator

__all__ = ["cuts_short", "is_verdict"]

Place = tuple[int, int]

_HARMLESS = ("CancelledError", "GeneratorExit", "SystemExit", "KeyboardInterrupt")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_LISTS = ("body", "orelse", "handlers", "finalbody")


def is_verdict(error: BaseException) -> bool:
    """Whether an exception says that a test failed or is over, alone or in a group."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(is_verdict, error.exceptions))
    if isinstance(error, AssertionError) or any(map(_is_skip, type(error).__mro__)):
        return True
    return not isinstance(error, Exception) and type(error).__name__ not in _HARMLESS


def _is_skip(kind: type) -> bool:
    # By name: not every driver has imported it.
    return (kind.__module__, kind.__qualname__) == ("unittest.case", "SkipTest")


def cuts_short(error: BaseException, folder: str, block: types.FrameType | None = None) -> bool:
    """Whether code below `folder` that an exception left would still have demanded something.

    What a test raises by a statement of its own is its decision. `block` is the frame of a
    `with` statement whose context holds the exception back: the rest of that frame goes on.
    """
    left = list(_left(error.__traceback__, folder))
    if not left:
        return False
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is not None and last.tb_frame.f_code.co_filename == left[-1][0].f_code.co_filename:
        tree = _tree(left[-1][0].f_code.co_filename)
        if any(isinstance(node, ast.Raise) for node in _around(tree, left[-1][1])):
            return False
    return any(_demands_after(frame, place, block) for frame, place in left)


def _left(
    found: types.TracebackType | None, folder: str
) -> Iterator[tuple[types.FrameType, Place]]:
    while found is not None:
        if found.tb_frame.f_code.co_filename.startswith(folder + "/"):
            yield found.tb_frame, _place(found)
        found = found.tb_next


def _demands_after(frame: types.FrameType, place: Place, block: types.FrameType | None) -> bool:
    tree = _tree(frame.f_code.co_filename)
    around = list(_around(tree, place))
    at = max((i for i, node in enumerate(around) if isinstance(node, _FUNCTIONS)), default=0)
    if frame is block:
        starts = (ast.With, ast.AsyncWith)
        for i, node in enumerate(around):
            if isinstance(node, starts) and node.lineno <= block.f_lineno <= node.body[0].lineno:
                at = i
    helpers = _helpers(frame.f_code.co_filename)
    for node in around[at:]:
        if isinstance(node, _LOOPS) and node is not around[at] and _demands(node, helpers):
            return True
        for name in _LISTS:
            listed = getattr(node, name, None)
            if isinstance(listed, list) and any(part in around for part in listed):
                here = next(i for i, part in enumerate(listed) if part in around)
                if any(_demands(part, helpers) for part in listed[here + 1 :]):
                    return True
    innermost = next(node for node in reversed(around) if isinstance(node, (ast.stmt, ast.Lambda)))
    return not hasattr(innermost, "body") and _demands(innermost, helpers)


def _around(tree: ast.Module, place: Place) -> Iterator[ast.AST]:
    """The nodes that a place is in, from the outermost on."""
    node: ast.AST | None = tree
    while node is not None:
        yield node
        parts = ast.iter_child_nodes(node)
        node = next((part for part in parts if _holds(part, place)), None)


def _holds(node: ast.AST, place: Place) -> bool:
    if not isinstance(node, (ast.stmt, ast.expr, ast.excepthandler)):
        return any(_holds(part, place) for part in ast.iter_child_nodes(node))
    start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return start <= place < end


def _place(found: types.TracebackType) -> Place:
    """Line and column of what raised, or went on raising."""
    code = found.tb_frame.f_code
    line, _, column, _ = next(itertools.islice(code.co_positions(), found.tb_lasti // 2, None))
    return line or found.tb_lineno, column or 0


@functools.cache
def _tree(file: str) -> ast.Module:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])


@functools.cache
def _helpers(file: str) -> frozenset[str]:
    """Functions of a file that demand something: calling one is a demand."""
    return frozenset(
        node.name
        for node in ast.walk(_tree(file))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _demands(node, frozenset())
    )


def _demands(node: ast.AST, helpers: frozenset[str]) -> bool:
    return any(_is_demand(part, helpers) for part in ast.walk(node))


def _is_demand(node: ast.AST, helpers: frozenset[str]) -> bool:
    if isinstance(node, ast.Assert):
        # What must not be reached is no demand on what is left.
        return not (isinstance(node.test, ast.Constant) and not node.test.value)
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return name.startswith("assert") or name in helpers

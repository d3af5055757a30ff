"""Other values for the literals of a test: close to the original, never equal to it."""

from __future__ import annotations

import ast
import random
import string
from collections.abc import Iterator

__all__ = ["Source", "Splice", "other_value"]

Splice = tuple[int, int, bytes]
"""Replace the bytes from the first position up to the second by the third."""

_MOST_NODES = 500


class Source:
    """Bytes of a source file, and positions of syntax nodes in them."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._starts = [0]
        for line in content.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """First position of a node and the position after it."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def spliced(self, splices: list[Splice]) -> bytes:
        """The content with replacements that do not overlap."""
        content = self.content
        for start, end, text in sorted(splices, reverse=True):
            content = content[:start] + text + content[end:]
        return content


def other_value(source: Source, node: ast.expr, chance: random.Random) -> Splice | None:
    """A replacement that gives an expected value another value; None for what is no literal."""
    if sum(1 for _ in ast.walk(node)) > _MOST_NODES:
        return None
    if _is_sum(node):
        return _other_sum(source, node, chance)
    try:
        before = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    leaves = [leaf for leaf in _leaves(node) if leaf.kind is None and _is_plain(source, leaf)]
    chance.shuffle(leaves)
    for leaf in leaves:
        replacement = _other_constant(leaf.value, chance)
        start, end = source.span(leaf)
        if replacement is not None and _differs(source, node, (start, end, replacement), before):
            return start, end, replacement
    return _filled(source, node, chance)


def _leaves(node: ast.expr) -> Iterator[ast.Constant]:
    if isinstance(node, ast.Constant):
        yield node
    elif isinstance(node, ast.UnaryOp):
        yield from _leaves(node.operand)
    elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        for element in node.elts:
            yield from _leaves(element)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from _leaves(value)


def _is_plain(source: Source, leaf: ast.Constant) -> bool:
    """Not several strings beside each other, and no raw or triple-quoted one."""
    if not isinstance(leaf.value, (str, bytes)):
        return True
    start, end = source.span(leaf)
    written = source.content[start:end]
    return written in (repr(leaf.value).encode(), _double_quoted(leaf.value))


def _double_quoted(value: str | bytes) -> bytes:
    if isinstance(value, bytes):
        return b'b"' + repr(value)[2:-1].encode() + b'"'
    return f'"{repr(value)[1:-1]}"'.encode()


def _differs(source: Source, node: ast.expr, splice: Splice, before: object) -> bool:
    start, end = source.span(node)
    first, last, text = splice
    written = source.content[start:first] + text + source.content[last:end]
    try:
        after = ast.literal_eval(written.decode("utf-8").strip())
    except (ValueError, TypeError, SyntaxError):
        return False
    return bool(after != before)


def _other_constant(value: object, chance: random.Random) -> bytes | None:
    if value is None:
        return b"False"
    if isinstance(value, bool):
        return repr(not value).encode()
    if isinstance(value, int):
        return repr(value + chance.randint(1, 9)).encode()
    if isinstance(value, float):
        return repr(value * 3 + chance.randint(2, 9)).encode() if abs(value) < 1e300 else b"1.5"
    if isinstance(value, (str, bytes)):
        return _other_text(value, chance)
    return None


def _other_text(value: str | bytes, chance: random.Random) -> bytes:
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    places = [index for index, char in enumerate(text) if char in string.ascii_letters]
    if places:
        index = chance.choice(places)
        # Another letter, not the same one in another case.
        choices = [c for c in string.ascii_lowercase if c != text[index].lower()]
        text = text[:index] + chance.choice(choices) + text[index + 1 :]
    else:
        text += chance.choice(string.ascii_lowercase)
    return repr(text.encode("latin-1") if isinstance(value, bytes) else text).encode()


def _filled(source: Source, node: ast.expr, chance: random.Random) -> Splice | None:
    """Something in an empty container."""
    start, end = source.span(node)
    number = chance.randint(0, 9)
    if isinstance(node, ast.List) and not node.elts:
        return start, end, f"[{number}]".encode()
    if isinstance(node, ast.Tuple) and not node.elts:
        return start, end, f"({number},)".encode()
    if isinstance(node, ast.Dict) and not node.keys:
        return start, end, f"{{{number}: {number}}}".encode()
    return None


def _is_sum(node: ast.expr) -> bool:
    """Whether it is arithmetic on numbers alone, and at its outermost a sum with a number."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, (ast.Add, ast.Sub))
        and isinstance(node.right, ast.Constant)
        and all(
            isinstance(part, (ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop))
            or (isinstance(part, ast.Constant) and type(part.value) in (int, float))
            for part in ast.walk(node)
        )
    )


def _other_sum(source: Source, node: ast.expr, chance: random.Random) -> Splice | None:
    assert isinstance(node, ast.BinOp)
    assert isinstance(node.right, ast.Constant)
    start, end = source.span(node.right)
    replacement = _other_constant(node.right.value, chance)
    return None if replacement is None else (start, end, replacement)

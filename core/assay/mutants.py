"""Mutants of a change: the same change with one small mistake in it, as text and never on disk.

Made by the operators of mutmut, an optional dependency, on the lines that the change touches. The
choice is a function of the texts and the seed. Nothing here runs a mutant.
"""

from __future__ import annotations

import ast
import difflib
import itertools
import random
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from assay.api import RelPath, RuntimeUnavailable

if TYPE_CHECKING:
    from libcst import CSTNode, Module

__all__ = ["Mutant", "MutantsUnavailable", "make_mutants"]

MAX_SOURCE = 512 * 1024

_Operators = Sequence[tuple[type, Callable[[Any], Iterable["CSTNode"]]]]
"""Kinds of nodes, and what makes mistakes of one."""


class MutantsUnavailable(RuntimeUnavailable):
    """The library that makes mutants is not installed."""

    def __init__(self) -> None:
        super().__init__("mutants need the library mutmut: install assay[mutants]")

    def __reduce__(self) -> tuple[type[MutantsUnavailable], tuple[()]]:
        return type(self), ()


@frozen
class Mutant:
    """One file with one mistake: what the operator did, and in which line."""

    path: RelPath
    line: int
    operator: str
    content: bytes = field(repr=False)


@frozen
class _Spot:
    """Where an operator can be applied, and what it puts there."""

    path: RelPath
    line: int
    operator: str
    module: Module = field(repr=False)
    node: CSTNode = field(repr=False)
    changed: CSTNode = field(repr=False)

    def code(self) -> str:
        """The whole file with the mistake."""
        replaced = self.module.deep_replace(self.node, self.changed)
        return replaced.code if isinstance(replaced, type(self.module)) else ""


def make_mutants(
    before: Mapping[RelPath, bytes],
    after: Mapping[RelPath, bytes],
    *,
    limit: int,
    seed: int,
) -> tuple[Mutant, ...]:
    """At most `limit` mutants of the Python files that differ, spread over the changed lines.

    `before` lacks files that the change adds. Raises MutantsUnavailable.
    """
    operators = _operators()
    texts = {path: text for path in sorted(after) if (text := _readable(path, after[path]))}
    spots = [
        spot
        for path, text in texts.items()
        for spot in _spots(path, text, _changed(before.get(path, b""), text), operators)
    ]
    found: dict[tuple[RelPath, str], Mutant] = {}
    for spot in _spread(spots, random.Random(seed)):
        if len(found) >= limit:
            break
        mutated = spot.code()
        content = mutated.encode()
        # A mistake that undoes the whole change is no mutant of it.
        if content not in (after[spot.path], before.get(spot.path)) and _is_python(mutated):
            mutant = Mutant(spot.path, spot.line, spot.operator, content)
            found.setdefault((spot.path, mutated), mutant)
    return tuple(sorted(found.values(), key=lambda m: (m.path, m.line, m.operator, m.content)))


def _operators() -> _Operators:
    try:
        from mutmut.mutation.mutators import mutation_operators
    except ImportError:
        raise MutantsUnavailable from None
    return mutation_operators


def _readable(path: RelPath, content: bytes) -> str:
    """The text of a Python file that can be mutated, else nothing."""
    if not path.endswith(".py") or len(content) > MAX_SOURCE:
        return ""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return text if _is_python(text) else ""


def _is_python(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _changed(before: bytes, text: str) -> frozenset[int]:
    """Numbers, from 1, of the lines that `before` doesn't have."""
    old, new = before.splitlines(), text.encode("utf-8", "replace").splitlines()
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return frozenset(
        number
        for tag, _, _, first, last in blocks
        if tag != "equal"
        for number in range(first + 1, last + 1)
    )


def _spots(
    path: RelPath, text: str, lines: frozenset[int], operators: _Operators
) -> Iterator[_Spot]:
    import libcst
    from libcst.metadata import MetadataWrapper, PositionProvider

    try:
        wrapper = MetadataWrapper(libcst.parse_module(text), unsafe_skip_copy=True)
        places = wrapper.resolve(PositionProvider)
        for node in _nodes(wrapper.module):
            line = places[node].start.line if node in places else 0
            if line in lines:
                for name, changed in _mistakes(node, operators):
                    yield _Spot(path, line, name, wrapper.module, node, changed)
    except (libcst.ParserSyntaxError, RecursionError):
        return


def _nodes(module: CSTNode) -> Iterator[CSTNode]:
    """What can be mutated: code, without types, decorators, imports and text that stands alone."""
    import libcst

    left_out = (libcst.Annotation, libcst.Decorator, libcst.Import, libcst.ImportFrom)
    waiting: list[CSTNode] = [module]
    while waiting:
        node = waiting.pop()
        is_text = isinstance(node, libcst.Expr) and isinstance(node.value, libcst.BaseString)
        if not is_text and not isinstance(node, left_out):
            yield node
            waiting += reversed(node.children)


def _mistakes(node: CSTNode, operators: _Operators) -> Iterator[tuple[str, CSTNode]]:
    for kind, operator in operators:
        if isinstance(node, kind):
            for changed in operator(node):
                yield getattr(operator, "__name__", "operator").removeprefix("operator_"), changed


def _spread(spots: Sequence[_Spot], chance: random.Random) -> list[_Spot]:
    """All spots in random order, such that few of them touch many lines in many ways."""
    by_line: dict[tuple[RelPath, int], dict[str, list[_Spot]]] = {}
    for spot in spots:
        operators = by_line.setdefault((spot.path, spot.line), {})
        operators.setdefault(spot.operator, []).append(spot)
    lines = [_in_turn(list(found.values()), chance) for found in by_line.values()]
    return _in_turn(lines, chance)


def _in_turn(groups: list[list[_Spot]], chance: random.Random) -> list[_Spot]:
    """One of each group in random order, then the next one of each."""
    chance.shuffle(groups)
    rounds = itertools.zip_longest(*groups)
    return [spot for each in rounds for spot in each if spot is not None]

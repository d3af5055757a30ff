"""Where the values of a test file come from: its imports, and what the candidate made.

A name counts as the candidate's if something of the candidate's was ever assigned to it. That
is meant for reading tests, not for proofs: it never runs anything.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from assay_graders.linting.sources import Function, TestCode

__all__ = ["Origins", "Theirs", "inside", "origins_of", "qualified"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ROUNDS = 4
"""How many steps from one name to the next are followed."""


@frozen
class Theirs:
    """The candidate's modules: top-level names, and what `*` takes of one in isolated mode."""

    tops: frozenset[str]
    exports: Mapping[str, Sequence[str]]


@frozen
class Origins:
    """What the names of one place stand for.

    `imported` maps a name to the dotted name that it was imported as, `made` holds the names
    (`self.x` for attributes of a test class) with something of the candidate's in them.
    """

    imported: dict[str, str]
    made: frozenset[str]
    theirs: Theirs

    def is_candidates(self, name: str) -> bool:
        """Whether a dotted name of an import is in the candidate's modules."""
        return name.partition(".")[0] in self.theirs.tops

    def dotted(self, node: ast.AST) -> str:
        """`os.environ` for an expression that names it, whatever it was imported as."""
        name = qualified(node)
        first, dot, rest = name.partition(".")
        return f"{self.imported[first]}{dot}{rest}" if first in self.imported else name

    def mentions(self, *nodes: ast.AST | None) -> bool:
        """Whether something of the candidate's takes part in an expression."""
        return any(
            self._is_theirs(part) for node in nodes if node is not None for part in ast.walk(node)
        )

    def calls(self, node: ast.AST) -> Iterator[ast.Call]:
        """Calls in an expression that the candidate answers."""
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and self.mentions(part.func):
                yield part

    def _is_theirs(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.made or self.is_candidates(self.imported.get(node.id, ""))
        if isinstance(node, ast.Attribute):
            return qualified(node) in self.made
        return False


def qualified(node: ast.AST) -> str:
    """`a.b.c` for such an expression, else nothing."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def origins_of(tree: ast.Module, theirs: Theirs) -> Origins:
    """The names of a whole file: imports anywhere in it, and helpers that ask the candidate."""
    origins = Origins(dict(_imports(tree, theirs)), frozenset(), theirs)
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    for _ in range(_ROUNDS):
        made = (
            origins.made
            | set(_assigned(origins, _outside_of_functions(tree)))
            | {
                function.name
                for function in functions
                if not function.name.startswith("test") and _gives(origins, function)
            }
        )
        if made == origins.made:
            break
        origins = Origins(origins.imported, frozenset(made), theirs)
    return origins


def inside(origins: Origins, test: TestCode) -> Origins:
    """The names inside of one test: those of the file, of its class, and its own."""
    others = (part for owner in test.owners for part in owner.body if not _is_test(part))
    around = [node for part in others for node in ast.walk(part)]
    within = list(ast.walk(test.node))
    for _ in range(_ROUNDS):
        # Of the other methods only attributes are seen here, and of the class its own names.
        attributes = {_as_attribute(name) for name in _assigned(origins, around)}
        made = origins.made | set(_assigned(origins, within)) | attributes
        if made == origins.made:
            break
        origins = Origins(origins.imported, frozenset(made), origins.theirs)
    return origins


def _is_test(node: ast.stmt) -> bool:
    return isinstance(node, Function) and node.name.startswith("test")


def _imports(tree: ast.Module, theirs: Theirs) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname is None:
                    top = alias.name.partition(".")[0]
                    yield top, top
                else:
                    yield alias.asname, alias.name
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                taken = theirs.exports.get(node.module or "", ()) if alias.name == "*" else ()
                yield from ((name, f"{node.module}.{name}") for name in taken)
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Assign) and (name := _imported_by_call(node.value)):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, name


def _imported_by_call(value: ast.expr) -> str:
    if isinstance(value, ast.Call) and value.args:
        name, first = qualified(value.func).rpartition(".")[2], value.args[0]
        if name in ("import_module", "importorskip", "__import__"):
            text = first.value if isinstance(first, ast.Constant) else None
            return text if isinstance(text, str) else ""
    return ""


def _gives(origins: Origins, function: Function) -> bool:
    local = inside(origins, TestCode("", function))
    for node in ast.walk(function):
        if isinstance(node, (ast.Return, ast.Yield)) and local.mentions(node.value):
            return True
    return False


def _as_attribute(name: str) -> str:
    return name if name.startswith("self.") else f"self.{name}"


def _outside_of_functions(tree: ast.Module) -> list[ast.AST]:
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        found.append(node)
        children = ast.iter_child_nodes(node)
        waiting += [c for c in children if not isinstance(c, (*_FUNCTIONS, ast.ClassDef))]
    return found


def _assigned(origins: Origins, nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        for target, value in _bindings(node):
            if origins.mentions(value):
                yield from _names(target)


def _bindings(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST | None]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield target, node.value
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
        yield node.target, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield node.target, node.iter
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield node.optional_vars, node.context_expr


def _names(target: ast.AST) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and qualified(node).startswith("self."):
            yield qualified(node)

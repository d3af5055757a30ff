"""What `from module import *` gives in a test: the fixture's own names, whatever a candidate has.

Read from source that no candidate wrote, and never run. A name that an import bound is left
out, unless it came from a module of the candidate's: else a candidate could put its own object
in the place of a module of the standard library.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import Protocol

from assay.api import GraderUnfit

__all__ = ["exported_names", "star_exports"]

_MAX_SOURCE_BYTES = 4 * 1024**2
_DEEPEST = 5
_BLOCKS = (ast.If, ast.Try, ast.With, ast.For, ast.While)


class Sources(Protocol):
    """Files of the suite; each raises GraderUnfit for one that is absent or above `cap`."""

    def hidden_file(self, path: str, cap: int) -> bytes: ...

    def fixture_file(self, path: str, cap: int) -> bytes: ...


def star_exports(
    sources: Sources,
    tests: tuple[str, ...],
    *,
    hidden: bool,
    roots: tuple[str, ...],
    modules: dict[str, bool],
) -> dict[str, list[str]]:
    """Names by module, for those modules that a test file imports with `*`."""
    read = sources.hidden_file if hidden else sources.fixture_file
    found: dict[str, list[str]] = {}
    for test in tests:
        try:
            source = read(test, _MAX_SOURCE_BYTES)
        except GraderUnfit:
            # Too large to look at: what it imports with `*` is refused.
            continue
        for module in _starred(source):
            if module in modules and module not in found:
                names = _Fixture(sources, roots, modules).names(module, 0)
                if names is not None:
                    found[module] = sorted(names)
    return found


def exported_names(source: bytes, modules: dict[str, bool], module: str) -> set[str] | None:
    """Names that a source exports by itself; None if it can't be read."""
    tree = _parsed(source)
    return None if tree is None else _allowed(_Names(module, modules).of(tree))


class _Fixture:
    def __init__(self, sources: Sources, roots: tuple[str, ...], modules: dict[str, bool]) -> None:
        self._sources = sources
        self._roots = roots
        self._modules = modules

    def names(self, module: str, depth: int) -> set[str] | None:
        """What a module of the fixture exports, with what it imports by `*` from others."""
        source = self._source(module)
        tree = None if source is None or depth > _DEEPEST else _parsed(source)
        if tree is None:
            return None
        names = _Names(module, self._modules)
        found = names.of(tree)
        if not names.is_listed:
            for other in names.starred:
                found |= self.names(other, depth + 1) or set()
        return _allowed(found)

    def _source(self, module: str) -> bytes | None:
        path = module.replace(".", "/")
        for root in self._roots:
            folder = "" if root == "." else f"{root}/"
            for file in (f"{folder}{path}.py", f"{folder}{path}/__init__.py"):
                try:
                    return self._sources.fixture_file(file, _MAX_SOURCE_BYTES)
                except GraderUnfit:
                    continue
        return None


class _Names:
    """The names that statements of a module bind; `starred` are modules that it takes all of."""

    def __init__(self, module: str, modules: dict[str, bool]) -> None:
        self._module = module
        self._modules = modules
        self.starred: list[str] = []
        self.is_listed = False

    def of(self, tree: ast.Module) -> set[str]:
        bound = {name for statement in tree.body for name in self._bound(statement)}
        foreign = {name for statement in ast.walk(tree) for name in self._foreign(statement)}
        listed = _listed(tree)
        self.is_listed = listed is not None
        return (bound if listed is None else listed) - foreign

    def _bound(self, statement: ast.AST) -> Iterator[str]:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield statement.name
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))
        elif isinstance(statement, ast.ImportFrom) and self._origin(statement) in self._modules:
            if any(alias.name == "*" for alias in statement.names):
                self.starred.append(self._origin(statement))
            else:
                yield from (alias.asname or alias.name for alias in statement.names)
        elif isinstance(statement, _BLOCKS):
            for inner in ast.iter_child_nodes(statement):
                yield from self._bound(inner)
        elif isinstance(statement, ast.ExceptHandler):
            for inner in statement.body:
                yield from self._bound(inner)

    def _foreign(self, statement: ast.AST) -> Iterator[str]:
        if isinstance(statement, ast.Import):
            yield from (alias.asname or alias.name.split(".")[0] for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            origin = self._origin(statement)
            if origin not in self._modules:
                yield from (alias.asname or alias.name for alias in statement.names)

    def _origin(self, statement: ast.ImportFrom) -> str:
        if not statement.level:
            return statement.module or ""
        is_package = self._modules.get(self._module, False)
        parts = self._module.split(".")
        parts = parts[: len(parts) - statement.level + is_package]
        return ".".join([*parts, *([statement.module] if statement.module else [])])


def _parsed(source: bytes) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _starred(source: bytes) -> Iterator[str]:
    for node in ast.walk(_parsed(source) or ast.Module(body=[], type_ignores=[])):
        if isinstance(node, ast.ImportFrom) and not node.level and node.names[0].name == "*":
            yield node.module or ""


def _listed(tree: ast.Module) -> set[str] | None:
    """What `__all__` lists, if it is one literal list."""
    found = None
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in statement.targets
        ):
            try:
                found = ast.literal_eval(statement.value)
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                return None
    if not isinstance(found, (list, tuple)):
        return None
    return {name for name in found if isinstance(name, str)}


def _allowed(names: set[str]) -> set[str]:
    return {
        name
        for name in names
        if name.isidentifier()
        and not name.startswith(("_", "pytest"))
        and not hasattr(builtins, name)
    }

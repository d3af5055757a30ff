"""Test files as syntax trees, whatever is in them, and the tests that pytest would collect."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping

from attrs import field, frozen

__all__ = ["Function", "TestCode", "TestFile", "Unreadable", "parse"]

MAX_BYTES = 1024**2
MAX_NODES = 200_000
_LONGEST_LINE = 20
"""Most test cases that derive from each other one after the other."""

Function = ast.FunctionDef | ast.AsyncFunctionDef

_ALLOWED = re.compile(
    r"#\s*assay:\s*allow\s+(?P<rules>[a-z]+(?:-[a-z]+)*(?:\s*,\s*[a-z]+(?:-[a-z]+)*)*)"
    r"\s*:\s*(?P<why>\S.{0,199})"
)


class Unreadable(Exception):
    """The content is no Python that can be judged; the text says why, without quoting it."""


@frozen
class TestCode:
    """One test function; `name` as ids have it, without file and parameters.

    `owners` are its class, if it has one, and that class's bases in the same file.
    """

    __test__ = False

    name: str
    node: Function
    owners: tuple[ast.ClassDef, ...] = ()


@frozen
class TestFile:
    """A parsed test file; `inherits` are names of classes that may have tests of other files."""

    __test__ = False

    tree: ast.Module
    tests: tuple[TestCode, ...]
    inherits: frozenset[str]
    lines: tuple[str, ...] = field(repr=False)

    def excuse(self, rule: str, *lines: int) -> str:
        """Why the author keeps what a rule finds on one of these lines; empty if unsaid."""
        for line in lines:
            text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
            match = _ALLOWED.search(text)
            if match is not None and rule in re.split(r"\s*,\s*", match["rules"]):
                return match["why"].strip()
        return ""


def parse(content: bytes, *, cases_only: bool = False) -> TestFile:
    """Parse one file; raises Unreadable. With `cases_only`, only test cases hold tests."""
    if len(content) > MAX_BYTES:
        raise Unreadable(f"larger than {MAX_BYTES} bytes")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(content)
    except SyntaxError as error:
        raise Unreadable(f"syntax error in line {error.lineno or 0}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(f"not to be parsed ({type(error).__name__})") from None
    if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
        raise Unreadable("too much code to look at")
    lines = tuple(line.decode("utf-8", "replace") for line in content.splitlines())
    return TestFile(
        tree=tree,
        tests=tuple(_tests(tree, cases_only=cases_only)),
        inherits=frozenset(_inheriting(tree)),
        lines=lines,
    )


def _tests(tree: ast.Module, *, cases_only: bool) -> Iterator[TestCode]:
    cases = _cases(tree)
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for prefix, owner, node in _definitions(tree):
        if not isinstance(node, Function) or not node.name.startswith("test"):
            continue
        is_case = owner is not None and owner.name in cases
        if is_case or not (cases_only or (owner is not None and not _is_collected(owner))):
            yield TestCode("::".join((*prefix, node.name)), node, _owners(owner, classes))


def _owners(
    owner: ast.ClassDef | None, classes: Mapping[str, ast.ClassDef]
) -> tuple[ast.ClassDef, ...]:
    found = [] if owner is None else [owner]
    for known in found:
        bases = (classes.get(_base_name(base)) for base in known.bases)
        found += [base for base in bases if base is not None and base not in found]
    return tuple(found)


def _cases(tree: ast.Module) -> frozenset[str]:
    """Names of test cases, those that derive from another one of the file included."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    found: frozenset[str] = frozenset()
    for _ in range(min(len(classes), _LONGEST_LINE)):
        more = frozenset(
            node.name
            for node in classes
            if any(_base_name(base).endswith("TestCase") for base in node.bases)
            or any(_base_name(base) in found for base in node.bases)
        )
        if more == found:
            break
        found = more
    return found


def _is_collected(node: ast.ClassDef) -> bool:
    """Whether pytest looks for tests in a class that is no test case."""
    own_start = any(isinstance(part, Function) and part.name == "__init__" for part in node.body)
    return node.name.startswith("Test") and not own_start


def _inheriting(tree: ast.Module) -> Iterator[str]:
    for prefix, _, node in _definitions(tree):
        if isinstance(node, ast.ClassDef) and any(not _is_plain(base) for base in node.bases):
            yield "::".join((*prefix, node.name))


def _is_plain(base: ast.expr) -> bool:
    return _base_name(base) in ("object", "TestCase", "IsolatedAsyncioTestCase")


def _base_name(base: ast.expr) -> str:
    return base.attr if isinstance(base, ast.Attribute) else str(getattr(base, "id", ""))


def _definitions(
    tree: ast.Module,
) -> Iterator[tuple[tuple[str, ...], ast.ClassDef | None, ast.stmt]]:
    """Functions and classes where tests are looked for: not inside of functions."""
    waiting: list[tuple[tuple[str, ...], ast.ClassDef | None, ast.AST]] = [((), None, tree)]
    while waiting:
        prefix, owner, place = waiting.pop()
        for child in ast.iter_child_nodes(place):
            if isinstance(child, Function):
                yield prefix, owner, child
            elif isinstance(child, ast.ClassDef):
                yield prefix, owner, child
                waiting.append(((*prefix, child.name), child, child))
            elif isinstance(child, (ast.If, ast.Try, ast.With)):
                waiting.append((prefix, owner, child))

"""Which modules of the graded tree are the candidate's, and what each jail's tree lacks."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from attrs import frozen

from assay.api import ChangeSet, EntryKind, Op, RelPath, Task, TreeManifest

__all__ = [
    "SplitFiles",
    "SplitTree",
    "fixture_paths",
    "import_roots",
    "modules_below",
    "split_files",
    "split_tree",
]

_CODE = (".py", ".pyc", ".so", ".pth")


@frozen
class SplitFiles:
    """`code` are the candidate's files, each with its path below each of the roots.

    The driver's tree lacks all code below the roots and whatever the candidate changed, the
    worker's lacks the tests.
    """

    code: tuple[tuple[RelPath, str], ...]
    driver_lacks: tuple[RelPath, ...]
    worker_lacks: tuple[RelPath, ...]


@frozen
class SplitTree:
    """`modules` maps dotted names to whether they are packages; the rest are paths to leave out.

    `tops` are the top-level names among them that are not only the candidate's addition.
    """

    modules: dict[str, bool]
    tops: tuple[str, ...]
    driver_lacks: tuple[RelPath, ...]
    worker_lacks: tuple[RelPath, ...]


def split_files(
    tree: TreeManifest,
    changes: ChangeSet,
    task: Task,
    roots: tuple[str, ...],
    tests: tuple[str, ...],
    suffixes: tuple[str, ...],
) -> SplitFiles:
    """Split a grading tree; `tests` are those of its files that this grader runs."""
    files = [entry.path for entry in tree.entries if entry.kind is EntryKind.FILE]
    code = tuple(_code(files, roots, tests, suffixes))
    changed = {change.path for change in changes.changes} & set(files)
    all_tests = {*tests, *_visible_tests(task)} & {str(path) for path in files}
    return SplitFiles(
        code=code,
        driver_lacks=tuple(sorted({path for path, _ in code} | changed)),
        worker_lacks=tuple(sorted(path for path in files if str(path) in all_tests)),
    )


def split_tree(
    tree: TreeManifest,
    changes: ChangeSet,
    task: Task,
    roots: tuple[str, ...],
    tests: tuple[str, ...],
) -> SplitTree:
    """Split a grading tree by Python's modules."""
    split = split_files(tree, changes, task, roots, tests, _CODE)
    modules: dict[str, bool] = {}
    tops: set[str] = set()
    added = {change.path for change in changes.changes if change.op is Op.ADDED}
    for path, inside in split.code:
        for name, is_package in _names(inside):
            modules[name] = modules.get(name, False) or is_package
            tops |= set() if path in added else {name.partition(".")[0]}
    return SplitTree(
        modules=modules,
        tops=tuple(sorted(tops)),
        driver_lacks=split.driver_lacks,
        worker_lacks=split.worker_lacks,
    )


def fixture_paths(tree: TreeManifest, changes: ChangeSet) -> frozenset[str]:
    """Paths of the fixture, of which a candidate made a tree by these changes."""
    added = {str(change.path) for change in changes.changes if change.op is Op.ADDED}
    deleted = {str(change.path) for change in changes.changes if change.op is Op.DELETED}
    return frozenset({str(entry.path) for entry in tree.entries} - added | deleted)


def import_roots(named: tuple[str, ...], task: Task, paths: Iterable[str]) -> tuple[str, ...]:
    """Folders of the code under test: as a grader or the task names them, or `src` and the top.

    `paths` are the fixture's, so that no candidate has a say in it.
    """
    if named or task.roots:
        return named or task.roots
    return ("src", ".") if any(path.startswith("src/") for path in paths) else (".",)


def modules_below(
    paths: Iterable[RelPath], roots: tuple[str, ...], tests: tuple[str, ...]
) -> dict[str, bool]:
    """The modules that files below the roots make: dotted names, and whether it is a package."""
    modules: dict[str, bool] = {}
    for _, inside in _code(paths, roots, tests, _CODE):
        for name, is_package in _names(inside):
            modules[name] = modules.get(name, False) or is_package
    return modules


def _code(
    paths: Iterable[RelPath],
    roots: tuple[str, ...],
    tests: tuple[str, ...],
    suffixes: tuple[str, ...],
) -> Iterator[tuple[RelPath, str]]:
    """Code under test, with its path below each root."""
    for path in paths:
        for inside in _below_roots(path, roots):
            if path.endswith(suffixes) and not _belongs_to_tests(path, roots, tests):
                yield path, inside


def _below_roots(path: str, roots: Iterable[str]) -> Iterator[str]:
    for root in roots:
        if root == ".":
            yield path
        elif path.startswith(f"{root}/"):
            yield path[len(root) + 1 :]


def _belongs_to_tests(path: str, roots: tuple[str, ...], tests: tuple[str, ...]) -> bool:
    """A test, or a helper in or below a test's folder; a root is no test's folder."""
    folders = {posixpath.dirname(test) for test in tests} - {"" if r == "." else r for r in roots}
    return path in tests or any(path.startswith(f"{folder}/") for folder in folders if folder)


def _names(inside: str) -> Iterator[tuple[str, bool]]:
    """The module of a file and the packages above it."""
    *folders, file = inside.split("/")
    stem, suffix = posixpath.splitext(file)
    if suffix != ".py" or not all(part.isidentifier() for part in (*folders, stem)):
        return
    for depth in range(1, len(folders) + 1):
        yield ".".join(folders[:depth]), True
    if stem != "__init__":
        yield ".".join([*folders, stem]), False


def _visible_tests(task: Task) -> Iterator[str]:
    for spec in task.graders:
        tests = spec.options.get("tests", ())
        if not spec.options.get("hidden", False) and isinstance(tests, (list, tuple)):
            yield from (test for test in tests if isinstance(test, str))

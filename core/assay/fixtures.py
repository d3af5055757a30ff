"""Fixture copies: work on a fresh equal copy, and the source is proven unchanged on exit.

Leaving always checks the source and removes the copy, whatever happened before. Of several
errors the gravest is raised: contamination, then a failed removal, then the operation's own;
the others stay behind it as causes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from assay.api import (
    AssayError,
    Contaminated,
    Copier,
    CopierUnsupported,
    Digest,
    Hasher,
    Task,
    TreeManifest,
    Workspace,
)
from assay.plugins import Registry
from assay.tree import tree_manifest

__all__ = [
    "UNREADABLE",
    "FixtureTask",
    "SourceGuard",
    "fixture_copy",
    "leave",
    "with_fixture_copy",
]

T = TypeVar("T")

UNREADABLE = "unreadable"


class FixtureTask(Protocol):
    """What `fixture_copy` needs of a task."""

    @property
    def task(self) -> Task: ...

    @property
    def fixture(self) -> str:
        """The fixture's folder on this host."""
        ...


class SourceGuard:
    """Digest of a source fixture before it is used, to be checked again afterwards.

    Raises what `tree_manifest` raises when the fixture can't be used at all.
    """

    def __init__(self, task_id: str, folder: str, hasher: Hasher) -> None:
        self._task_id = task_id
        self._folder = folder
        self._hasher = hasher
        self.manifest: TreeManifest = tree_manifest(folder, hasher)

    @property
    def before(self) -> Digest:
        """The digest that the source must keep."""
        return self.manifest.ref.digest

    def check(self) -> Digest:
        """Digest of the source now; raises Contaminated if it changed or can't be read."""
        try:
            after = tree_manifest(self._folder, self._hasher).ref.digest
        except (AssayError, OSError) as error:
            raise Contaminated(self._task_id, self.before, UNREADABLE) from error
        if after != self.before:
            raise Contaminated(self._task_id, self.before, after)
        return after


def leave(steps: tuple[Callable[[], object], ...], error: BaseException | None) -> None:
    """Take every step whatever the earlier ones raise, then raise the gravest error.

    `steps` are in rising order of gravity of what they raise, above `error`; each error has
    the next lower one as its cause. Returns only if there was none.
    """
    for step in steps:
        try:
            step()
        except BaseException as graver:
            error = _above(graver, error)
    if error is not None:
        raise error


def _above(graver: BaseException, lower: BaseException | None) -> BaseException:
    if lower is None:
        return graver
    last = graver
    while last is not lower and last.__cause__ is not None:
        last = last.__cause__
    if last is not lower:
        last.__cause__ = lower
    return graver


@contextmanager
def fixture_copy(task: FixtureTask, *, copier: Copier | None = None) -> Iterator[Path]:
    """A fresh copy of the task's fixture, equal to it; removed when the block ends.

    Yields the copy's folder. The block is not entered unless the copy is complete: then
    NoSpace, CopyFailed or CopyMismatch is raised and nothing is left. On leaving, raises
    Contaminated when the source changed, CleanupFailed when the copy could not be removed,
    else whatever the block raised.
    """
    registry = Registry()
    hasher: Hasher = registry.load("assay.hashers", "assay-tree-v1")()
    chosen: Copier = copier or registry.load("assay.copiers", "copy")()
    scratch = tempfile.gettempdir()
    support = chosen.supports(scratch)
    if not support.ok or not chosen.host_visible:
        raise CopierUnsupported(support.reason or "the copier gives no folder on this host")
    guard = SourceGuard(task.task.id, task.fixture, hasher)
    workspace: Workspace | None = None
    error: BaseException | None = None
    try:
        prepared = chosen.prepare(task.fixture, guard.manifest, None)
        workspace = chosen.open(prepared, scratch, hasher=hasher)
        yield Path(workspace.host_path or "")
    except BaseException as raised:
        error = raised
    leave((workspace.close if workspace else _nothing, guard.check), error)


def with_fixture_copy(
    task: FixtureTask, operation: Callable[[Path], T], *, copier: Copier | None = None
) -> T:
    """Result of `operation` on a fresh copy; raises what `fixture_copy` raises."""
    with fixture_copy(task, copier=copier) as workspace:
        return operation(workspace)


def _nothing() -> None:
    """There is no copy to remove."""

"""Fixture copies: work on a fresh equal copy, and the source is proven unchanged on exit.

Leaving always checks the source and removes the copy, whatever happened before. Of several
errors the gravest is raised: contamination, then a failed removal, then the operation's own;
the others stay behind it as causes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from assay.api import (
    AssayError,
    CleanupFailed,
    Contaminated,
    Copier,
    CopierUnsupported,
    Digest,
    Hasher,
    InvalidInput,
    NoSpace,
    RelPath,
    SourceCheck,
    Stat,
    Task,
    TreeManifest,
    Workspace,
)
from assay.plugins import Registry
from assay.tree import scan_folder
from assay.witness import Witness, moved, take_witness

__all__ = [
    "UNREADABLE",
    "FixtureTask",
    "Source",
    "SourceGuard",
    "fixture_copy",
    "leave",
    "with_fixture_copy",
]

T = TypeVar("T")

UNREADABLE = "unreadable"
FULL_FILES = 5_000
FULL_BYTES = 64 * 1024**2
"""Up to these, a fixture is digested before and after each trial."""


class FixtureTask(Protocol):
    """What `fixture_copy` needs of a task."""

    @property
    def task(self) -> Task: ...

    @property
    def fixture(self) -> str:
        """The fixture's folder on this host."""
        ...


class Source:
    """A source fixture that is looked at again and again, by one process.

    Raises what `tree_manifest` raises when the fixture can't be used at all. A tree that is
    small is digested at each look; of a larger one a witness is compared, and it is digested
    only when that differs, proves nothing yet, or when a digest is asked for.
    """

    def __init__(self, task_id: str, folder: str, hasher: Hasher) -> None:
        self.task_id = task_id
        self._folder = folder
        self._hasher = hasher
        self._witness: Witness | None = None
        self._stats: Sequence[Stat] = ()
        self.touched: tuple[RelPath, ...] = ()
        """Files that moved between the last two digests, though these are equal."""
        self.manifest: TreeManifest = self._digested()

    @property
    def is_large(self) -> bool:
        """Whether digesting it twice for each trial would cost too much."""
        return _is_large(self.manifest)

    def look(self, *, digest: bool = False) -> None:
        """Bring `manifest` up to date, if need be by a digest. Raises as the constructor."""
        self.touched = ()
        if digest or not self.is_large or not self._is_untouched():
            self.manifest = self._digested()

    def _is_untouched(self) -> bool:
        now = take_witness(self._folder, self.manifest)
        return self._witness is not None and now is not None and now.seen == self._witness.seen

    def _digested(self) -> TreeManifest:
        scan = scan_folder(self._folder, self._hasher)
        if scan.manifest is None:
            raise InvalidInput("tree: the hasher refused an entry without naming it")
        same = bool(self._stats) and scan.manifest.ref == self.manifest.ref
        self.touched = moved(self._stats, scan.witness) if same else ()
        self._stats = scan.witness
        self._witness = self._witnessed(scan.manifest) if _is_large(scan.manifest) else None
        return scan.manifest

    def _witnessed(self, manifest: TreeManifest) -> Witness | None:
        """A witness that belongs to the digest: of files that did not move since it was made."""
        witness = take_witness(self._folder, manifest)
        if witness is None or not witness.settled:
            return None
        digested = {
            stat.path: (stat.device, stat.inode, stat.size, stat.mtime_ns, stat.ctime_ns)
            for stat in self._stats
        }
        same = all(witness.seen.get(path) == seen for path, seen in digested.items())
        return witness if same and digested else None


class SourceGuard:
    """Digest of a source fixture before it is used, to be checked again afterwards.

    With a `source` that was known before, a large fixture is not digested each time. Raises
    what `tree_manifest` raises when the fixture can't be used at all.
    """

    def __init__(
        self, task_id: str, folder: str, hasher: Hasher, source: Source | None = None
    ) -> None:
        self._source = source or Source(task_id, folder, hasher)
        self._task_id = task_id
        self.touched: tuple[RelPath, ...] = ()
        """Files that were touched while their content stayed, or was restored: advisory."""
        if source is not None:
            source.look()
            self.touched = source.touched
        self.manifest: TreeManifest = self._source.manifest
        # By the fixture's size alone, so that it is the same in every run.
        large = source is not None and source.is_large
        self.source_check = SourceCheck.WITNESS if large else SourceCheck.FULL

    @property
    def before(self) -> Digest:
        """The digest that the source must keep."""
        return self.manifest.ref.digest

    def check(self, *, digest: bool = False) -> Digest:
        """Digest of the source now; raises Contaminated if it changed or can't be read.

        NoSpace, when this process has no descriptor left to read it with, accuses nobody.

        `digest` asks for one whatever the size, after a failure say.
        """
        try:
            self._source.look(digest=digest)
        except NoSpace:
            raise
        except (AssayError, OSError) as error:
            raise Contaminated(self._task_id, self.before, UNREADABLE) from error
        self.touched = tuple(sorted({*self.touched, *self._source.touched}))
        after = self._source.manifest.ref.digest
        if after != self.before:
            raise Contaminated(self._task_id, self.before, after)
        return after


def _is_large(manifest: TreeManifest) -> bool:
    return manifest.files > FULL_FILES or manifest.bytes > FULL_BYTES


def leave(steps: tuple[Callable[[], object], ...], error: BaseException | None) -> None:
    """Take every step whatever the earlier ones raise, then raise the gravest error.

    Contamination is the gravest, then a failed removal, then any other: of these the later
    one. Each error has the next lower one as its cause. Returns only if there was none.
    """
    errors = [] if error is None else [error]
    for step in steps:
        try:
            step()
        except BaseException as raised:
            errors.append(raised)
    gravest: BaseException | None = None
    for found in sorted(errors, key=_gravity):
        gravest = _above(found, gravest)
    if gravest is not None:
        raise gravest


def _gravity(error: BaseException) -> int:
    return 2 if isinstance(error, Contaminated) else int(isinstance(error, CleanupFailed))


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

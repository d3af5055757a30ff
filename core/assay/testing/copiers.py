"""What every copier must do: equal workspaces or none, edits as a set, and nothing left."""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from attrs import frozen

from assay.api import (
    AssayError,
    CandidateMalformed,
    Copier,
    CopyFailed,
    CopyMismatch,
    Edits,
    FileWrite,
    Hasher,
    Op,
    Prepared,
    RelPath,
    Store,
    TreeLimit,
    UsageError,
    Workspace,
)
from assay.api.changes import edited_manifest
from assay.api.files import open_root, opened

__all__ = ["CopierConformance"]

_LARGE = b"x" * 2_500_000


@frozen
class _Made:
    """A prepared tree, and where workspaces of it are made."""

    source: Path
    scratch: Path
    prepared: Prepared


class CopierConformance(ABC):
    """Subclass it with a name that starts with `Test`; give `copier` and `hasher`."""

    @abstractmethod
    def copier(self) -> Copier:
        """The copier under test; it must work in a temporary folder of this host."""

    @abstractmethod
    def hasher(self) -> Hasher:
        """The hasher of the trees."""

    def store(self, place: Path) -> Store | None:
        """A store in an empty folder, for copiers that need one."""
        return None

    @contextmanager
    def made(self) -> Iterator[_Made]:
        """A small tree, prepared. What is left of workspaces at the end is an error."""
        with tempfile.TemporaryDirectory(prefix="assay-conformance-") as name:
            source, scratch = Path(name) / "source", Path(name) / "scratch"
            for folder in (source / "d/e", source / "empty", scratch, Path(name) / "store"):
                folder.mkdir(parents=True)
            (source / "d/e/run").write_bytes(b"#!")
            (source / "d/e/run").chmod(0o755)
            (source / "d/f").write_bytes(b"1")
            (source / "large").write_bytes(_LARGE)
            assert self.copier().supports(str(scratch)).ok
            with opened(open_root(source)) as root:
                manifest = self.hasher().scan(root).manifest
                assert manifest is not None
            prepared = self.copier().prepare(
                str(source), manifest, self.store(Path(name) / "store")
            )
            before = sorted(os.listdir(scratch))
            yield _Made(source, scratch, prepared)
            assert sorted(os.listdir(scratch)) == before

    def opened(self, made: _Made) -> Workspace:
        """A fresh workspace."""
        return self.copier().open(made.prepared, str(made.scratch), hasher=self.hasher())

    def test_a_workspace_is_equal_and_its_own(self) -> None:
        with self.made() as made, self.opened(made) as first, self.opened(made) as second:
            for workspace in (first, second):
                assert workspace.base == made.prepared.manifest
                frozen = workspace.freeze(self.hasher())
                assert frozen.change_set.changes == ()
                assert frozen.change_set.result == made.prepared.manifest.ref
                assert frozen.read(RelPath("d/f"), 1) == b"1"
            first.put(_edits({"d/f": b"2"}))
            assert second.freeze(self.hasher()).read(RelPath("d/f"), 1) == b"1"
            assert (made.source / "d/f").read_bytes() == b"1"
            assert (first.host_path is not None) is self.copier().host_visible

    def test_edits_give_exactly_the_edited_tree(self) -> None:
        with self.made() as made, self.opened(made) as workspace:
            edits = _edits({"d/e": b"a file now", "new/f": b"n\0", "d/f": b"2"}, "large")
            workspace.put(edits)
            frozen = workspace.freeze(self.hasher())
            expected = edited_manifest(made.prepared.manifest, edits, self.hasher())
            assert frozen.change_set.result == expected.ref
            assert [(c.path, c.op, c.binary) for c in frozen.change_set.changes] == [
                ("d/e", Op.KIND, False),
                ("d/e/run", Op.DELETED, False),
                ("d/f", Op.MODIFIED, False),
                ("large", Op.DELETED, False),
                ("new/f", Op.ADDED, True),
            ]
            assert frozen.read(RelPath("new/f"), 2) == b"n\0"
            with _raises(TreeLimit):
                frozen.read(RelPath("new/f"), 1)

    def test_edits_that_break_a_rule_change_nothing(self) -> None:
        with self.made() as made, self.opened(made) as workspace:
            for wrong in ({"ok": b"", "build/x": b""}, {"ok": b"", "D": b""}):
                with _raises(CandidateMalformed):
                    workspace.put(_edits(wrong))
            assert workspace.freeze(self.hasher()).change_set.changes == ()

    def test_leases_keep_others_away(self) -> None:
        with self.made() as made:
            workspace = self.opened(made)
            lease = workspace.lease()
            for use in (lambda: workspace.put(_edits({})), lambda: workspace.freeze(self.hasher())):
                with _raises(UsageError):
                    use()
            lease.release()
            lease.release()
            workspace.put(_edits({"d/f": b"2"}))
            workspace.close()
            workspace.close()
            with _raises(UsageError):
                workspace.freeze(self.hasher())

    def test_a_source_that_differs_is_never_copied(self) -> None:
        with self.made() as made, tempfile.TemporaryDirectory(prefix="assay-conformance-") as name:
            (made.source / "d/f").write_bytes(b"9")
            manifest = made.prepared.manifest
            with _raises(CopyMismatch):
                prepared = self.copier().prepare(str(made.source), manifest, self.store(Path(name)))
                self.copier().open(prepared, str(made.scratch), hasher=self.hasher())

    def test_a_scratch_that_is_absent_is_a_failed_copy(self) -> None:
        with self.made() as made:
            assert not self.copier().supports(str(made.scratch / "absent")).ok
            if self.copier().host_visible:
                with _raises(CopyFailed):
                    self.copier().open(
                        made.prepared, str(made.scratch / "absent"), hasher=self.hasher()
                    )


def _edits(writes: dict[str, bytes], *deletes: str) -> Edits:
    made = {RelPath(path): FileWrite(content) for path, content in writes.items()}
    return Edits(made, tuple(map(RelPath, deletes)))


@contextmanager
def _raises(kind: type[AssayError]) -> Iterator[None]:
    with _pytest().raises(kind):
        yield


def _pytest() -> ModuleType:
    import pytest

    return pytest

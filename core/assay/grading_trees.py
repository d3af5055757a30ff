"""The grading tree of one trial, and variants of it.

Each is a fresh workspace made of a pristine tree and the permitted changes, and proven to be
exactly that before anything is mounted from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import attrs
from attrs import define, field, frozen

from assay.api import (
    ChangeSet,
    Copier,
    CopyFailed,
    Edits,
    EntryKind,
    FileWrite,
    Frozen,
    Hasher,
    HostIds,
    Prepared,
    RelPath,
    TreeManifest,
    Workspace,
)
from assay.api.changes import ancestors, edited_manifest

__all__ = ["GradingTrees"]


@frozen
class _Variant:
    leave_out: frozenset[RelPath] = frozenset()
    restore: frozenset[RelPath] = frozenset()
    put: tuple[tuple[RelPath, bytes], ...] = ()


@define
class GradingTrees:
    """Makes workspaces with the permitted `edits`; whoever owns `opened` closes them all.

    `timed` is entered around each `copy` and `freeze`. Every method raises CopyFailed, NoSpace or
    CopyMismatch.
    """

    copier: Copier
    prepared: Prepared
    scratch: str
    hasher: Hasher
    ids: HostIds | None
    edits: Edits
    opened: list[Workspace]
    timed: Callable[[str], AbstractContextManager[None]]
    _made: dict[_Variant, Workspace] = field(factory=dict)

    def whole(self) -> tuple[TreeManifest, ChangeSet]:
        """Make the grading tree: what is in it, and what that changes in the fixture."""
        return self._make(_Variant())

    def at_rest(self) -> Frozen:
        """The grading tree, scanned again; no jail may hold it."""
        return self._made[_Variant()].freeze(self.hasher)

    def of_trusted(self, prepared: Prepared) -> GradingTrees:
        """The same for a tree of which no candidate changed anything."""
        return attrs.evolve(self, prepared=prepared, edits=Edits(), made={})

    def variant(
        self,
        leave_out: tuple[RelPath, ...] = (),
        restore: tuple[RelPath, ...] = (),
        put: Mapping[RelPath, bytes] | None = None,
    ) -> Workspace:
        """The grading tree, changed further; made once.

        `restore` are paths that are as in the fixture, `put` is other content of files;
        `leave_out` are paths that are absent with all beneath them.
        """
        variant = _Variant(
            frozenset(leave_out), frozenset(restore), tuple(sorted((put or {}).items()))
        )
        if variant not in self._made:
            self._make(variant)
        return self._made[variant]

    def _make(self, variant: _Variant) -> tuple[TreeManifest, ChangeSet]:
        edits = _restored(self.edits, variant.restore, self.prepared.manifest)
        edits = _without(edits, variant.leave_out)
        writes = {path: FileWrite(content) for path, content in variant.put}
        edits = attrs.evolve(edits, writes={**edits.writes, **writes})
        with self.timed("copy"):
            workspace = self.copier.open(
                self.prepared, self.scratch, hasher=self.hasher, ids=self.ids
            )
            # From the moment it exists, so that it is closed whatever happens.
            self.opened.append(workspace)
            workspace.put(edits)
        expected = edited_manifest(self.prepared.manifest, edits, self.hasher)
        with self.timed("freeze"):
            frozen_tree = workspace.freeze(self.hasher)
        if frozen_tree.change_set.result != expected.ref:
            raise CopyFailed("the grading tree differs from the permitted changes")
        self._made[variant] = workspace
        return expected, frozen_tree.change_set


def _without(edits: Edits, paths: frozenset[RelPath]) -> Edits:
    """The same edits, and the paths with all beneath them deleted."""
    writes = {
        path: write
        for path, write in edits.writes.items()
        if path not in paths and paths.isdisjoint(ancestors(path))
    }
    return Edits(writes=writes, deletes=(*edits.deletes, *sorted(paths)))


def _restored(edits: Edits, paths: frozenset[RelPath], base: TreeManifest) -> Edits:
    """The same edits, but for these paths: they stay as they are in the base."""
    if not paths:
        return edits
    gone = frozenset(edits.deletes)
    deletes = (
        entry.path
        for entry in base.entries
        if (entry.path in gone or not gone.isdisjoint(ancestors(entry.path)))
        and entry.kind is EntryKind.FILE
        and entry.path not in paths
    )
    writes = {path: write for path, write in edits.writes.items() if path not in paths}
    return Edits(writes=writes, deletes=tuple(deletes))

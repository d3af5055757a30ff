"""The grading tree of one trial, and trees that lack some of it.

Each is a fresh workspace made of the pristine fixture and the permitted changes, and proven to
be exactly that before anything is mounted from it.
"""

from __future__ import annotations

from attrs import define, field

from assay.api import (
    ChangeSet,
    Copier,
    CopyFailed,
    Edits,
    Hasher,
    HostIds,
    Prepared,
    RelPath,
    TreeManifest,
    Workspace,
)
from assay.api.changes import ancestors, edited_manifest

__all__ = ["GradingTrees"]


@define
class GradingTrees:
    """Makes workspaces with the permitted `edits`; whoever owns `opened` closes them all.

    Every method raises CopyFailed, NoSpace or CopyMismatch.
    """

    copier: Copier
    prepared: Prepared
    scratch: str
    hasher: Hasher
    ids: HostIds | None
    edits: Edits
    opened: list[Workspace]
    _made: dict[frozenset[RelPath], Workspace] = field(factory=dict)

    def whole(self) -> tuple[TreeManifest, ChangeSet]:
        """Make the grading tree: what is in it, and what that changes in the fixture."""
        return self._make(frozenset())

    def without(self, leave_out: tuple[RelPath, ...]) -> Workspace:
        """The grading tree without these paths and what is beneath them; made once."""
        key = frozenset(leave_out)
        if key not in self._made:
            self._make(key)
        return self._made[key]

    def _make(self, leave_out: frozenset[RelPath]) -> tuple[TreeManifest, ChangeSet]:
        edits = _without(self.edits, leave_out)
        workspace = self.copier.open(self.prepared, self.scratch, hasher=self.hasher, ids=self.ids)
        # From the moment it exists, so that it is closed whatever happens.
        self.opened.append(workspace)
        workspace.put(edits)
        expected = edited_manifest(self.prepared.manifest, edits, self.hasher)
        frozen_tree = workspace.freeze(self.hasher)
        if frozen_tree.change_set.result != expected.ref:
            raise CopyFailed("the grading tree differs from the permitted changes")
        self._made[leave_out] = workspace
        return expected, frozen_tree.change_set


def _without(edits: Edits, paths: frozenset[RelPath]) -> Edits:
    """The same edits, and the paths with all beneath them deleted."""
    writes = {
        path: write
        for path, write in edits.writes.items()
        if path not in paths and paths.isdisjoint(ancestors(path))
    }
    return Edits(writes=writes, deletes=(*edits.deletes, *sorted(paths)))

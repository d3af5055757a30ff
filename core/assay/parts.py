"""Parts of a grading tree: the same changes on a fresh copy, without what a jail must not see.

A driver of trusted tests sees nothing that a candidate wrote, a worker that runs candidate
code sees no tests. What is left out is named by patterns; each part is made once a trial.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from assay.api import Edits, EntryKind, RelPath, TreeManifest, Workspace
from assay.boundary import PathPattern

__all__ = ["EVERYTHING", "TreeParts"]

EVERYTHING = ("**",)
"""The patterns that leave nothing of a tree."""


@define
class TreeParts:
    """Workspaces equal to the grading tree `tree`, less what patterns name.

    `open` gives a fresh workspace equal to the grading tree; whoever made it closes it.
    """

    tree: TreeManifest
    open: Callable[[], Workspace]
    _made: dict[tuple[str, ...], Workspace] = field(factory=dict, init=False)

    def without(self, patterns: tuple[str, ...]) -> Workspace:
        """The workspace without the files that a pattern matches; raises CopyFailed."""
        found = self._made.get(patterns)
        if found is None:
            found = self.open()
            found.put(Edits(deletes=self._matched(patterns)))
            self._made[patterns] = found
        return found

    def _matched(self, patterns: tuple[str, ...]) -> tuple[RelPath, ...]:
        compiled = tuple(PathPattern(text) for text in patterns)
        return tuple(
            entry.path
            for entry in self.tree.entries
            if entry.kind is EntryKind.FILE
            and any(pattern.matches(entry.path) for pattern in compiled)
        )

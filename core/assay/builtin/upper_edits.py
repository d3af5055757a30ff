"""Writes edits into the upper layer of an overlay that nobody has mounted."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from attrs import frozen

from assay.api import EntryKind, RelPath
from assay.api.copies import Layout, give
from assay.api.files import open_directory, opened, remove_tree
from assay.api.paths import components
from assay.builtin.base_index import BaseIndex
from assay.builtin.upper import OPAQUE, is_opaque, is_whiteout

__all__ = ["UpperEdits"]


@frozen
class _Spot:
    """A directory of the upper layer, a name in it, and whether the lower tree shows there."""

    directory: int
    name: bytes
    merged: bool


@frozen
class UpperEdits:
    """Edits of the merged tree; descriptors of the upper layer, and of the folder beside it."""

    upper: int
    staged: int
    layout: Layout
    base: BaseIndex

    def remove(self, path: RelPath) -> None:
        """Let a path be absent, with all beneath it; raises OSError, as every method."""
        spot = self._spot(path)
        with opened(spot.directory):
            with suppress(FileNotFoundError):
                remove_tree(spot.directory, spot.name)
            if spot.merged and self.base.entry(path) is not None:
                mode = stat.S_IFCHR
                os.mknod(spot.name, mode, os.makedev(0, 0), dir_fd=spot.directory)

    def make_directory(self, path: RelPath) -> None:
        """Make an empty directory where nothing is seen."""
        spot = self._spot(path)
        with opened(spot.directory):
            self._clear_whiteout(spot)
            self._make(spot.directory, spot.name)
            lower = self.base.entry(path)
            if spot.merged and lower is not None and lower.kind is EntryKind.DIR:
                with opened(open_directory(spot.directory, spot.name)) as made:
                    os.setxattr(made, OPAQUE, b"y")

    def place(self, path: RelPath, staged_name: bytes) -> None:
        """Move a new file in, over a file or where nothing is seen."""
        spot = self._spot(path)
        with opened(spot.directory):
            os.rename(staged_name, spot.name, src_dir_fd=self.staged, dst_dir_fd=spot.directory)

    def _spot(self, path: RelPath) -> _Spot:
        """Where a path belongs, with the directories above it as they are in the lower tree."""
        *above, last = components(path)
        current, merged = os.open(".", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.upper), True
        try:
            for depth, name in enumerate(above, 1):
                try:
                    below = open_directory(current, name)
                except FileNotFoundError:
                    self._make(current, name.encode("utf-8"))
                    below = open_directory(current, name)
                os.close(current)
                current = below
                lower = self.base.entry(RelPath("/".join(above[:depth])))
                merged = merged and lower is not None and lower.kind is EntryKind.DIR
                merged = merged and not is_opaque(current)
        except BaseException:
            os.close(current)
            raise
        return _Spot(current, last.encode("utf-8"), merged)

    def _make(self, directory: int, name: bytes) -> None:
        os.mkdir(name, 0o700, dir_fd=directory)
        with opened(open_directory(directory, name)) as made:
            give(made, self.layout.directory, self.layout)

    def _clear_whiteout(self, spot: _Spot) -> None:
        with suppress(FileNotFoundError):
            info = os.stat(spot.name, dir_fd=spot.directory, follow_symlinks=False)
            if is_whiteout(info):
                os.unlink(spot.name, dir_fd=spot.directory)

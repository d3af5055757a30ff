"""A workspace that is a plain folder: edits as one set, changes by a full scan."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from assay.api import (
    CopyFailed,
    Entry,
    EntryKind,
    Hasher,
    Mount,
    MountKind,
    RelPath,
    TreeLimits,
    TreeManifest,
)
from assay.api.changes import ancestors, compare
from assay.api.copies import give
from assay.api.files import copy_fault, open_directory, open_parent, opened, read_file, remove_tree
from assay.builtin.home import TREE, Home
from assay.builtin.resting import FrozenWorkspace, TreeWorkspace, holds_nul

__all__ = ["CopyWorkspace"]

_LIMITS = TreeLimits()


class CopyWorkspace(TreeWorkspace):
    """A fresh writable tree equal to its base, with one owner; also a context manager."""

    def __init__(self, home: Home, base: TreeManifest, hasher: Hasher) -> None:
        super().__init__(home, base, hasher)
        self._home = home

    @property
    def host_path(self) -> str:
        """The tree's folder on this host."""
        return str(self._home.path / TREE)

    def mounts(self, dst: str, *, writable: bool) -> tuple[Mount, ...]:
        """The tree as one mount of a jail."""
        return (Mount(dst, MountKind.TREE, source=self.host_path, writable=writable),)

    def freeze(self, hasher: Hasher, limits: TreeLimits = _LIMITS) -> FrozenWorkspace:
        """Scan and compare with the base; what is refused is part of the result.

        Raises UsageError while leased, TreeLimit, TreeChanged.
        """
        self._at_rest()
        root = self._home.tree_fd
        scan = hasher.scan(root, limits=limits, collect_refused=True)
        try:
            change_set = compare(
                self._base,
                scan.manifest,
                refused=scan.refused,
                ignored=scan.ignored,
                binary=lambda path: holds_nul(root, path),
            )
        except OSError as error:
            raise copy_fault(error, "workspace can't be read") from None
        return FrozenWorkspace(change_set, self)

    def read(self, path: RelPath, cap: int) -> bytes:
        """Content of one regular file, no-follow; TreeLimit above `cap` bytes."""
        self._at_rest()
        return read_file(self._home.tree_fd, path, cap)

    def _scanned(self) -> TreeManifest:
        scan = self._hasher.scan(self._home.tree_fd, limits=_LIMITS)
        if scan.manifest is None:
            raise CopyFailed("workspace could not be scanned")
        return scan.manifest

    def _apply(
        self,
        gone: Iterable[RelPath],
        fresh: Mapping[RelPath, Entry],
        names: Mapping[RelPath, bytes],
    ) -> None:
        removed: set[RelPath] = set()
        for path in gone:
            if removed.isdisjoint(ancestors(path)):
                directory, name = open_parent(self._home.tree_fd, path)
                with opened(directory):
                    remove_tree(directory, name)
                removed.add(path)
        for path, entry in fresh.items():
            directory, name = open_parent(self._home.tree_fd, path)
            with opened(directory):
                if entry.kind is EntryKind.FILE:
                    os.rename(
                        names[path], name, src_dir_fd=self._home.staged_fd, dst_dir_fd=directory
                    )
                else:
                    os.mkdir(name, 0o700, dir_fd=directory)
                    with opened(open_directory(directory, name)) as made:
                        give(made, self._home.layout.directory, self._home.layout)

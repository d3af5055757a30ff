"""A workspace that is a plain folder: edits as one set, changes by a full scan."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from attrs import frozen

from assay.api import (
    ChangeSet,
    CopyFailed,
    Edits,
    Entry,
    EntryKind,
    Hasher,
    Mount,
    MountKind,
    RelPath,
    TreeLimits,
    TreeManifest,
    UsageError,
)
from assay.api.changes import ancestors, compare, edited_manifest
from assay.api.copies import give
from assay.api.files import (
    FILE_FLAGS,
    copy_fault,
    open_directory,
    open_parent,
    opened,
    read_file,
    remove_tree,
    write_all,
)
from assay.builtin.home import TREE, Home

__all__ = ["CopyWorkspace"]

_LIMITS = TreeLimits()
_BLOCK = 256 * 1024
_STAGE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class CopyWorkspace:
    """A fresh writable tree equal to its base, with one owner; also a context manager."""

    def __init__(self, home: Home, base: TreeManifest, hasher: Hasher) -> None:
        self._home = home
        self._base = base
        self._hasher = hasher
        self._current: TreeManifest | None = base
        self._leases = 0
        self._half_put = False

    @property
    def base(self) -> TreeManifest:
        """The manifest that it was equal to when it was opened."""
        return self._base

    @property
    def host_path(self) -> str:
        """The tree's folder on this host."""
        return str(self._home.path / TREE)

    def mounts(self, dst: str, *, writable: bool) -> tuple[Mount, ...]:
        """The tree as one mount of a jail."""
        return (Mount(dst, MountKind.TREE, source=self.host_path, writable=writable),)

    def lease(self) -> WorkspaceLease:
        """Taken by each live jail; from now on the content is unknown until it is scanned."""
        self._usable()
        self._leases += 1
        self._current = None
        return WorkspaceLease(self)

    def put(self, edits: Edits) -> None:
        """Write and delete as one set, giving exactly `edited_manifest(now, edits)`.

        Everything is checked and all new content is written aside before the tree is
        touched: until then an error leaves it as it was. An error after that makes the
        workspace unusable for all but `close`. Raises UsageError while leased, InvalidInput
        for edits that no tree can satisfy, TreeRefused when the tree as it stands holds
        something refused, NoSpace or CopyFailed.
        """
        self._at_rest()
        now = self._current or self._scanned()
        target = edited_manifest(now, edits, self._hasher)
        before = {entry.path: entry for entry in now.entries}
        after = {entry.path: entry for entry in target.entries}
        gone = [path for path, old in before.items() if _leaves(old, after.get(path))]
        fresh = {path: new for path, new in after.items() if new != before.get(path)}
        try:
            names = self._stage(edits, fresh)
            self._half_put = True
            self._apply(gone, fresh, names)
            self._half_put = False
        except OSError as error:
            raise copy_fault(error, "edits could not be written") from None
        finally:
            self._home.clear_staged()
        self._current = target

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
                binary=lambda path: _holds_nul(root, path),
            )
        except OSError as error:
            raise copy_fault(error, "workspace can't be read") from None
        return FrozenWorkspace(change_set, self)

    def close(self) -> None:
        """Remove it; idempotent. Raises CleanupFailed when something is left."""
        self._home.remove()

    def __enter__(self) -> CopyWorkspace:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def read(self, path: RelPath, cap: int) -> bytes:
        """Content of one regular file, no-follow; TreeLimit above `cap` bytes."""
        self._at_rest()
        return read_file(self._home.tree_fd, path, cap)

    def released(self) -> None:
        """One lease less; called by the lease itself."""
        self._leases -= 1

    def _usable(self) -> None:
        if self._home.removed:
            raise UsageError("workspace is closed")
        if self._half_put:
            raise CopyFailed("workspace is unusable: an earlier set of edits was cut short")

    def _at_rest(self) -> None:
        self._usable()
        if self._leases:
            raise UsageError("workspace is leased by a live jail")

    def _scanned(self) -> TreeManifest:
        scan = self._hasher.scan(self._home.tree_fd, limits=_LIMITS)
        if scan.manifest is None:
            raise CopyFailed("workspace could not be scanned")
        return scan.manifest

    def _stage(self, edits: Edits, fresh: Mapping[RelPath, Entry]) -> dict[RelPath, bytes]:
        """Write new content beside the tree; the name under which each path waits."""
        layout = self._home.layout
        names: dict[RelPath, bytes] = {}
        for path, write in edits.writes.items():
            if path not in fresh:
                continue
            name = b"%d" % len(names)
            mode = layout.program if fresh[path].executable else layout.file
            with opened(os.open(name, _STAGE, 0o600, dir_fd=self._home.staged_fd)) as descriptor:
                write_all(descriptor, write.content)
                give(descriptor, mode, layout)
            names[path] = name
        return names

    def _apply(
        self,
        gone: Iterable[RelPath],
        fresh: Mapping[RelPath, Entry],
        names: Mapping[RelPath, bytes],
    ) -> None:
        """Remove, make directories, move new files in; paths come parents first."""
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


@frozen
class FrozenWorkspace:
    """A workspace at rest: what changed, and the bytes of what is in it."""

    change_set: ChangeSet
    _workspace: CopyWorkspace

    def read(self, path: RelPath, cap: int) -> bytes:
        """Content of one regular file, no-follow; TreeLimit above `cap` bytes."""
        return self._workspace.read(path, cap)


class WorkspaceLease:
    """Held by a live jail; releasing twice counts once."""

    def __init__(self, workspace: CopyWorkspace) -> None:
        self._workspace: CopyWorkspace | None = workspace

    def release(self) -> None:
        """Give it back when the jail is dead."""
        if self._workspace is not None:
            self._workspace.released()
            self._workspace = None


def _leaves(old: Entry, new: Entry | None) -> bool:
    return new is None or new.kind is not old.kind


def _holds_nul(root: int, path: RelPath) -> bool:
    directory, name = open_parent(root, path)
    with opened(directory), opened(os.open(name, FILE_FLAGS, dir_fd=directory)) as descriptor:
        while block := os.read(descriptor, _BLOCK):
            if b"\0" in block:
                return True
    return False

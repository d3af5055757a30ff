"""What all workspaces share: one owner, leases, edits as one set, and when each is allowed."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Protocol, Self

from attrs import frozen

from assay.api import (
    ChangeSet,
    CopyFailed,
    Edits,
    Entry,
    Hasher,
    RelPath,
    TreeManifest,
    UsageError,
)
from assay.api.changes import edited_manifest
from assay.api.copies import Layout, give
from assay.api.files import FILE_FLAGS, copy_fault, open_parent, opened, write_all

__all__ = ["FrozenWorkspace", "Place", "TreeWorkspace", "WorkspaceLease", "holds_nul"]

_BLOCK = 256 * 1024
_STAGE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Place(Protocol):
    """Where a workspace is: a folder for what it holds, one for new content, and its end."""

    @property
    def layout(self) -> Layout: ...

    @property
    def tree_fd(self) -> int: ...

    @property
    def staged_fd(self) -> int: ...

    @property
    def removed(self) -> bool: ...

    def clear_staged(self) -> None: ...

    def remove(self, *, cause: BaseException | None = None) -> None: ...


class TreeWorkspace(ABC):
    """A fresh writable tree equal to its base, with one owner; also a context manager."""

    def __init__(self, place: Place, base: TreeManifest, hasher: Hasher) -> None:
        self._place = place
        self._base = base
        self._hasher = hasher
        self._current: TreeManifest | None = base
        self._leases = 0
        self._half_put = False

    @property
    def base(self) -> TreeManifest:
        """The manifest that it was equal to when it was opened."""
        return self._base

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
            self._place.clear_staged()
        self._current = target

    @abstractmethod
    def read(self, path: RelPath, cap: int) -> bytes:
        """Content of one regular file, no-follow; TreeLimit above `cap` bytes."""

    def close(self) -> None:
        """Remove it; idempotent. Raises CleanupFailed when something is left."""
        self._place.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def released(self) -> None:
        """One lease less; called by the lease itself."""
        self._leases -= 1

    def _usable(self) -> None:
        if self._place.removed:
            raise UsageError("workspace is closed")
        if self._half_put:
            raise CopyFailed("workspace is unusable: an earlier set of edits was cut short")

    def _at_rest(self) -> None:
        self._usable()
        if self._leases:
            raise UsageError("workspace is leased by a live jail")

    def _stage(self, edits: Edits, fresh: Mapping[RelPath, Entry]) -> dict[RelPath, bytes]:
        """Write new content beside the tree; the name under which each path waits."""
        layout = self._place.layout
        names: dict[RelPath, bytes] = {}
        for path, write in edits.writes.items():
            if path not in fresh:
                continue
            name = b"%d" % len(names)
            mode = layout.program if fresh[path].executable else layout.file
            with opened(os.open(name, _STAGE, 0o600, dir_fd=self._place.staged_fd)) as descriptor:
                write_all(descriptor, write.content)
                give(descriptor, mode, layout)
            names[path] = name
        return names

    @abstractmethod
    def _scanned(self) -> TreeManifest:
        """What it holds now; raises TreeRefused for something refused."""

    @abstractmethod
    def _apply(
        self,
        gone: Iterable[RelPath],
        fresh: Mapping[RelPath, Entry],
        names: Mapping[RelPath, bytes],
    ) -> None:
        """Remove, make directories, move new files in; paths come parents first."""


@frozen
class FrozenWorkspace:
    """A workspace at rest: what changed, and the bytes of what is in it."""

    change_set: ChangeSet
    _workspace: TreeWorkspace

    def read(self, path: RelPath, cap: int) -> bytes:
        """Content of one regular file, no-follow; TreeLimit above `cap` bytes."""
        return self._workspace.read(path, cap)


class WorkspaceLease:
    """Held by a live jail; releasing twice counts once."""

    def __init__(self, workspace: TreeWorkspace) -> None:
        self._workspace: TreeWorkspace | None = workspace

    def release(self) -> None:
        """Give it back when the jail is dead."""
        if self._workspace is not None:
            self._workspace.released()
            self._workspace = None


def _leaves(old: Entry, new: Entry | None) -> bool:
    return new is None or new.kind is not old.kind


def holds_nul(root: int, path: RelPath) -> bool:
    """Whether a file beneath a directory has a NUL byte in it; raises OSError."""
    directory, name = open_parent(root, path)
    with opened(directory), opened(os.open(name, FILE_FLAGS, dir_fd=directory)) as descriptor:
        while block := os.read(descriptor, _BLOCK):
            if b"\0" in block:
                return True
    return False

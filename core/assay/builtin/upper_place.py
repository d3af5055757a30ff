"""Where the upper layer of one overlay workspace is: in memory of its own, or in a folder.

In memory nothing of it is ever attached, so it ends with the process, killed or not, and the
kernel bounds what it holds. Only root can have that; in a folder a watchdog must bound it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Protocol, Self

from attrs import define

from assay.api import HostIds, Mount, MountKind
from assay.api.copies import Layout, give
from assay.api.detached import memory, overlay
from assay.api.files import copy_fault, open_directory, open_root, opened
from assay.builtin.home import TREE, Home
from assay.builtin.resting import Place

__all__ = ["FolderPlace", "MemoryPlace", "UpperPlace"]

_UPPER, _WORK, _STAGED = "upper", "work", "staged"
_CAPACITY = 1024**3
"""Bytes that the changes of one workspace may take up in memory."""
_ENTRIES = 100_000


class UpperPlace(Place, Protocol):
    """A place whose tree is an upper layer, over a lower tree that it holds open."""

    @property
    def lower_fd(self) -> int: ...

    @property
    def shared(self) -> bool:
        """Whether all jails see one mount, so that one may write while others look."""
        ...

    def mount(self, dst: str, *, writable: bool) -> Mount:
        """What a jail is given; the layer is not edited while a jail has it."""
        ...

    def unmount(self) -> None:
        """No jail has it any more: it may be edited."""
        ...


@define
class MemoryPlace:
    """In memory, held by descriptors; all jails share one mount."""

    layout: Layout
    lower_fd: int
    fd: int
    tree_fd: int = -1
    staged_fd: int = -1
    removed: bool = False
    _merged: int = -1

    @property
    def shared(self) -> bool:
        """They do."""
        return True

    @classmethod
    def create(cls, lower: str, ids: HostIds | None) -> Self:
        """An empty layer over a tree; raises OSError, and then nothing is left open."""
        lower_fd = open_root(lower)
        try:
            place = cls(_layout(ids), lower_fd, memory(_CAPACITY, _ENTRIES))
        except BaseException:
            os.close(lower_fd)
            raise
        try:
            for name in (_UPPER, _WORK, _STAGED):
                os.mkdir(name, 0o700, dir_fd=place.fd)
            place.tree_fd = open_directory(place.fd, _UPPER)
            place.staged_fd = open_directory(place.fd, _STAGED)
            give(place.tree_fd, 0o700, place.layout)
        except BaseException:
            place.remove()
            raise
        return place

    def mount(self, dst: str, *, writable: bool) -> Mount:
        """The merged tree by its descriptor; raises CopyFailed."""
        if self._merged < 0:
            try:
                with opened(open_directory(self.fd, _WORK)) as work:
                    self._merged = overlay(self.lower_fd, self.tree_fd, work)
            except OSError as error:
                raise copy_fault(error, "workspace can't be mounted") from None
        return Mount(dst, MountKind.TREE, descriptor=self._merged, writable=writable)

    def unmount(self) -> None:
        """End the mount, since the layer must not change beneath one."""
        if self._merged >= 0:
            os.close(self._merged)
            self._merged = -1

    def clear_staged(self) -> None:
        """Remove what waits beside the tree."""
        _clear(self.staged_fd)

    def remove(self, *, cause: BaseException | None = None) -> None:
        """Close it, which is its end; idempotent."""
        if self.removed:
            return
        self.removed = True
        self.unmount()
        for descriptor in (self.tree_fd, self.staged_fd, self.fd, self.lower_fd):
            if descriptor >= 0:
                os.close(descriptor)


@define
class FolderPlace:
    """In a workspace's folder on the host's file system."""

    home: Home
    lower: str
    lower_fd: int
    tree_fd: int = -1

    @property
    def shared(self) -> bool:
        """Each has a mount of its own, and the kernel says nothing of two that write."""
        return False

    @classmethod
    def create(cls, lower: str, scratch: str, ids: HostIds | None) -> Self:
        """An empty layer over a tree; raises OSError, and then nothing is left."""
        lower_fd = open_root(lower)
        try:
            place = cls(Home.create(scratch, ids), lower, lower_fd)
        except BaseException:
            os.close(lower_fd)
            raise
        try:
            for name in (_UPPER, _WORK):
                os.mkdir(name, 0o700, dir_fd=place.home.tree_fd)
                with opened(open_directory(place.home.tree_fd, name)) as made:
                    give(made, 0o700, place.layout)
            place.tree_fd = open_directory(place.home.tree_fd, _UPPER)
        except BaseException as error:
            place.remove(cause=error)
            raise
        return place

    @property
    def layout(self) -> Layout:
        """Modes and owner of what is written into it."""
        return self.home.layout

    @property
    def staged_fd(self) -> int:
        """Folder for new content, on the same file system."""
        return self.home.staged_fd

    @property
    def removed(self) -> bool:
        """Whether it is gone."""
        return self.home.removed

    def mount(self, dst: str, *, writable: bool) -> Mount:
        """Both layers by their places; each jail mounts them itself."""
        tree = self.home.path / TREE
        return Mount(
            dst,
            MountKind.OVERLAY,
            source=self.lower,
            writable=writable,
            upper=str(tree / _UPPER),
            work=str(tree / _WORK),
        )

    def unmount(self) -> None:
        """A jail's mount ended with it."""

    def clear_staged(self) -> None:
        """Remove what waits beside the tree."""
        self.home.clear_staged()

    def remove(self, *, cause: BaseException | None = None) -> None:
        """Remove the folder; idempotent. Raises CleanupFailed, from `cause`."""
        if self.home.removed:
            return
        self.home.remove(cause=cause)
        for descriptor in (self.tree_fd, self.lower_fd):
            if descriptor >= 0:
                os.close(descriptor)


def _layout(ids: HostIds | None) -> Layout:
    return Layout(0o755, 0o644, 0o755, *((ids.uid, ids.gid) if ids else (-1, -1)))


def _clear(folder: int) -> None:
    with suppress(OSError):
        for name in os.listdir(folder):
            os.unlink(name, dir_fd=folder)

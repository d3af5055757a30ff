"""Watches what a jail holds on the host's disk: trees that it may write, and hidden files.

A whole walk is dear, so it is done when the file system as a whole has lost enough room for the
bound to be near, and from time to time. Files that no walk finds, because they are unlinked but
open, are bounded by what the processes have written altogether.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterable, Iterator

from attrs import frozen

from assay.api import Limits, OutcomeStatus
from assay_sandbox.guard import Peak, Reached
from assay_sandbox.pids import below, written_bytes

__all__ = ["DiskUse", "Held", "walk"]

BLOCK = 512
DEEPEST = 256
NEAR = 2
OFTEN_WRITTEN = 4
LOOK_SECONDS = 0.02
REST_SECONDS = 1.0
REST_FACTOR = 20.0
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
REACHED = Reached(OutcomeStatus.DISK_LIMIT, "disk", "watchdog")


@frozen
class Held:
    """Bytes on the disk, and entries of any kind."""

    size: int = 0
    entries: int = 0

    def __add__(self, other: Held) -> Held:
        return Held(self.size + other.size, self.entries + other.entries)

    def within(self, most: Held) -> bool:
        """Whether neither is more."""
        return self.size <= most.size and self.entries <= most.entries


class DiskUse:
    """A guard over the writable trees of one jail together.

    `most` bounds what the trees hold at any time, four times its bytes all that is written.
    """

    interval = 0.03

    def __init__(self, init: int, trees: Iterable[str], most: Held) -> None:
        self._init, self._trees, self._most = init, tuple(trees), most
        self._used = self._left = self._found = Held()
        self._walk: Iterator[Held] | None = None
        self._due = self._began = 0.0
        self._written = 0

    def begin(self, limits: Limits) -> None:
        """A command starts: whatever is there is measured at the first look."""
        self._due, self._written = 0.0, self._all_written()

    def reached(self) -> Reached | None:
        """Whether the trees hold more than they may, or far more was written.

        It never takes long: a walk goes on where the last look left it.
        """
        if self._all_written() - self._written > OFTEN_WRITTEN * self._most.size:
            return REACHED
        if self._walk is None and self._is_due():
            self._began, self._used = time.monotonic(), self._file_systems()
            self._walk, self._found = walk(self._trees), Held()
        if self._walk is not None:
            self._go_on(self._walk)
        return None if self._found.within(self._most) else REACHED

    def _is_due(self) -> bool:
        used = self._file_systems()
        taken = Held(used.size - self._used.size, used.entries - self._used.entries)
        near = Held(self._left.size // NEAR, self._left.entries // NEAR)
        return time.monotonic() >= self._due or not taken.within(near)

    def _go_on(self, entries: Iterator[Held]) -> None:
        until = time.monotonic() + LOOK_SECONDS
        for entry in entries:
            self._found += entry
            if not self._found.within(self._most) or time.monotonic() > until:
                return
        self._walk, now = None, time.monotonic()
        self._due = now + max(REST_SECONDS, REST_FACTOR * (now - self._began))
        most, found = self._most, self._found
        self._left = Held(most.size - found.size, most.entries - found.entries)

    def peak(self) -> Peak:
        """What it sees is in no peak."""
        return Peak()

    def _file_systems(self) -> Held:
        used = Held()
        for tree in self._trees:
            whole = os.statvfs(tree)
            blocks = (whole.f_blocks - whole.f_bfree) * whole.f_frsize
            used += Held(blocks, whole.f_files - whole.f_ffree)
        return used

    def _all_written(self) -> int:
        return sum(written_bytes(pid) for pid in (self._init, *below(self._init)))


def walk(trees: Iterable[str]) -> Iterator[Held]:
    """What the trees hold, piece by piece, following no link.

    The entries of a folder are counted before they are looked at, which is slow. What can't be
    opened is one entry: it may vanish or be closed at any time.
    """
    for tree in trees:
        folders: list[_Folder] = []
        try:
            # Whoever may write a tree may close it as well, which is no fault of the jail.
            with contextlib.suppress(PermissionError):
                folders.append(_Folder(tree, None))
                yield Held(0, len(folders[-1].names))
            while folders:
                if not folders[-1].names:
                    os.close(folders.pop().descriptor)
                    continue
                name, above = folders[-1].names.pop(), folders[-1].descriptor
                with contextlib.suppress(OSError):
                    info = os.stat(name, dir_fd=above, follow_symlinks=False)
                    yield Held(info.st_blocks * BLOCK)
                    if stat.S_ISDIR(info.st_mode) and len(folders) < DEEPEST:
                        folders.append(_Folder(name, above))
                        yield Held(0, len(folders[-1].names))
        finally:
            for folder in folders:
                os.close(folder.descriptor)


class _Folder:
    """An open folder, and the names in it that were not looked at."""

    def __init__(self, name: str, parent: int | None) -> None:
        self.descriptor = os.open(name, DIRECTORY, dir_fd=parent)
        try:
            self.names = os.listdir(self.descriptor)
        except BaseException:
            os.close(self.descriptor)
            raise

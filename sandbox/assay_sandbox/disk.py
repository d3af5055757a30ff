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
from collections.abc import Iterable

from attrs import frozen

from assay.api import Limits, OutcomeStatus
from assay_sandbox.guard import Reached
from assay_sandbox.pids import below, written_bytes

__all__ = ["DiskUse", "Held", "measure"]

BLOCK = 512
DEEPEST = 256
NEAR = 2
OFTEN_WRITTEN = 4
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
        self._used = self._left = Held()
        self._due = 0.0
        self._written = 0

    def begin(self, limits: Limits) -> None:
        """A command starts: whatever is there is measured at the first look."""
        self._due, self._written = 0.0, self._all_written()

    def reached(self) -> Reached | None:
        """Whether the trees hold more than they may, or far more was written."""
        if self._all_written() - self._written > OFTEN_WRITTEN * self._most.size:
            return REACHED
        used, now = self._file_systems(), time.monotonic()
        taken = Held(used.size - self._used.size, used.entries - self._used.entries)
        near = Held(self._left.size // NEAR, self._left.entries // NEAR)
        if now < self._due and taken.within(near):
            return None
        held = Held()
        for tree in self._trees:
            held += measure(tree, self._most)
        if not held.within(self._most):
            return REACHED
        ended = time.monotonic()
        self._due = ended + max(REST_SECONDS, REST_FACTOR * (ended - now))
        self._used = used
        self._left = Held(self._most.size - held.size, self._most.entries - held.entries)
        return None

    def peak(self) -> int:
        """It is not about memory."""
        return 0

    def _file_systems(self) -> Held:
        used = Held()
        for tree in self._trees:
            whole = os.statvfs(tree)
            blocks = (whole.f_blocks - whole.f_bfree) * whole.f_frsize
            used += Held(blocks, whole.f_files - whole.f_ffree)
        return used

    def _all_written(self) -> int:
        return sum(written_bytes(pid) for pid in (self._init, *below(self._init)))


def measure(tree: str, most: Held) -> Held:
    """What a tree holds, following no link; stops once that is more than `most`.

    What can't be opened counts as one entry: it may vanish or be closed at any time.
    """
    held = Held()
    descriptors: list[int] = []
    waiting: list[list[str]] = []
    try:
        descriptors.append(os.open(tree, DIRECTORY))
        waiting.append(os.listdir(descriptors[-1]))
        while waiting and held.within(most):
            if not waiting[-1]:
                waiting.pop()
                os.close(descriptors.pop())
                continue
            name = waiting[-1].pop()
            with contextlib.suppress(OSError):
                info = os.stat(name, dir_fd=descriptors[-1], follow_symlinks=False)
                held += Held(info.st_blocks * BLOCK, 1)
                if stat.S_ISDIR(info.st_mode) and len(descriptors) < DEEPEST:
                    descriptors.append(os.open(name, DIRECTORY, dir_fd=descriptors[-1]))
                    waiting.append([])
                    waiting[-1] = os.listdir(descriptors[-1])
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    return held

"""Watches the memory of a jail's processes where the kernel can't bound their sum.

Memory that several processes share counts once. What no process has in its tables, such as
files of a file system in memory, is not seen: sizes of those file systems bound it.
"""

from __future__ import annotations

import os
from pathlib import Path

from assay.api import Limits, OutcomeStatus
from assay_sandbox.guard import Peak, Reached
from assay_sandbox.pids import below

__all__ = ["ResidentMemory"]

PAGE = os.sysconf("SC_PAGE_SIZE")
KIB = 1024


class ResidentMemory:
    """A guard over everything below the init of one jail."""

    layer = "watchdog"
    interval = 0.02

    def __init__(self, init: int, room: int) -> None:
        self._init, self._room = init, room
        self._most, self._peak = 0, 0

    def begin(self, limits: Limits) -> None:
        """The command may hold its memory, and `room` bytes more."""
        self._most, self._peak = limits.memory + self._room, 0

    def reached(self) -> Reached | None:
        """Whether the processes hold more now; exact numbers only when they might."""
        processes = below(self._init)
        if sum(_resident(pid) for pid in processes) <= self._most:
            return None
        held = sum(_held(pid) for pid in processes)
        self._peak = max(self._peak, held)
        if held <= self._most:
            return None
        return Reached(OutcomeStatus.MEMORY_LIMIT, "memory", self.layer)

    def peak(self) -> Peak:
        """The most memory that was measured exactly."""
        return Peak(memory=self._peak)


def _resident(pid: int) -> int:
    """Resident bytes, shared ones too; what has ended holds nothing."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def _held(pid: int) -> int:
    """Bytes of its own and its share of shared ones, files of the disk excepted."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except PermissionError:
        return _resident(pid)
    except OSError:
        return 0
    shares = [line.split() for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:"))]
    return sum(int(share[1]) for share in shares) * KIB if shares else _resident(pid)

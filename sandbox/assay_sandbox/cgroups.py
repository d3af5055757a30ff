"""One control group: it bounds what a jail holds, and counts what the kernel killed for it.

The bound is on everything in the jail together: processes and file systems in memory.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from assay.api import Limits, OutcomeStatus
from assay_sandbox.guard import Reached

__all__ = ["SUPERVISOR_PROCESSES", "Group"]

SUPERVISOR_PROCESSES = 4
"""nsjail, the init, and what each forks for a moment."""

UNLIMITED = -1
PAGE = os.sysconf("SC_PAGE_SIZE")


@frozen
class _Files:
    """Names of what is read and written, by version."""

    limit: str
    swap: str
    peak: str
    events: str


FILES: Mapping[int, _Files] = {
    1: _Files(
        "memory.limit_in_bytes",
        "memory.memsw.limit_in_bytes",
        "memory.max_usage_in_bytes",
        "memory.oom_control",
    ),
    2: _Files("memory.max", "memory.swap.max", "memory.peak", "memory.events"),
}


class Group:
    """A group that exists; as a guard it tells when the kernel killed for memory.

    `memory` and `pids` are its folders, one and the same in version 2. `room` is what a jail
    may hold beyond a command's own memory: its file systems, and the init.
    """

    interval = 0.05

    def __init__(
        self, version: int, memory: Path, pids: Path, room: int, layer: str = "cgroup"
    ) -> None:
        self.folders = tuple(dict.fromkeys((memory, pids)))
        self.layer = layer
        self._version, self._memory, self._pids, self._room = version, memory, pids, room
        self._files = FILES[version]
        self._killed, self._highest = 0, 0

    def add(self, pid: int) -> None:
        """Put a process into the group; what it starts is in it too."""
        for folder in self.folders:
            _write(folder / "cgroup.procs", pid)

    def begin(self, limits: Limits) -> None:
        """Bound what runs next, and count for it alone; raises OSError."""
        most = limits.memory + self._room
        swap = self._memory / self._files.swap
        if self._version == 1:
            # Memory with swap is never bounded below memory alone, so it makes way first.
            with contextlib.suppress(FileNotFoundError):
                _write(swap, UNLIMITED)
            _write(self._memory / self._files.peak, 0)
        _write(self._memory / self._files.limit, most)
        with contextlib.suppress(FileNotFoundError):
            _write(swap, most if self._version == 1 else 0)
        _write(self._pids / "pids.max", limits.processes + SUPERVISOR_PROCESSES)
        self._killed, self._highest = self._kills(), self._read_highest()

    def bounds(self, limits: Limits) -> bool:
        """Whether the kernel says that it holds these limits."""
        try:
            held = (self._memory / self._files.limit).read_text().strip()
        except OSError:
            return False
        return held == str((limits.memory + self._room) // PAGE * PAGE)

    def reached(self) -> Reached | None:
        """Whether the kernel killed a process of the jail since `begin`."""
        if self._kills() > self._killed:
            return Reached(OutcomeStatus.MEMORY_LIMIT, "memory", self.layer)
        return None

    def peak(self) -> int:
        """Most bytes held together since `begin`; 0 where the kernel does not say."""
        highest = self._read_highest()
        return highest if highest > self._highest else 0

    def kill(self) -> None:
        """Kill every process in it."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                for pid in (folder / "cgroup.procs").read_text().split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)

    def _kills(self) -> int:
        with contextlib.suppress(OSError):
            for line in (self._memory / self._files.events).read_text().splitlines():
                name, _, value = line.partition(" ")
                if name == "oom_kill":
                    return int(value)
        return self._killed

    def _read_highest(self) -> int:
        try:
            return int((self._memory / self._files.peak).read_text())
        except OSError:
            return 0


def _write(path: Path, value: int) -> None:
    path.write_text(f"{value}\n")

"""Watches the processor time of all of a jail's processes together.

The kernel bounds each process by itself; a command that starts many could use far more. A control
group counts all of them, whatever they do. Without one, what lives is added to what the init has
reaped: then the time of a process whose parent asked not to be told of its end is lost, unless it
is seen while it lives.
"""

from __future__ import annotations

import os

from assay.api import Limits, OutcomeStatus
from assay_sandbox.cgroups import Group
from assay_sandbox.guard import Peak, Reached
from assay_sandbox.pids import PROC, below

__all__ = ["ProcessorTime"]

TICKS = os.sysconf("SC_CLK_TCK")
SPARE = 0.5
"""Seconds beyond the limit, so that the kernel ends a single process by itself before."""


class ProcessorTime:
    """A guard over the processes of one jail; `group` is where the kernel counts, if it does."""

    def __init__(self, init: int, group: Group | None) -> None:
        self._init, self._group = init, group
        counted = group is not None and group.processor_seconds() is not None
        self.layer = group.layer if group is not None and counted else "watchdog"
        self.interval = 0.05 if counted else 0.2
        self._before, self._most = 0.0, 0.0

    def begin(self, limits: Limits) -> None:
        """The command may use its time from now on."""
        self._before, self._most = self._used(), limits.cpu + SPARE

    def reached(self) -> Reached | None:
        """Whether all processes together have used more since then."""
        if self._used() - self._before <= self._most:
            return None
        return Reached(OutcomeStatus.TIMED_OUT, "cpu", self.layer)

    def peak(self) -> Peak:
        """What it sees is in no peak."""
        return Peak()

    def _used(self) -> float:
        counted = None if self._group is None else self._group.processor_seconds()
        return self._seen() if counted is None else counted

    def _seen(self) -> float:
        """Of those that live, and of all that they or the init have seen end.

        Parents come before their children, so that nothing counts twice when a child ends.
        """
        return sum(_ticks(pid) for pid in (self._init, *below(self._init))) / TICKS


def _ticks(pid: int) -> int:
    """What one process has used, and those of its children that it has waited for."""
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return 0
    return sum(int(field) for field in text.rpartition(")")[2].split()[11:15])

"""Who made something that is left on this host, and whether that process still lives.

A process is named by its number and start time, within one space of process numbers and one
start of the host; together they name one process for ever. Where any of that can't be compared,
nobody can tell, and that is said too.
"""

from __future__ import annotations

import functools
import os
from enum import Enum
from pathlib import Path

from attrs import frozen

__all__ = ["Life", "Maker", "life_of", "this_process"]

_PROC = Path("/proc")
_BOOT = _PROC / "sys/kernel/random/boot_id"
_ENDED = ("Z", "X")


class Life(Enum):
    """What is known of a process."""

    ALIVE = "alive"
    DEAD = "dead"
    UNKNOWN = "unknown"


@frozen
class Maker:
    """A process: start of the host, space of process numbers, number, start in ticks.

    An empty `boot` or a 0 stands for what the system does not tell.
    """

    boot: str
    space: int
    pid: int
    started: int


def this_process() -> Maker:
    """The process that asks."""
    return _process(os.getpid())


@functools.lru_cache(maxsize=1)
def _process(pid: int) -> Maker:
    return Maker(_boot(), _space(), pid, _start(pid) or 0)


def life_of(maker: Maker) -> Life:
    """Whether a process lives; UNKNOWN for one of another start, space or host."""
    here = this_process()
    known = here.boot and here.space and maker.started
    if not known or (maker.boot, maker.space) != (here.boot, here.space):
        return Life.UNKNOWN
    started = _start(maker.pid)
    if started is not None:
        return Life.ALIVE if started == maker.started else Life.DEAD
    # It may be hidden rather than gone: only the kernel's own word counts.
    return Life.UNKNOWN if _exists(maker.pid) else Life.DEAD


def _boot() -> str:
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""


def _space() -> int:
    try:
        return (_PROC / "self/ns/pid").stat().st_ino
    except OSError:
        return 0


def _start(pid: int) -> int | None:
    """When a process started; None when there is none, or when it is hidden.

    A process that has ended and was not waited for yet has no start: it does nothing any more.
    """
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    state, *fields = text.rpartition(")")[2].split()
    return 0 if state in _ENDED else int(fields[18])


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True

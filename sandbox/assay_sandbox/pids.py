"""Processes of this host by number and start time, which together name one for ever.

What a supervisor makes on the host is named after it, so that others can tell whether it is
still in use: space of process numbers, process, its start, and a number.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
from pathlib import Path

__all__ = ["below", "is_orphaned", "namespace", "new_name", "start_time", "written_bytes"]

PROC = Path("/proc")
MOST_BYTES = 4096

_NAME = re.compile(r"(\d+)\.(\d+)\.(\d+)\.\d+", re.ASCII)
_numbers = itertools.count(1)


def new_name() -> str:
    """A name for something of this process that nothing had before."""
    return f"{_maker(os.getpid())}.{next(_numbers)}"


@functools.cache
def _maker(pid: int) -> str:
    return f"{namespace()}.{pid}.{start_time(pid)}"


# A number may come again, but not in the life of who had it first.
os.register_at_fork(after_in_child=_maker.cache_clear)


def is_orphaned(name: str) -> bool:
    """Whether it names something whose supervisor is dead; not if nobody can tell."""
    match = _NAME.fullmatch(name)
    if match is None:
        return False
    space, pid, started = (int(number) for number in match.groups())
    return space == namespace() and start_time(pid) != started


def start_time(pid: int) -> int | None:
    """When a process started, in the kernel's ticks since it booted; None when there is none."""
    try:
        file = os.open(f"{PROC}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = os.read(file, MOST_BYTES)
    except ProcessLookupError:
        return None
    finally:
        os.close(file)
    state, *fields = text.rpartition(b")")[2].split()
    return None if state in (b"Z", b"X") else int(fields[18])


def namespace() -> int:
    """The number of this process's own space of process numbers."""
    return (PROC / "self/ns/pid").stat().st_ino


def below(pid: int) -> list[int]:
    """All processes that this one started, directly or not, and that live now."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        folder = f"/proc/{waiting.pop()}/task"
        children = _children(folder)
        found += children
        waiting += children
    return found


def _children(folder: str) -> list[int]:
    children: list[int] = []
    try:
        for thread in Path(folder).iterdir():
            children += [int(child) for child in (thread / "children").read_text().split()]
    except OSError:
        # It has ended meanwhile; its children are the init's now, and are seen next time.
        return children
    return children


def written_bytes(pid: int) -> int:
    """Bytes that a process, and those that it has seen end, made the kernel write to a disk."""
    try:
        lines = (PROC / str(pid) / "io").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("write_bytes:"))

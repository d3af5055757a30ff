"""Processes of this host by number and start time, which together name one for ever."""

from __future__ import annotations

from pathlib import Path

__all__ = ["below", "namespace", "start_time", "written_bytes"]

PROC = Path("/proc")


def start_time(pid: int) -> int | None:
    """When a process started, in the kernel's ticks since it booted; None when there is none."""
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    state, *fields = text.rpartition(")")[2].split()
    return None if state in ("Z", "X") else int(fields[18])


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

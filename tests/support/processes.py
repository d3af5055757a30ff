"""Looks at processes of this machine without signalling or waiting for chance."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from pathlib import Path


def children(parent: int) -> dict[int, str]:
    """Direct children by number, with their state letter."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == parent:
                found[int(entry.name)] = fields[0]
    return found


def descendants(parent: int) -> set[int]:
    """All processes below, as long as their parents live."""
    found: set[int] = set()
    for child in children(parent):
        found |= {child} | descendants(child)
    return found


def open_descriptors() -> set[str]:
    """What this process has open, by number and target."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")
        except OSError:
            continue
    return found


def processes_of_session(session: int) -> set[int]:
    """All processes of a session, by number."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session:
                found.add(int(entry.name))
    return found


class Watched:
    """Processes held by descriptor, so that their numbers can't be reused meanwhile."""

    def __init__(self, numbers: set[int]) -> None:
        self._descriptors = [*_held(numbers)]

    def all_ended(self, seconds: float = 30.0) -> bool:
        """Whether all of them end within the time."""
        poll = select.poll()
        ended = True
        for descriptor in self._descriptors:
            poll.register(descriptor, select.POLLIN)
            ended = ended and bool(poll.poll(seconds * 1000))
            poll.unregister(descriptor)
            os.close(descriptor)
        self._descriptors = []
        return ended


def _held(numbers: set[int]) -> Iterator[int]:
    for number in numbers:
        try:
            yield os.pidfd_open(number)
        except ProcessLookupError:
            continue

"""Where workspaces are made: the best file system that jails can get into and that has room."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from assay.api import HostIds
from assay.filesystems import FileSystem, file_system
from assay.host import mountable, reachable

__all__ = ["CANDIDATES", "Need", "best_place", "need_of"]

_VARIABLES = ("TMPDIR", "TEMP", "TMP")
CANDIDATES = (Path("/dev/shm"), Path("/tmp"), Path("/var/tmp"))
_UNSUITED = 3
_WRITTEN = 64 * 1024**2
_WRITTEN_ENTRIES = 1_000
"""What the jails of one worker are expected to add."""
_TREES = 3
"""Workspaces that one trial has at a time, roughly: the grading tree, variants, hidden tests."""
_BLOCK = 4096


@frozen
class Need:
    """Bytes and entries that all workspaces of a run take together, roughly."""

    size: int = _WRITTEN
    entries: int = _WRITTEN_ENTRIES


def need_of(folders: Iterable[str], workers: int) -> Need:
    """What so many workers need at a time, if each has the largest of these trees."""
    largest = [max(column) for column in zip(*map(_measured, folders), strict=True)] or [0, 0]
    return Need(
        workers * (_TREES * largest[0] + _WRITTEN),
        workers * (_TREES * largest[1] + _WRITTEN_ENTRIES),
    )


def _measured(folder: str) -> tuple[int, int]:
    size = entries = 0
    # Whether it is a sound tree, others look at.
    with suppress(OSError):
        for _, names, files, directory in os.fwalk(folder):
            entries += len(names) + len(files)
            for name in files:
                length = os.stat(name, dir_fd=directory, follow_symlinks=False).st_size
                size += -(-length // _BLOCK) * _BLOCK
    return size, entries


def best_place(store: Path, ids: HostIds | None, need: Need) -> Path:
    """Where workspaces are made: what `TMPDIR` names, or else the best file system with room.

    That is one in memory, then any other that is not slow at making what it has just removed.
    The last resort is beside the store, for jails that can't get into the temporary folder (one
    below a private home, say). Raises nothing: what has no room shows when a workspace is made.
    """
    given = any(os.environ.get(name) for name in _VARIABLES)
    usual = Path(tempfile.gettempdir())
    candidates = (usual,) if given else dict.fromkeys((*CANDIDATES, usual, store))
    suited = [
        (_rank(found, need), place)
        for place in candidates
        if _reached(place, ids) and (found := _found(place)) is not None
    ]
    return min(suited, key=lambda item: item[0])[1] if suited else store


def _rank(found: FileSystem, need: Need) -> int:
    """The lower the better; order of the candidates decides between equal ones."""
    # What is in memory takes memory away from everybody: twice what is needed must be free.
    spare = 2 if found.in_memory else 1
    roomy = found.free >= spare * need.size and (found.inodes or need.entries) >= need.entries
    if not roomy or not found.executable:
        return _UNSUITED
    if found.in_memory:
        return 0
    return 2 if found.journal is False else 1


def _found(place: Path) -> FileSystem | None:
    try:
        found = file_system(place)
    except OSError:
        return None
    usable = not found.read_only and os.access(place, os.W_OK | os.X_OK)
    return found if usable else None


def _reached(place: Path, ids: HostIds | None) -> bool:
    try:
        return mountable(place) and (ids is None or reachable(place, ids))
    except OSError:
        return False

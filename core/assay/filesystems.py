"""What is known of the file system behind a folder, and how well it suits workspaces."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from assay.api.files import open_root, opened, write_new
from assay.api.folders import temporary_folder

__all__ = ["FileSystem", "create_after_delete", "file_system"]

MOUNTS = Path("/proc/self/mountinfo")
MEMORY = Path("/proc/meminfo")
EXT4 = Path("/sys/fs/ext4")
FILES = 500

_IN_MEMORY = ("tmpfs", "ramfs")
_ESCAPED = re.compile(r"\\([0-7]{3})")


@frozen
class FileSystem:
    """Kind and flags of a mounted file system, and the room that this user has there.

    Bytes and inodes; `inodes` is None where they are not counted. `journal` is None where it
    can't be told.
    """

    kind: str
    read_only: bool
    executable: bool
    setuid: bool
    free: int
    inodes: int | None
    journal: bool | None = None

    @property
    def in_memory(self) -> bool:
        """Whether it is in memory, where making and removing files is quick."""
        return self.kind in _IN_MEMORY


def file_system(place: Path) -> FileSystem:
    """The file system that holds a folder; raises OSError."""
    room = os.statvfs(place)
    kind, device = _mounted(os.path.realpath(place))
    free = room.f_bavail * room.f_frsize
    if kind in _IN_MEMORY:
        free = min(free, _memory(free))
    return FileSystem(
        kind,
        read_only=bool(room.f_flag & os.ST_RDONLY),
        executable=not room.f_flag & os.ST_NOEXEC,
        setuid=not room.f_flag & os.ST_NOSUID,
        free=free,
        inodes=room.f_favail if room.f_files else None,
        journal=_journal(device) if kind == "ext4" else None,
    )


def _mounted(place: str) -> tuple[str, str]:
    """Kind and device of the file system mounted nearest above a path, the last one if several."""
    best, kind, device = "", "unknown", ""
    try:
        # A mount's name may hold anything but the end of a line.
        lines = MOUNTS.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    except OSError:
        return kind, device
    for line in filter(None, lines):
        before, _, after = line.partition(" - ")
        where = _ESCAPED.sub(lambda match: chr(int(match.group(1), 8)), before.split(" ")[4])
        inside = place == where or place.startswith(where.rstrip("/") + "/")
        if inside and len(where) >= len(best):
            best, (kind, device, *_) = where, after.split(" ")
    return kind, device


def _memory(unknown: int) -> int:
    """Bytes of memory that are available on this host."""
    with suppress(OSError, IndexError, ValueError):
        for line in MEMORY.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return unknown


def _journal(device: str) -> bool | None:
    name = os.path.basename(os.path.realpath(device))
    try:
        return (EXT4 / name / "journal_task").read_text().strip() != "<none>"
    except OSError:
        return None


def create_after_delete(place: Path) -> float:
    """How much longer it takes to make files right after as many were removed; a ratio.

    Workspaces are made and removed in turn, which some file systems are slow at. Raises
    CopyFailed, NoSpace or OSError.
    """
    with temporary_folder("doctor", place) as folder, opened(open_root(folder)) as directory:
        fresh = _make(directory)
        for number in range(FILES):
            os.unlink(f"{number}", dir_fd=directory)
        return _make(directory) / fresh


def _make(directory: int) -> float:
    started = time.perf_counter()
    for number in range(FILES):
        write_new(directory, f"{number}", b"x", 0o600)
    return time.perf_counter() - started

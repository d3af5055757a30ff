"""State of the host that belongs to everybody: mounts, control groups, settings, folders.

On a busy host it changes all the time, so only what must not change is told, and what bears the
token of a run.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from assay.api import HostIds
from assay_sandbox.tables import read_table, rows

__all__ = [
    "control_groups",
    "mount_table",
    "mounts",
    "reachable",
    "settings",
    "stat_of",
    "with_token",
]

STEADY_PLACES = ("/", "/usr", "/etc", "/proc", "/dev", "/tmp", "/home", "/sys")
SETTINGS = ("kernel/core_pattern", "kernel/hostname", "kernel/domainname", "kernel/modprobe")


def mount_table() -> str:
    """The kernel's list of this process's mounts."""
    return read_table("/proc/self/mountinfo")


def control_groups(token: str) -> object:
    """The groups of this process, and groups that bear the token at their roots or beside it."""
    own = read_table("/proc/self/cgroup")
    names = [row.split(":", 2)[2].strip("/") for row in rows(own)]
    roots = [Path(row.split(" ")[4]) for row in rows(mount_table()) if " - cgroup" in row]
    places = sorted({root / name for root in roots for name in ("", *names)})
    return own, [with_token(place, token) for place in places]


def with_token(folder: Path, token: str) -> list[str]:
    """Names in a folder that bear the token; none where it can't be read."""
    try:
        return sorted(name for name in os.listdir(folder) if token in name)
    except OSError:
        return []


def mounts(mountinfo: str, token: str) -> tuple[frozenset[str], int]:
    """The mounts that hold the system's folders, with their flags, and how many bear the token."""
    lines = [line.split(" ") for line in rows(mountinfo)]
    steady = frozenset(" ".join(fields[:6]) for fields in lines if fields[4] in STEADY_PLACES)
    return steady, sum(token in " ".join(fields) for fields in lines)


def settings() -> tuple[str, ...]:
    """Names and hooks of the kernel, as digests."""
    found = []
    for name in SETTINGS:
        try:
            content = Path("/proc/sys", name).read_bytes()
        except OSError:
            content = b""
        found.append(hashlib.sha256(content).hexdigest())
    return tuple(found)


def reachable(folder: Path, ids: HostIds) -> bool:
    """Whether a user of these ids can pass through to a folder."""
    for place in (folder, *folder.absolute().parents):
        info = place.stat()
        shift = 6 if info.st_uid == ids.uid else 3 if info.st_gid == ids.gid else 0
        if not info.st_mode >> shift & 1:
            return False
    return True


def stat_of(path: Path) -> tuple[int, ...]:
    info = os.stat(path, follow_symlinks=False)
    return info.st_mode, info.st_ino, info.st_nlink, info.st_size, info.st_mtime_ns, info.st_uid

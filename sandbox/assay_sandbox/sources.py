"""Where the mounts of a jail come from: each place is checked before nsjail is told of it."""

from __future__ import annotations

import os
import stat

from assay.api import Mount, SandboxFailed
from assay_sandbox.tables import read_table, rows

__all__ = [
    "capacity",
    "check_capacity",
    "checked_source",
    "host_mounts",
    "inside",
    "is_folder",
    "layers",
    "unescape",
]


def inside(path: str, directory: str) -> bool:
    """Whether a path is a directory or lies in it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def layers(mount: Mount) -> str:
    """Options of an overlay: without a layer to write to where the mount is read-only."""
    sources = (mount.source, mount.upper, *((mount.work,) if mount.writable else ()))
    lower, upper, *work = (checked_source(source, directory=True) for source in sources)
    if any(character in path for path in (lower, upper, *work) for character in ",:\\"):
        raise SandboxFailed("mounts", "a layer's path holds a character that separates options")
    if work:
        return f"lowerdir={lower},upperdir={upper},workdir={work[0]},userxattr"
    return f"lowerdir={upper}:{lower},userxattr"


def check_capacity(mount: Mount, most: int) -> None:
    """Only a file system with a size of its own may be written by a descriptor."""
    if mount.writable and mount.descriptor >= 0 and capacity(mount) > (mount.size or most):
        raise SandboxFailed("mounts", "a writable file system is larger than the profile allows")


def capacity(mount: Mount) -> int:
    """Bytes that the file system of a mount by descriptor can hold."""
    whole = os.fstatvfs(mount.descriptor)
    return whole.f_blocks * whole.f_frsize


def is_folder(descriptor: int) -> bool:
    """Whether a descriptor of this process is that of a directory."""
    try:
        return stat.S_ISDIR(os.fstat(descriptor).st_mode)
    except OSError:
        return False


def checked_source(source: str, *, directory: bool) -> str:
    """The real path of a mount's source: no link itself, of its kind, without other mounts."""
    if not source.startswith("/"):
        raise SandboxFailed("mounts", "a mount has no absolute source")
    try:
        mode = os.lstat(source).st_mode
    except (OSError, ValueError):
        mode = 0
    if stat.S_ISLNK(mode):
        raise SandboxFailed("mounts", "a mount's source is a symbolic link")
    if not (stat.S_ISDIR(mode) if directory else stat.S_ISREG(mode)):
        raise SandboxFailed("mounts", "a mount's source is absent or of another kind")
    real = os.path.realpath(source)
    if any(place != real and inside(place, real) for place in host_mounts()):
        raise SandboxFailed("mounts", "a mount's source holds other mounts")
    return real


def host_mounts() -> list[str]:
    """Mount points of this process, as paths."""
    return [unescape(row.split(" ")[4]) for row in rows(read_table("/proc/self/mountinfo"))]


def unescape(field: str) -> str:
    """A path as the kernel escapes it in mountinfo."""
    if "\\" not in field:
        return field
    for code in ("\\040", "\\011", "\\012"):
        field = field.replace(code, chr(int(code[1:], 8)))
    return field.replace("\\134", "\\")

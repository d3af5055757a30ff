"""Finds programs and libraries of the system by name where jails see them, and only there."""

from __future__ import annotations

import hashlib
import os
import platform
import stat
from pathlib import Path

from attrs import frozen

from assay_sandbox.layout import ROOT_NAMES, SYSTEM_DIRECTORIES, SYSTEM_FILES

__all__ = ["ProgramFound", "find_library", "find_program"]

FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin")
"""What a jail's PATH holds of the system, in its order."""

LIBRARIES = {
    "libfaketime": tuple(
        f"/usr/{folder}/faketime/libfaketime.so.1"
        for folder in (f"lib/{platform.machine()}-linux-gnu", "lib64", "lib", "local/lib")
    )
}
"""Where distributions put a library that is meant to be preloaded."""

MOST_LINKS = 40
EVERYBODY_RUNS = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH


@frozen
class ProgramFound:
    """The path of a program and the digest of its file; or `reason`, why it can't be used."""

    path: str = ""
    digest: str = ""
    reason: str = ""


def find_program(name: str) -> ProgramFound:
    """The first program of this name on a jail's PATH.

    The caller's own PATH does not count: what is there may lie where no jail looks.
    """
    problem = "not found in the system's folders for programs; install it there"
    for folder in FOLDERS:
        path = f"{folder}/{name}"
        if not os.path.lexists(path):
            continue
        real = _visible_target(path)
        if real is None:
            problem = "leads to a place that jails don't see; install it below /usr"
        elif not stat.S_ISREG(mode := real.stat().st_mode) or mode & 0o111 != EVERYBODY_RUNS:
            problem = "is not a program that every user can start"
        else:
            return ProgramFound(path, _digest(real))
    return ProgramFound(reason=problem)


def find_library(name: str) -> ProgramFound:
    """A library to be preloaded, by its name here; raises KeyError for any other one."""
    for path in LIBRARIES[name]:
        real = _visible_target(path) if os.path.lexists(path) else None
        if real is not None and stat.S_ISREG(mode := real.stat().st_mode) and mode & stat.S_IROTH:
            return ProgramFound(path, _digest(real))
    return ProgramFound(reason="not found; install your system's package libfaketime")


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()


def _visible_target(path: str) -> Path | None:
    """The file that a path leads to, if every link on the way is visible in a jail too."""
    for _ in range(MOST_LINKS):
        folder = os.path.realpath(os.path.dirname(path))
        path = os.path.join(folder, os.path.basename(path))
        if not _visible(path):
            return None
        if not os.path.islink(path):
            return Path(path) if os.path.exists(path) else None
        path = os.path.join(folder, os.readlink(path))
    return None


def _visible(path: str) -> bool:
    roots = (*SYSTEM_DIRECTORIES, *(f"/{name}" for name in ROOT_NAMES), *SYSTEM_FILES)
    return any(Path(path).is_relative_to(root) for root in roots)

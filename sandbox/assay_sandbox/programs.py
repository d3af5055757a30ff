"""Finds programs of the system by name where jails see them, and only there."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from attrs import frozen

from assay_sandbox.layout import ROOT_NAMES, SYSTEM_DIRECTORIES, SYSTEM_FILES

__all__ = ["ProgramFound", "find_program"]

FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin")
"""What a jail's PATH holds of the system, in its order."""

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
            with real.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            return ProgramFound(path, f"sha256:{digest}")
    return ProgramFound(reason=problem)


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

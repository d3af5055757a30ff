"""Suites that come with this installation, addressed `builtin:NAME`.

Some installers save space by linking files from a cache instead of copying them. A tree may
hold no links, since a link's content can change from elsewhere; so a suite that was installed
that way is copied to a private folder, which lasts as long as the process.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from threading import Lock

from assay.api.errors import CleanupFailed, CopyFailed, UsageError
from assay.api.files import copy_fault
from assay.api.folders import MarkedFolder
from assay.api.paths import is_slug

__all__ = ["builtin_folder", "builtin_names", "without_links"]

_copies: dict[Path, Path] = {}
_lock = Lock()


def builtin_folder(name: str) -> Path:
    """The folder of a shipped suite, without links; raises UsageError for an unknown one."""
    known = builtin_names()
    if not is_slug(name) or name not in known:
        raise UsageError(f"unknown builtin suite; known: {', '.join(known) or 'none'}")
    return without_links(_shipped() / name)


def builtin_names() -> tuple[str, ...]:
    """Names of the suites that come with this installation, sorted."""
    return tuple(
        sorted(path.parent.name for path in _shipped().glob("*/suite.json") if path.is_file())
    )


def without_links(folder: Path) -> Path:
    """The folder itself, or a private copy if a file in it is a link or has another name.

    The copy has the same content and execute bits and is removed when this process exits.
    Worker processes are given its place, so that a run has one. Raises CopyFailed, NoSpace.
    """
    with _lock:
        if folder not in _copies:
            linked = any(_is_linked(path) for path in _walk(folder))
            _copies[folder] = _private_copy(folder) if linked else folder
        return _copies[folder]


def _shipped() -> Path:
    """Inside an installed wheel, or beside the sources of a checkout; never the cwd."""
    package = Path(str(files("assay")))
    installed = package / "_fixtures"
    return installed if installed.is_dir() else package.parent.parent / "fixtures"


def _walk(folder: Path) -> Iterator[Path]:
    for top, _, names in os.walk(folder):
        yield from (Path(top, name) for name in names)


def _is_linked(path: Path) -> bool:
    info = path.lstat()
    return stat.S_ISLNK(info.st_mode) or (stat.S_ISREG(info.st_mode) and info.st_nlink > 1)


def _private_copy(folder: Path) -> Path:
    try:
        parent = MarkedFolder.make("suite")
        atexit.register(_remove, parent, os.getpid())
        # What an interpreter left beside installed sources is no part of the suite.
        return shutil.copytree(
            folder, parent.path / folder.name, ignore=shutil.ignore_patterns("__pycache__")
        )
    except shutil.Error as error:
        raise CopyFailed(f"suite {folder.name}: not every file could be copied") from error
    except OSError as error:
        raise copy_fault(error, f"suite {folder.name}") from error


def _remove(folder: MarkedFolder, owner: int) -> None:
    # A forked child inherits what is to be done at exit, but not the folder.
    if os.getpid() == owner:
        with contextlib.suppress(CleanupFailed):
            folder.remove()

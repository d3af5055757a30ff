"""How long a run's artifacts are kept: by age and by size, the oldest go first.

Only finished runs are touched, and in them only what `artifacts/` holds under a digest's name:
plain files, found and removed by descriptor. Records and reports stay, and `assay show` says of an
artifact that is gone that it is no longer kept.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from assay.api import InvalidInput, UsageError
from assay.api.files import open_directory, open_root, opened
from assay.ledger import ARTIFACTS, open_run

__all__ = ["Pruned", "prune_artifacts"]

_DIGEST = re.compile(r"[0-9a-f]{64}")


@frozen
class Pruned:
    """What was removed, or with `dry_run` would be: files and bytes of artifacts."""

    runs: int
    files: int
    bytes: int


@frozen
class _Kept:
    """One artifact; the order is that in which they go."""

    age: float
    run: Path
    name: str
    size: int


def prune_artifacts(
    place: Path,
    *,
    now: float,
    max_age: float | None = None,
    max_bytes: int | None = None,
    dry_run: bool = False,
) -> Pruned:
    """Remove artifacts of the run at `place`, or of all runs that this folder holds.

    Those older than `max_age` seconds go, then the oldest until at most `max_bytes` are left.
    Raises UsageError when there is no run, OSError when a file can't be removed.
    """
    runs = [run for run in (place, *_folders(place)) if _is_finished(run)]
    if not runs:
        raise UsageError("there is no finished run in this folder")
    kept = sorted(
        (item for run in runs for item in _artifacts(run, now)),
        key=lambda item: (-item.age, str(item.run), item.name),
    )
    left = sum(item.size for item in kept)
    gone: list[_Kept] = []
    for item in kept:
        is_old = max_age is not None and item.age > max_age
        if is_old or (max_bytes is not None and left > max_bytes):
            gone.append(item)
            left -= item.size
    for item in () if dry_run else gone:
        # Somebody else may clean the same runs at this moment.
        with (
            suppress(FileNotFoundError),
            opened(open_root(item.run)) as root,
            opened(open_directory(root, ARTIFACTS)) as folder,
        ):
            os.unlink(item.name, dir_fd=folder)
    return Pruned(len(runs), len(gone), sum(item.size for item in gone))


def _folders(place: Path) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(place), key=lambda entry: entry.name)
    except OSError:
        raise UsageError("the folder of runs can't be read") from None
    return (Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))


def _is_finished(run: Path) -> bool:
    try:
        about = open_run(run).run
    except (InvalidInput, UsageError):
        return False
    return about.get("schema") == "assay-run-1" and "finished" in about


def _artifacts(run: Path, now: float) -> Iterator[_Kept]:
    try:
        with opened(open_root(run)) as root, opened(open_directory(root, ARTIFACTS)) as folder:
            for name in os.listdir(folder):
                info = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISREG(info.st_mode) and _DIGEST.fullmatch(name):
                    yield _Kept(now - info.st_mtime, run, name, info.st_size)
    except OSError:
        return

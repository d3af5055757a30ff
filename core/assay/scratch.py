"""Where a run's temporary folders are, and the one that its workspaces live in."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay.api import CleanupFailed, TrialRecord
from assay.api.files import copy_fault
from assay.api.folders import MarkedFolder, folder_kind, temporary_folder
from assay.eviction import StoreLimits, evict
from assay.filesystems import file_system
from assay.host import Components
from assay.leftovers import Fate, sweep
from assay.placement import CANDIDATES, Need, best_place

__all__ = ["RunFolders", "run_folders", "scratch_folder", "scratch_places"]

_KIND = "run"
# The jail's user must pass through to its workspace, but can't list what is beside it.
_PASSAGE = 0o711


class RunFolders:
    """The temporary folders of one run: one for all, and in it each trial's workspaces."""

    def __init__(self, folder: MarkedFolder, reaped: int = 0, evicted: int = 0) -> None:
        self._folder = folder
        self._reaped, self._evicted = reaped, evicted
        self._kind = file_system(folder.path).kind
        self._told: set[str] = set()
        self.created = 1
        """How many were made, as far as is known; all of them once it is closed."""
        self.leaks: tuple[str, ...] = ()
        """Names of those that are left when it is closed."""

    @property
    def path(self) -> str:
        """Where workspaces are made."""
        return str(self._folder.path)

    @property
    def removed(self) -> int:
        """How many of those that were made are gone when it is closed."""
        return self.created - len(self.leaks)

    def count(self, record: TrialRecord) -> None:
        """The workspaces that a trial made."""
        self.created += record.workspaces
        self._told.update(record.leaks)

    def close(self) -> None:
        """Remove them all, also what a lost worker left; what can't be removed is a leak."""
        self.created += len(set(self._inside()) - self._told)
        try:
            self._folder.remove()
        except CleanupFailed:
            self.leaks = (self._folder.name, *self._inside())

    def told(self) -> dict[str, Any]:
        """What the run's record says of them, when they are closed."""
        return {
            "workspaces_on": self._kind,
            "folders": {
                "reaped": self._reaped,
                "created": self.created,
                "removed": self.removed,
            },
            "evicted": self._evicted,
            "leaks": list(self.leaks),
        }

    def _inside(self) -> tuple[str, ...]:
        try:
            names = os.listdir(self._folder.path)
        except OSError:
            return ()
        return tuple(sorted(name for name in names if folder_kind(name)))


@contextmanager
def run_folders(components: Components, need: Need, limits: StoreLimits) -> Iterator[RunFolders]:
    """The folders of a run for the time of a block; raises CopyFailed or NoSpace before it.

    What others left is removed first.

    What can't be removed is told by `leaks`, not raised: it changes no verdict.
    """
    reaped = _reaped(components.store.root, limits)
    try:
        folder = MarkedFolder.make(_KIND, _place(components, need))
    except OSError as error:
        raise copy_fault(error, "temporary folder could not be made") from None
    folders = RunFolders(folder, *reaped)
    try:
        os.fchmod(folder.fd, _PASSAGE)
        yield folders
    finally:
        folders.close()


@contextmanager
def scratch_folder(components: Components, need: Need | None = None) -> Iterator[str]:
    """A new folder for workspaces, removed on leaving whatever happened.

    Raises CopyFailed or NoSpace before the block, CleanupFailed after it.
    """
    with temporary_folder(_KIND, _place(components, need or Need()), mode=_PASSAGE) as folder:
        yield str(folder)


def scratch_places(store: Path) -> tuple[Path, ...]:
    """Every folder of this host in which temporary folders of ours may be."""
    return (Path(tempfile.gettempdir()), *CANDIDATES, store)


def _reaped(store: Path, limits: StoreLimits) -> tuple[int, int]:
    """Remove what killed runs left, and what the store no longer needs; how many of each."""
    found = sweep(scratch_places(store))
    kept = evict(store, limits)
    return (
        sum(item.fate is Fate.REMOVED for item in found),
        sum(item.fate is Fate.REMOVED for item in kept),
    )


def _place(components: Components, need: Need) -> Path:
    return best_place(components.store.root, components.sandbox.capabilities().ids, need)

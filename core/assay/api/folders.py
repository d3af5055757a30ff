"""Temporary folders of ours: named, marked, held, and removed by us alone.

    assay-KIND-XXXXXXXX/
        assay-folder.json   the marker: whose folder this is; removed last
        …

Nothing is ever removed for its name. The marker repeats the name and names the process that
made the folder; while that process uses the folder it holds a lock on it, which ends with the
process however it ends. So what a killed process left can be told from what is in use, and
from what only looks like ours.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from attrs import asdict, define, field

from assay.api.errors import CleanupFailed, UsageError
from assay.api.files import copy_fault, open_root, remove_tree, write_new
from assay.api.makers import Maker, this_process

__all__ = [
    "MARKER",
    "MarkedFolder",
    "folder_kind",
    "read_marker",
    "remove_marked",
    "temporary_folder",
]

MARKER = "assay-folder.json"
_SCHEMA = "assay-folder-1"
_NAME = re.compile(r"assay-([a-z]{2,16})-[a-z0-9_]{8}")
_KIND = re.compile(r"[a-z]{2,16}")
_ATTEMPTS = 4
_NEEDED_TO_REMOVE = 3
_PAUSE = 0.05


def folder_kind(name: str) -> str | None:
    """What kind of folder has this name; None when none of ours could."""
    found = _NAME.fullmatch(name)
    return found.group(1) if found else None


def read_marker(content: bytes, name: str) -> Maker | None:
    """Who made the folder of this name, from its marker; None when the marker says no such thing.

    A marker that was cut off while it was written names nobody.
    """
    try:
        document = json.loads(content)
        if document["schema"] != _SCHEMA or document["folder"] != name:
            return None
        made = document["maker"]
        numbers = [made[key] for key in ("space", "pid", "started")]
        if not isinstance(made["boot"], str) or not all(type(number) is int for number in numbers):
            return None
        return Maker(made["boot"], *numbers)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


@define
class MarkedFolder:
    """A folder that this process made and holds until it removes it, or ends."""

    path: Path
    parent_fd: int
    fd: int
    removed: bool = False
    _spare: list[int] = field(factory=list)

    @classmethod
    def make(cls, kind: str, place: str | os.PathLike[str] | None = None) -> Self:
        """A new empty folder (but for its marker) in a place; mode 0700.

        `kind` is 2 to 16 letters; without a place it is the usual temporary folder. Raises
        OSError; then nothing is left.
        """
        if not _KIND.fullmatch(kind):
            raise UsageError("the kind of a temporary folder is 2 to 16 lower-case letters")
        where = Path(place or tempfile.gettempdir()).absolute()
        spare: list[int] = []
        parent_fd = os.open(where, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # What the removal will need must be there when there is no descriptor left.
            spare += (os.dup(parent_fd) for _ in range(_NEEDED_TO_REMOVE))
            path = Path(tempfile.mkdtemp(prefix=f"assay-{kind}-", dir=where))
            try:
                folder = cls(path, parent_fd, open_root(path), spare=spare)
            except BaseException:
                path.rmdir()
                raise
        except BaseException:
            for descriptor in (*spare, parent_fd):
                os.close(descriptor)
            raise
        try:
            folder._mark()
        except BaseException as error:
            folder.remove(cause=error)
            raise
        return folder

    def _mark(self) -> None:
        # Not every file system has such locks; then the maker's life has to do.
        with suppress(OSError):
            # Whoever looks at it just now lets go at once.
            fcntl.flock(self.fd, fcntl.LOCK_SH)
        marker = {"schema": _SCHEMA, "folder": self.name, "maker": asdict(this_process())}
        write_new(self.fd, MARKER, json.dumps(marker).encode("ascii"), 0o600)

    @property
    def name(self) -> str:
        """Name of the folder; it may be shown."""
        return self.path.name

    def remove(self, *, cause: BaseException | None = None) -> None:
        """Remove the folder if it is still the one we made; idempotent.

        Raises CleanupFailed, from `cause`, when something is left after a few attempts; the
        marker goes last, so what is left can be recognised. A later call tries again.
        """
        if self.removed:
            return
        while self._spare:
            os.close(self._spare.pop())
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(_PAUSE * attempt)
            try:
                remove_marked(self.parent_fd, self.name, self.fd)
            except OSError:
                continue
            self.removed = True
            os.close(self.fd)
            os.close(self.parent_fd)
            return
        raise CleanupFailed(self.name) from cause


def remove_marked(parent_fd: int, name: str, fd: int) -> None:
    """Remove the folder behind `fd` if it is what the name stands for; the marker goes last.

    The caller answers for its being ours. Raises OSError; a second call continues.
    """
    try:
        found = os.stat(name, dir_fd=parent_fd, follow_symlinks=False)
    except FileNotFoundError:
        return
    ours = os.fstat(fd)
    if (found.st_dev, found.st_ino) != (ours.st_dev, ours.st_ino):
        raise FileExistsError(errno.EEXIST, "the folder is not the one that was made")
    for inside in os.listdir(fd):
        if inside != MARKER:
            with suppress(FileNotFoundError):
                remove_tree(fd, os.fsencode(inside))
    with suppress(FileNotFoundError):
        os.unlink(MARKER, dir_fd=fd)
    os.rmdir(name, dir_fd=parent_fd)


@contextmanager
def temporary_folder(
    kind: str, place: str | os.PathLike[str] | None = None, *, mode: int = 0o700
) -> Iterator[Path]:
    """A marked folder for the time of a block.

    Raises CopyFailed or NoSpace when it can't be made, CleanupFailed, caused by what the block
    raised, when it can't be removed.
    """
    try:
        folder = MarkedFolder.make(kind, place)
    except OSError as error:
        raise copy_fault(error, "temporary folder could not be made") from None
    try:
        folder.path.chmod(mode)
        yield folder.path
    except BaseException as raised:
        folder.remove(cause=raised)
        raise
    folder.remove()

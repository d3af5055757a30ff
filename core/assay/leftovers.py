"""Temporary folders that dead processes left: found, told from look-alikes, removed.

A folder is removed only when its name, its marker and its owner say that it is ours, nobody
holds it, and its maker is dead, or, where nobody can tell, when it is older than a day.
Whatever else bears such a name is left alone, and told.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from enum import Enum
from pathlib import Path

from attrs import frozen

from assay.api.files import DIRECTORY_FLAGS, FILE_FLAGS, opened
from assay.api.folders import MARKER, folder_kind, read_marker, remove_marked
from assay.api.makers import Life, Maker, life_of

__all__ = ["DAY", "Fate", "Found", "sweep"]

DAY = 24 * 3600.0
_MARKER_BYTES = 4096
_LEVELS = 3
_ATTEMPTS = 4
_PAUSE = 0.05
_MARKING = 60.0
"""Seconds after which a maker has long marked its folder, or is dead."""


class Fate(Enum):
    """What became of something that bears a name of ours."""

    REMOVED = "removed"
    REMOVABLE = "removable"
    """It would have been removed, had that been asked for."""
    IN_USE = "in-use"
    YOUNG = "young"
    """Nobody can tell whether its maker lives, and it is not old enough."""
    STUCK = "stuck"
    """It is ours to remove, and could not be."""
    FOREIGN = "foreign"
    """It looks like ours and is not: it is left alone."""


@frozen
class Found:
    """One folder: its name, its fate, and why where that needs saying. Never a host path."""

    name: str
    kind: str
    fate: Fate
    why: str = ""


def sweep(
    places: Iterable[Path], *, older_than: float = DAY, dry_run: bool = False
) -> tuple[Found, ...]:
    """Remove what dead processes left directly in these folders; in order of names.

    `older_than`, in seconds, is for what names no process that can be looked for. Nothing
    raises: a place that can't be read holds nothing that could be removed.
    """
    found: list[Found] = []
    for place in sorted({os.path.realpath(place) for place in places}):
        with suppress(OSError), opened(os.open(place, DIRECTORY_FLAGS)) as fd:
            found += _Sweeper(older_than, dry_run).all_in(fd)
    return tuple(sorted(found, key=lambda item: item.name))


@frozen
class _Sweeper:
    older_than: float
    dry_run: bool
    levels: int = _LEVELS

    def all_in(self, place: int) -> Iterator[Found]:
        """Each folder of a place that bears a name of ours."""
        for name in sorted(os.listdir(place)):
            kind = folder_kind(name)
            if kind is not None:
                yield from self._one(place, name, kind)

    def _one(self, place: int, name: str, kind: str) -> Iterator[Found]:
        try:
            fd = os.open(name, DIRECTORY_FLAGS, dir_fd=place)
        except FileNotFoundError:
            return
        except OSError as error:
            yield Found(name, kind, Fate.FOREIGN, _unopened(error))
            return
        with opened(fd):
            fate, why = self._judge(place, fd, name)
            if not _is_there(place, name, fd):
                # Somebody else has just removed it.
                return
            if fate is Fate.REMOVABLE:
                inside = tuple(self._inside(fd))
                yield from inside
                if any(item.fate in (Fate.IN_USE, Fate.YOUNG) for item in inside):
                    fate, why = Fate.IN_USE, "something inside is in use"
                elif not self.dry_run:
                    fate, why = _remove(place, name, fd)
            yield Found(name, kind, fate, why)

    def _inside(self, fd: int) -> Iterator[Found]:
        """What is still in use in there must stay, whoever made what is around it."""
        if self.levels:
            for name in sorted(os.listdir(fd)):
                kind = folder_kind(name)
                if kind is not None:
                    below = _Sweeper(self.older_than, self.dry_run, self.levels - 1)
                    yield from below._one(fd, name, kind)

    def _judge(self, place: int, fd: int, name: str) -> tuple[Fate, str]:
        info = os.fstat(fd)
        if info.st_uid != os.geteuid():
            return Fate.FOREIGN, "it belongs to somebody else"
        if info.st_dev != os.fstat(place).st_dev:
            return Fate.FOREIGN, "another file system is mounted there"
        if not _lock(fd):
            return Fate.IN_USE, ""
        try:
            marker = _marker(fd)
        except FileNotFoundError:
            return self._unmarked(fd, info)
        except OSError:
            return Fate.FOREIGN, "its marker can't be read"
        if marker is None:
            return Fate.FOREIGN, "its marker is not a file of ours"
        content, written = marker
        maker = read_marker(content, name)
        if maker is None and not _cut_short(content):
            return Fate.FOREIGN, "its marker is of something else"
        return self._by_life(maker, max(written, info.st_mtime))

    def _unmarked(self, fd: int, info: os.stat_result) -> tuple[Fate, str]:
        """Its maker may have died before it wrote the marker: then there is nothing in it."""
        if os.listdir(fd):
            return Fate.FOREIGN, "it has no marker"
        if time.time() - info.st_mtime < _MARKING:
            return Fate.YOUNG, "its maker may be about to mark it"
        return self._by_life(None, info.st_mtime)

    def _by_life(self, maker: Maker | None, since: float) -> tuple[Fate, str]:
        life = Life.UNKNOWN if maker is None else life_of(maker)
        if life is Life.ALIVE:
            return Fate.IN_USE, ""
        if life is Life.DEAD or time.time() - since > self.older_than:
            return Fate.REMOVABLE, ""
        return Fate.YOUNG, "whether its maker lives can't be told"


def _marker(fd: int) -> tuple[bytes, float] | None:
    """Content of the marker and when it was written; None when it is no plain file of ours."""
    try:
        descriptor = os.open(MARKER, FILE_FLAGS, dir_fd=fd)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            return None
        raise
    with opened(descriptor):
        info = os.fstat(descriptor)
        plain = stat.S_ISREG(info.st_mode) and info.st_nlink == 1
        if not plain or info.st_uid != os.geteuid() or info.st_size > _MARKER_BYTES:
            return None
        return os.read(descriptor, _MARKER_BYTES), info.st_mtime


def _cut_short(content: bytes) -> bool:
    """Whether its maker was killed, or the host lost power, while the marker was written."""
    return not content.strip(b"\0")


def _is_there(place: int, name: str, fd: int) -> bool:
    try:
        found = os.stat(name, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(found, os.fstat(fd))


def _lock(fd: int) -> bool:
    """Whether nobody else holds the folder; kept until the descriptor is closed."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
    return True


def _remove(place: int, name: str, fd: int) -> tuple[Fate, str]:
    problem = ""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE * attempt)
        try:
            _remove_once(place, name, fd)
        except OSError as error:
            problem = os.strerror(error.errno or 0)
        else:
            return Fate.REMOVED, ""
    return Fate.STUCK, problem


def _remove_once(place: int, name: str, fd: int) -> None:
    try:
        os.stat(MARKER, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        # Without a marker it goes only if it is empty: nothing can be lost with it.
        os.rmdir(name, dir_fd=place)
    else:
        remove_marked(place, name, fd)


def _unopened(error: OSError) -> str:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return "it is no folder"
    return "it can't be opened"

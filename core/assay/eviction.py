"""What a store no longer needs: removed by age and size, never what a live process uses.

Trees that nobody used for long go first, then the least recently used ones until the store is
within its size. What a killed process left unfinished goes too.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from assay.api import UsageError
from assay.api.files import DIRECTORY_FLAGS, open_directory, open_root, opened, remove_tree
from assay.leases import UNFINISHED, USED, Lease, live_leases, locked, maker_of, used_name
from assay.leftovers import DAY, Fate
from assay.store import BLOBS, LOWERS, NOTES, TREES

__all__ = ["Kept", "StoreLimits", "evict", "store_limits"]

_DIGEST_NAME = re.compile("[0-9a-f]{64}")
_TREES_NAME = re.compile(rf"(?:{TREES}|{LOWERS})(-[0-9]+)?")
_SIZE = re.compile(r"([0-9]{1,12})([KMGT]?)")
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_DISK_BLOCK = 512
_SIZE_BYTES = 32


@frozen
class StoreLimits:
    """How large a store may be, in bytes, and for how many seconds something may be unused."""

    size: int = 20 * 1024**3
    age: float = 30 * DAY


@frozen
class Kept:
    """One thing of the store: its kind, its name, about how many bytes, when it was used."""

    kind: str
    name: str
    size: int
    used: float
    fate: Fate = Fate.IN_USE
    """IN_USE also says that it is wanted: neither old nor over the size."""


def store_limits() -> StoreLimits:
    """The limits of this host: `ASSAY_STORE_SIZE`, such as 20G, and `ASSAY_STORE_DAYS`.

    Raises UsageError for a value that is none.
    """
    defaults = StoreLimits()
    size, age = defaults.size, defaults.age
    if text := os.environ.get("ASSAY_STORE_SIZE"):
        match = _SIZE.fullmatch(text)
        if match is None:
            raise UsageError("ASSAY_STORE_SIZE: a number of bytes, or one with K, M, G or T")
        size = int(match.group(1)) * _UNITS[match.group(2)]
    if text := os.environ.get("ASSAY_STORE_DAYS"):
        if not (text.isascii() and text.isdecimal() and len(text) <= 6):
            raise UsageError("ASSAY_STORE_DAYS: a whole number of days")
        age = int(text) * DAY
    return StoreLimits(size, age)


def evict(
    root: Path, limits: StoreLimits, *, dry_run: bool = False, now: float | None = None
) -> tuple[Kept, ...]:
    """Evict from the store in this folder; what was there, and what became of it.

    A folder that is no store, or can't be read, holds nothing. `now` is for tests.
    """
    moment = time.time() if now is None else now
    if not _is_store(root):
        return ()
    lease = Lease(root)
    try:
        with locked(root, exclusive=True):
            live = live_leases(root)
            held = frozenset(key for keys in live.values() for key in keys)
            there = tuple(_all(root, live, moment))
            chosen = _chosen(there, held, limits, moment)
            # Out of reach first, which is quick; the bulk is removed when others go on.
            moved = [] if dry_run else [_set_aside(root, item, lease) for item in chosen]
            if not dry_run:
                _forget(root)
        if dry_run:
            fates = dict.fromkeys(chosen, Fate.REMOVABLE)
        else:
            fates = {
                item: _removed(root, item, name) for item, name in zip(chosen, moved, strict=True)
            }
    except OSError:
        return ()
    finally:
        lease.close()
    return tuple(
        Kept(item.kind, item.name, item.size, item.used, fates.get(item, Fate.IN_USE))
        for item in there
    )


def _is_store(root: Path) -> bool:
    try:
        with opened(open_root(root)) as folder:
            info = os.fstat(folder)
            names = set(os.listdir(folder))
    except OSError:
        return False
    return info.st_uid == os.geteuid() and {BLOBS, NOTES, USED} <= names


def _all(root: Path, live: dict[str, frozenset[str]], now: float) -> Iterator[Kept]:
    with opened(open_root(root)) as store:
        for folder in sorted(os.listdir(store)):
            kind = {BLOBS: "blob", NOTES: "note", USED: "use"}.get(folder)
            if kind is None and not _TREES_NAME.fullmatch(folder):
                continue
            with opened(open_directory(store, folder)) as inside:
                for name in sorted(os.listdir(inside)):
                    info = os.stat(name, dir_fd=inside, follow_symlinks=False)
                    key = f"{folder}/{name}"
                    if name.startswith(UNFINISHED):
                        if maker_of(name) not in live and _is_lost(name, info, now):
                            yield Kept("unfinished", key, 0, 0.0)
                    elif not _DIGEST_NAME.fullmatch(name):
                        continue
                    elif kind is not None:
                        yield Kept(kind, key, info.st_size, info.st_mtime)
                    elif stat.S_ISDIR(info.st_mode):
                        yield Kept("tree", key, *_use(root, key, inside, now))


def _is_lost(name: str, info: os.stat_result, now: float) -> bool:
    return maker_of(name) is not None or now - info.st_mtime > DAY


def _use(root: Path, key: str, folder: int, now: float) -> tuple[int, float]:
    """Bytes of a tree and when it was used; what nobody noted is measured, and new."""
    try:
        with opened(open_root(root / USED)) as used:
            descriptor = os.open(
                used_name(key), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=used
            )
            with opened(descriptor):
                return int(os.read(descriptor, _SIZE_BYTES)), os.fstat(descriptor).st_mtime
    except (OSError, ValueError):
        return _measured(folder, key.rpartition("/")[2]), now


def _measured(folder: int, name: str) -> int:
    total = 0
    with suppress(OSError):
        total = sum(
            info.st_blocks * _DISK_BLOCK
            for *_, files, directory in os.fwalk(name, dir_fd=folder, follow_symlinks=False)
            for info in (os.stat(file, dir_fd=directory, follow_symlinks=False) for file in files)
        )
    return total


def _chosen(
    there: Sequence[Kept], held: frozenset[str], limits: StoreLimits, now: float
) -> tuple[Kept, ...]:
    """What goes: the unfinished, then the old, then the least recently used above the size."""
    free = [item for item in there if item.name not in held]
    gone = [item for item in free if item.kind == "unfinished" or now - item.used > limits.age]
    total = sum(item.size for item in there) - sum(item.size for item in gone)
    for item in sorted(set(free) - set(gone), key=lambda item: (item.used, item.name)):
        if total <= limits.size:
            break
        if item.kind != "note":
            gone.append(item)
            total -= item.size
    return tuple(gone)


def _set_aside(root: Path, item: Kept, lease: Lease) -> str:
    """Give it a name that nobody looks up; the new name, or "" when it can't be moved."""
    folder, _, name = item.name.partition("/")
    if item.kind == "unfinished":
        return name
    fresh = lease.unfinished()
    try:
        with opened(open_root(root / folder)) as directory:
            os.rename(name, fresh, src_dir_fd=directory, dst_dir_fd=directory)
    except OSError:
        return ""
    return fresh


def _removed(root: Path, item: Kept, name: str) -> Fate:
    if not name:
        return Fate.STUCK
    folder = item.name.partition("/")[0]
    try:
        with opened(os.open(root / folder, DIRECTORY_FLAGS)) as directory:
            remove_tree(directory, name)
    except OSError as error:
        return Fate.REMOVED if error.errno == errno.ENOENT else Fate.STUCK
    return Fate.REMOVED


def _forget(root: Path) -> None:
    """Drop notes of use whose trees are gone, now or by somebody who was killed meanwhile."""
    with suppress(OSError), opened(open_root(root / USED)) as used:
        for name in os.listdir(used):
            folder, _, digest = name.rpartition(".")
            is_note = _TREES_NAME.fullmatch(folder) and _DIGEST_NAME.fullmatch(digest)
            if is_note and not (root / folder / digest).exists():
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=used)

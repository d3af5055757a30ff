"""Copying a known tree: read, digest and write in one pass, then equal or an error.

The manifest leads, never the source's own listing: what the manifest does not name is not
copied, and what differs from it ends the copy.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable

from attrs import field, frozen

from assay.api.errors import CopyMismatch
from assay.api.files import (
    DIRECTORY_FLAGS,
    FILE_FLAGS,
    copy_fault,
    open_directory,
    special_kind,
    write_all,
)
from assay.api.paths import components, parent
from assay.api.trees import Digest, Entry, EntryKind, RelPath

__all__ = ["Layout", "copy_tree", "give"]

_BLOCK = 1024**2
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MOVED_AWAY = frozenset({errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.ENXIO})


@frozen
class Layout:
    """Modes of a copy, and its owner; -1 leaves the user or group as it is."""

    directory: int
    file: int
    program: int
    uid: int = -1
    gid: int = -1


@frozen
class _Level:
    """A directory under way: its path, and descriptors in the source and in the copy."""

    path: RelPath | None
    source: int
    target: int
    owned: bool = field(default=True)

    def close(self) -> None:
        if self.owned:
            os.close(self.source)
            os.close(self.target)


def copy_tree(
    source: int, target: int, entries: Iterable[Entry], layout: Layout
) -> tuple[Entry, ...]:
    """Copy the entries from one directory into an empty one, `target` gets `layout` as well.

    Returns what was really read and written. Raises CopyMismatch when the source differs
    from an entry, NoSpace or CopyFailed when a call fails; the rest is the caller's to remove.
    """
    copied: list[Entry] = []
    levels = [_Level(None, source, target, owned=False)]
    try:
        # Component order is depth-first: each directory is entered once and left once.
        for entry in sorted(entries, key=lambda entry: components(entry.path)):
            above = parent(entry.path)
            while levels[-1].path != above:
                _leave(levels, layout)
            if entry.kind is EntryKind.DIR:
                levels.append(_enter(levels[-1], entry))
                copied.append(entry)
            else:
                copied.append(_copy_file(levels[-1], entry, layout))
        while levels:
            _leave(levels, layout)
    except OSError as error:
        raise copy_fault(error, "copy of a tree failed") from None
    finally:
        for level in levels:
            level.close()
    return tuple(copied)


def _leave(levels: list[_Level], layout: Layout) -> None:
    if not levels:
        raise CopyMismatch("a manifest names an entry without its directory")
    # The final mode may forbid writing, so it is given when nothing more goes in.
    give(levels[-1].target, layout.directory, layout)
    levels.pop().close()


def give(descriptor: int, mode: int, layout: Layout) -> None:
    """Give a file or directory its owner, then its mode (a change of owner drops bits)."""
    if (layout.uid, layout.gid) != (-1, -1):
        os.fchown(descriptor, layout.uid, layout.gid)
    os.fchmod(descriptor, mode)


def _enter(level: _Level, entry: Entry) -> _Level:
    name = components(entry.path)[-1].encode("utf-8")
    source = _open_source(level.source, name, DIRECTORY_FLAGS, entry)
    try:
        os.mkdir(name, 0o700, dir_fd=level.target)
        target = open_directory(level.target, name)
    except BaseException:
        os.close(source)
        raise
    return _Level(entry.path, source, target)


def _open_source(directory: int, name: bytes, flags: int, entry: Entry) -> int:
    try:
        return os.open(name, flags, dir_fd=directory)
    except OSError as error:
        if error.errno in _MOVED_AWAY:
            raise _mismatch(entry) from None
        raise copy_fault(error, f"{entry.path} can't be read") from None


def _mismatch(entry: Entry) -> CopyMismatch:
    return CopyMismatch(f"{entry.path}: source differs from its manifest")


def _copy_file(level: _Level, entry: Entry, layout: Layout) -> Entry:
    name = entry.path.rpartition("/")[2].encode("utf-8")
    reader = _open_source(level.source, name, FILE_FLAGS, entry)
    try:
        info = os.fstat(reader)
        if special_kind(info) is not None or not stat.S_ISREG(info.st_mode):
            raise _mismatch(entry)
        executable = bool(info.st_mode & stat.S_IXUSR)
        writer = os.open(name, _CREATE, 0o600, dir_fd=level.target)
        try:
            size, digest = _transfer(reader, writer, entry.size)
            give(writer, layout.program if executable else layout.file, layout)
        finally:
            os.close(writer)
    finally:
        os.close(reader)
    copied = Entry(entry.path, EntryKind.FILE, executable, size, digest)
    if copied != entry:
        raise _mismatch(entry)
    return copied


def _transfer(reader: int, writer: int, expected: int) -> tuple[int, Digest]:
    """Copy and digest; one byte more than expected is asked for, to see growth at once."""
    hashed = hashlib.sha256()
    size = 0
    while size <= expected:
        wanted = min(_BLOCK, expected - size + 1)
        part = os.read(reader, wanted)
        hashed.update(part)
        write_all(writer, part)
        size += len(part)
        if len(part) < wanted:
            # A regular file gives less than was asked for at its end only.
            break
    return size, Digest("sha256:" + hashed.hexdigest())

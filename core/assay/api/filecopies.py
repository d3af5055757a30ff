"""The copy of one file: equal to what the manifest says, or an error.

A small file is read once, digested, and written. Of a large one the kernel makes the copy, as a
clone where the file system can, and then the copy itself is read and digested: what is certified
is what will be used, whatever happened to the source meanwhile.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable
from typing import TypeAlias

from assay.api.digests import ContentDigest
from assay.api.errors import CopyFailed, CopyMismatch
from assay.api.files import EXHAUSTED, FILE_FLAGS, copy_fault, write_all
from assay.api.layouts import Layout, give

__all__ = [
    "LARGE",
    "FileRow",
    "check_source",
    "copy_file",
    "fill_large",
    "mismatch",
    "open_source",
    "open_target",
]

LARGE = 1024**2
"""Bytes from which on the kernel copies: below, a call to ask it costs more than the copy."""

_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MOVED_AWAY = frozenset({errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.ENXIO})
_FICLONE = 0x40049409
_PART = 16 * 1024**2
_BLOCK = 256 * 1024


FileRow: TypeAlias = tuple[str, bool, int, str]
"""What a manifest says of one file: path, execute bit, size, digest."""


def mismatch(path: str) -> CopyMismatch:
    """The error for a source that is not what its manifest says."""
    return CopyMismatch(f"{path}: source differs from its manifest")


def open_source(directory: int, name: bytes, flags: int, path: str) -> int:
    """Descriptor in the source; raises CopyMismatch when it is something else by now."""
    try:
        return os.open(name, flags, dir_fd=directory)
    except OSError as error:
        if error.errno in _MOVED_AWAY:
            raise mismatch(path) from None
        raise copy_fault(error, f"{path} can't be read") from None


def open_target(directory: int, name: bytes) -> int:
    """Descriptor of a new file, to be written and read; raises OSError."""
    return os.open(name, _CREATE, 0o600, dir_fd=directory)


def copy_file(
    source: int, target: int, wanted: FileRow, layout: Layout, content_digest: ContentDigest
) -> None:
    """Copy one file from a directory into another one.

    Raises CopyMismatch when the source differs from what is wanted, CopyFailed, OSError.
    """
    path, executable, size, digest = wanted
    name = path.rpartition("/")[2].encode("utf-8")
    reader = open_source(source, name, FILE_FLAGS, path)
    try:
        check_source(reader, wanted)
        if size >= LARGE:
            fill_large(reader, open_target(target, name), wanted, layout, content_digest)
            return
        # One byte more than expected: growth shows without a second read.
        content = os.read(reader, size + 1)
    finally:
        os.close(reader)
    if content_digest.of(content) != digest:
        raise mismatch(path)
    writer = open_target(target, name)
    try:
        if content:
            write_all(writer, content)
        give(writer, layout.program if executable else layout.file, layout)
    finally:
        os.close(writer)


def check_source(reader: int, wanted: FileRow) -> None:
    """Raise CopyMismatch for anything but a regular file of that size, bit and one link."""
    info = os.fstat(reader)
    mode = info.st_mode
    if (
        not stat.S_ISREG(mode)
        or info.st_nlink != 1
        or info.st_size != wanted[2]
        or (mode & stat.S_IXUSR != 0) is not wanted[1]
    ):
        raise mismatch(wanted[0])


def fill_large(
    reader: int,
    writer: int,
    wanted: FileRow,
    layout: Layout,
    content_digest: ContentDigest,
    stopped: Callable[[], bool] = bool,
) -> None:
    """Make a new file the copy of a large one, and close it; ends early when `stopped`.

    Raises CopyMismatch when the copy is not what is wanted, CopyFailed, OSError.
    """
    path, executable, size, digest = wanted
    try:
        if not _clone(reader, writer):
            _copy(reader, writer, size, stopped)
        if _digest(writer, size, content_digest, stopped) != digest:
            if stopped():
                raise CopyFailed("copy of a tree was stopped")
            raise mismatch(path)
        give(writer, layout.program if executable else layout.file, layout)
    finally:
        os.close(writer)


def _clone(reader: int, writer: int) -> bool:
    """Share the content, on a file system that can; False when it can't."""
    try:
        fcntl.ioctl(writer, _FICLONE, reader)
    except OSError as error:
        if error.errno in EXHAUSTED:
            raise
        return False
    return True


def _copy(reader: int, writer: int, size: int, stopped: Callable[[], bool]) -> None:
    """Copy `size` bytes in the kernel, or from where it can't by reading and writing."""
    done = 0
    while done < size and not stopped():
        part = min(_PART, size - done)
        try:
            count = os.copy_file_range(reader, writer, part, done, done)
        except OSError as error:
            if error.errno in EXHAUSTED:
                raise
            count = 0
        if not count:
            break
        done += count
    while done < size and not stopped():
        content = os.pread(reader, min(LARGE, size - done), done)
        if not content:
            break
        os.lseek(writer, done, os.SEEK_SET)
        write_all(writer, content)
        done += len(content)


def _digest(
    descriptor: int, size: int, content_digest: ContentDigest, stopped: Callable[[], bool]
) -> str:
    """Digest of a file of that size from its start; of any other size, no digest."""
    hashed = content_digest.new(b"")
    block = bytearray(_BLOCK)
    view = memoryview(block)
    done = 0
    while not stopped() and (count := os.preadv(descriptor, [block], done)):
        hashed.update(view[:count])
        done += count
        if done > size:
            break
    return content_digest.text(hashed) if done == size else ""

"""Descriptor access: every step beneath a root is one `openat` that follows no link.

Names go to the kernel as UTF-8 bytes, so that the locale of the process never decides which
file is meant. A caller owns each descriptor it is given and closes it.
"""

from __future__ import annotations

import errno
import itertools
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

from assay.api.errors import CopyFailed, NoSpace, TreeLimit, TreeRefused
from assay.api.paths import components, printable
from assay.api.trees import RefusedKind, RelPath

__all__ = [
    "DIRECTORY_FLAGS",
    "EXHAUSTED",
    "FILE_FLAGS",
    "Name",
    "copy_fault",
    "open_directory",
    "open_parent",
    "open_root",
    "opened",
    "read_file",
    "remove_tree",
    "special_kind",
    "write_all",
    "write_new",
]

Name: TypeAlias = str | bytes
"""One path component; text is encoded as UTF-8."""

DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""O_NONBLOCK: opening a FIFO must never wait for a writer."""

_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK = 1024**2
_OWNER_ALL = 0o700
EXHAUSTED = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EMLINK}
)
"""Error numbers that say that something ran out."""


def open_root(path: str | os.PathLike[str]) -> int:
    """Descriptor of a folder that is itself no link; raises OSError."""
    return os.open(path, DIRECTORY_FLAGS)


@contextmanager
def opened(descriptor: int) -> Iterator[int]:
    """Close the descriptor at the end of the block."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_directory(directory: int, name: Name) -> int:
    """Descriptor of a directory directly beneath another one; raises OSError for a link."""
    return os.open(_encoded(name), DIRECTORY_FLAGS, dir_fd=directory)


def open_parent(root: int, path: RelPath) -> tuple[int, bytes]:
    """Descriptor of the directory that holds `path`, and the last component.

    Raises FileNotFoundError when a directory on the way is absent, TreeRefused when it is
    a link.
    """
    *parents, last = components(path)
    current = os.open(".", DIRECTORY_FLAGS, dir_fd=root)
    for name in parents:
        previous = current
        try:
            current = open_directory(previous, name)
        except OSError as error:
            raise _walk_fault(previous, name, path, error) from None
        finally:
            os.close(previous)
    return current, last.encode("utf-8")


def _walk_fault(directory: int, name: str, path: RelPath, error: OSError) -> Exception:
    if error.errno in (errno.ENOTDIR, errno.ELOOP) and _is_link(directory, name):
        return TreeRefused(printable(path), RefusedKind.SYMLINK.value)
    if error.errno in (errno.ENOTDIR, errno.ENOENT):
        return FileNotFoundError(errno.ENOENT, "no such file", printable(path))
    return OSError(error.errno, os.strerror(error.errno or 0), printable(path))


def _is_link(directory: int, name: Name) -> bool:
    try:
        info = os.stat(_encoded(name), dir_fd=directory, follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISLNK(info.st_mode)


def read_file(root: int, path: RelPath, cap: int) -> bytes:
    """Content of one regular file with one link beneath `root`.

    Raises TreeLimit above `cap` bytes, TreeRefused for anything but such a file,
    FileNotFoundError when it is absent.
    """
    directory, name = open_parent(root, path)
    with opened(directory):
        try:
            descriptor = os.open(name, FILE_FLAGS, dir_fd=directory)
        except OSError as error:
            if error.errno == errno.ENXIO:
                raise TreeRefused(printable(path), RefusedKind.SOCKET.value) from None
            raise _walk_fault(directory, name.decode("utf-8"), path, error) from None
    with opened(descriptor):
        info = os.fstat(descriptor)
        if (kind := special_kind(info)) is not None:
            raise TreeRefused(printable(path), kind.value)
        if not stat.S_ISREG(info.st_mode):
            raise FileNotFoundError(errno.ENOENT, "no such file", printable(path))
        content = b"" if info.st_size > cap else _read(descriptor, cap + 1)
        if max(info.st_size, len(content)) > cap:
            raise TreeLimit(f"{printable(path)}: larger than {cap} bytes")
        return content


def _read(descriptor: int, cap: int) -> bytes:
    """Bytes up to the end of the file, and never more than `cap`."""
    parts: list[bytes] = []
    while cap and (part := os.read(descriptor, min(_BLOCK, cap))):
        parts.append(part)
        cap -= len(part)
    return b"".join(parts)


def special_kind(info: os.stat_result) -> RefusedKind | None:
    """Why our trees never hold something with this stat result, judged by kind and links."""
    mode = info.st_mode
    if stat.S_ISREG(mode):
        return RefusedKind.HARD_LINK if info.st_nlink > 1 else None
    if stat.S_ISDIR(mode):
        return None
    if stat.S_ISLNK(mode):
        return RefusedKind.SYMLINK
    if stat.S_ISFIFO(mode):
        return RefusedKind.FIFO
    return RefusedKind.SOCKET if stat.S_ISSOCK(mode) else RefusedKind.DEVICE


def write_new(directory: int, name: Name, content: bytes, mode: int) -> None:
    """Create one file in a directory with exactly this mode; raises OSError if it exists."""
    with opened(os.open(_encoded(name), _CREATE_FLAGS, 0o600, dir_fd=directory)) as descriptor:
        write_all(descriptor, content)
        os.fchmod(descriptor, mode)


def write_all(descriptor: int, content: bytes) -> None:
    """Write every byte, however many calls the kernel wants for it."""
    written = os.write(descriptor, content)
    while written < len(content):
        written += os.write(descriptor, memoryview(content)[written:])


def copy_fault(error: OSError, what: str) -> CopyFailed:
    """The error of the framework for a failed system call while `what` was being made."""
    name = errno.errorcode.get(error.errno or 0, "unknown error")
    kind = NoSpace if error.errno in EXHAUSTED else CopyFailed
    return kind(f"{what}: {name}")


def remove_tree(parent: int, name: Name) -> None:
    """Remove what is called `name` in a directory, and everything beneath it.

    Deep, read-only and mode-000 trees included: each sub-directory is first moved up to the
    top, so that two descriptors and no recursion are enough. Links are unlinked, never
    followed; modes are changed through descriptors only. The caller answers for having
    created it. Raises OSError when something can't be removed; a second call continues.
    """
    encoded = _encoded(name)
    info = os.stat(encoded, dir_fd=parent, follow_symlinks=False)
    if not stat.S_ISDIR(info.st_mode):
        os.unlink(encoded, dir_fd=parent)
        return
    if _removed_empty(parent, encoded):
        return
    with opened(_open_unlocked(parent, encoded)) as top:
        if os.fstat(top).st_dev != os.fstat(parent).st_dev:
            raise OSError(errno.EBUSY, "another file system is mounted there")
        # Nothing in the tree can have been given this prefix on purpose.
        prefix = secrets.token_hex(16)
        fresh = (f"{prefix}-{number}".encode("ascii") for number in itertools.count())
        pending = _flatten(top, top, fresh)
        while pending:
            child = pending.pop()
            with opened(_open_unlocked(top, child)) as directory:
                pending += _flatten(directory, top, fresh)
            os.rmdir(child, dir_fd=top)
    os.rmdir(encoded, dir_fd=parent)


def _removed_empty(parent: int, name: bytes) -> bool:
    """Whether a directory could be removed as it is; raises OSError if something is mounted on it.

    A part of the same file system mounted there has the same device number, so only the kernel
    tells, and it does so before it looks inside.
    """
    try:
        os.rmdir(name, dir_fd=parent)
    except OSError as error:
        if error.errno == errno.EBUSY:
            raise
        return False
    return True


def _flatten(directory: int, top: int, fresh: Iterator[bytes]) -> list[bytes]:
    """Unlink what is no directory, move directories to the top; their new names there.

    A directory on which something is mounted can't be moved, so nothing foreign is entered.
    """
    names: list[bytes] = []
    with os.scandir(directory) as found:
        for entry in found:
            name = os.fsencode(entry.name)
            if entry.is_dir(follow_symlinks=False):
                names.append(name)
            else:
                os.unlink(name, dir_fd=directory)
    moved: list[bytes] = []
    for name, target in zip(names, fresh, strict=False):
        _move(directory, name, top, target)
        moved.append(target)
    return moved


def _move(source: int, name: bytes, target: int, new_name: bytes) -> None:
    try:
        os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)
    except PermissionError:
        # To move a directory, its owner needs write permission on the directory itself.
        os.close(_open_unlocked(source, name))
        os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)


def _open_unlocked(parent: int, name: bytes) -> int:
    """Open a directory of ours and give its owner all permissions on it."""
    try:
        descriptor = os.open(name, DIRECTORY_FLAGS, dir_fd=parent)
    except PermissionError:
        flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        with opened(os.open(name, flags, dir_fd=parent)) as handle:
            # The magic link leads to the very inode that the handle holds, nowhere else.
            exact = f"/proc/self/fd/{handle}"
            os.chmod(exact, _OWNER_ALL)
            descriptor = os.open(exact, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if stat.S_IMODE(os.fstat(descriptor).st_mode) & _OWNER_ALL != _OWNER_ALL:
            os.fchmod(descriptor, _OWNER_ALL)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _encoded(name: Name) -> bytes:
    return name.encode("utf-8") if isinstance(name, str) else name

"""One pass over a tree by directory descriptors: no link followed, no FIFO waited for.

What is found never depends on the order in which the kernel lists a directory, nor on the
privileges of the process: an entry that its owner could not read is refused for root too.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from attrs import define, field, frozen

from assay.api import (
    Digest,
    Entry,
    EntryKind,
    Refused,
    RefusedKind,
    RelPath,
    Stat,
    TreeLimit,
    TreeLimits,
    UnsafePath,
    printable,
    relpath,
)
from assay.api.files import DIRECTORY_FLAGS, FILE_FLAGS, special_kind
from assay.api.paths import IGNORED_ANYWHERE, IGNORED_AT_ROOT
from assay.builtin.big import BIG_FILE, BigFiles, changed, unreadable

__all__ = ["Walk", "folded", "is_safe", "name_text", "shared_keys"]

_PLAIN_NAME = re.compile(r"[ -.0-\[\]-~]{0,254}[!-\-0-\[\]-~]")
"""ASCII without `/`, backslash and control characters, no dot or space at the end."""
_PLAIN_PATH = 1024
"""Characters; with four bytes each still within the bytes that a path may have."""
_PLAIN_DEPTH = 256
_SPECIAL_BITS = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX
_JUDGED = 0o170000 | _SPECIAL_BITS | stat.S_IRUSR
_ORDINARY = stat.S_IFREG | stat.S_IRUSR
"""What the judged bits of a file are when nothing speaks against it."""
_OWNER_LISTS = stat.S_IRUSR | stat.S_IXUSR
_GONE = frozenset({errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.ESTALE})
_NO_ACCESS = frozenset({errno.EACCES, errno.EPERM})
_UTF8_NAMES = sys.getfilesystemencoding() == "utf-8"


def folded(name: str) -> str:
    """What a name is on a file system that ignores case and normalisation."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())


@frozen
class _Level:
    """An open directory whose sub-directories are still to be visited."""

    fd: int
    prefix: str
    depth: int
    rest: Iterator[str]


@define
class Walk:
    """State of one pass; `entries` and `witness` are in no order."""

    limits: TreeLimits
    entries: list[Entry] = field(factory=list)
    witness: list[Stat] = field(factory=list)
    _refused: list[tuple[str, RefusedKind]] = field(factory=list)
    _ignored: list[str] = field(factory=list)
    _seen: int = 0
    _bytes: int = 0
    _big: BigFiles = field(factory=BigFiles)

    def refused(self) -> tuple[Refused, ...]:
        """What can't be in a tree, in the order of the paths' bytes."""
        ordered = sorted(self._refused, key=lambda item: _order(item[0]))
        return tuple(Refused(printable(path), kind) for path, kind in ordered)

    def ignored(self) -> tuple[str, ...]:
        """What the contract leaves out, as printable text in the order of the paths' bytes."""
        return tuple(printable(path) for path in sorted(self._ignored, key=_order))

    def run(self, root_fd: int) -> None:
        """Walk the tree beneath a directory descriptor; no descriptor is left open."""
        levels: list[_Level] = []
        try:
            # A descriptor of our own: a duplicate would share the caller's position.
            self._enter(levels, root_fd, ".", "", 0)
            while levels:
                level = levels[-1]
                name = next(level.rest, None)
                if name is None:
                    os.close(levels.pop().fd)
                    continue
                path = level.prefix + name_text(name)
                self._enter(levels, level.fd, name, path, level.depth)
            for done, info, digest in self._big.results():
                self._add(done, info, digest)
        finally:
            for level in levels:
                os.close(level.fd)
            self._big.close()

    def _enter(self, levels: list[_Level], parent: int, name: str, path: str, depth: int) -> None:
        fd = self._open(parent, name, DIRECTORY_FLAGS, path)
        if fd is None:
            return
        try:
            if os.fstat(fd).st_mode & _OWNER_LISTS != _OWNER_LISTS:
                self._refuse(path or ".", RefusedKind.UNREADABLE)
                os.close(fd)
                return
            if path:
                self.entries.append(Entry(RelPath(path), EntryKind.DIR))
            prefix = f"{path}/" if path else ""
            levels.append(_Level(fd, prefix, depth + 1, self._list(fd, prefix, depth + 1)))
        except OSError as error:
            os.close(fd)
            raise unreadable(path, error) from None
        except BaseException:
            os.close(fd)
            raise

    def _list(self, fd: int, prefix: str, depth: int) -> Iterator[str]:
        """Take in a directory's files at once; its sub-directories are returned."""
        found: list[tuple[str, os.DirEntry[str]]] = []
        with os.scandir(fd) as entries:
            for entry in entries:
                name = name_text(entry.name)
                self._count()
                if name in IGNORED_ANYWHERE or (not prefix and name in IGNORED_AT_ROOT):
                    self._ignored.append(prefix + name)
                else:
                    found.append((name, entry))
        if found and depth > self.limits.depth:
            raise TreeLimit(f"tree is deeper than {self.limits.depth} components")
        keys = [folded(name) for name, _ in found]
        return iter(self._take(fd, prefix, depth, found, keys, shared_keys(keys)))

    def _take(
        self,
        fd: int,
        prefix: str,
        depth: int,
        found: Sequence[tuple[str, os.DirEntry[str]]],
        keys: Sequence[str],
        shared: set[str],
    ) -> list[str]:
        """Judge what was found in a directory, and read its files; its sub-directories."""
        directories: list[str] = []
        for key, (name, entry) in zip(keys, found, strict=True):
            path = prefix + name
            if key in shared:
                self._refuse(path, RefusedKind.COLLISION)
            elif not is_safe(name, path, depth):
                self._refuse(path, RefusedKind.UNSAFE_NAME)
            elif entry.is_file(follow_symlinks=False):
                self._file(fd, entry.name, path)
            elif entry.is_dir(follow_symlinks=False):
                directories.append(entry.name)
            else:
                self._special(entry, path)
        return directories

    def _count(self, entries: int = 1) -> None:
        self._seen += entries
        if self._seen > self.limits.files:
            raise TreeLimit(f"tree holds more than {self.limits.files} entries")

    def _weigh(self, size: int) -> None:
        self._bytes += size
        if self._bytes > self.limits.bytes:
            raise TreeLimit(f"tree holds more than {self.limits.bytes} bytes")

    def _refuse(self, path: str, kind: RefusedKind) -> None:
        self._refused.append((path, kind))

    def _special(self, entry: os.DirEntry[str], path: str) -> None:
        try:
            kind = special_kind(entry.stat(follow_symlinks=False))
        except OSError:
            raise changed(path) from None
        if kind is None:
            raise changed(path)
        self._refuse(path, kind)

    def _open(self, directory: int, name: str, flags: int, path: str) -> int | None:
        """A descriptor, or None when the entry is refused because it can't be opened."""
        try:
            return os.open(name, flags, dir_fd=directory)
        except OSError as error:
            if error.errno in _NO_ACCESS:
                self._refuse(path or ".", _without_access(directory, name, path))
                return None
            if error.errno in _GONE:
                raise changed(path) from None
            raise unreadable(path, error) from None

    def _file(self, directory: int, name: str, path: str) -> None:
        fd = self._open(directory, name, FILE_FLAGS, path)
        if fd is None:
            return
        try:
            info = os.fstat(fd)
            if info.st_mode & _JUDGED != _ORDINARY or info.st_nlink != 1:
                self._refuse_file(info, path)
                return
            size = info.st_size
            self._weigh(size)
            if size >= BIG_FILE:
                big, fd = fd, -1
                self._big.add(big, info, path)
                return
            # One byte more than expected: growth shows without a second read.
            content = os.read(fd, size + 1)
        except OSError as error:
            raise unreadable(path, error) from None
        finally:
            if fd >= 0:
                os.close(fd)
        if len(content) != size:
            raise changed(path)
        self._add(path, info, hashlib.sha256(content).hexdigest())

    def _refuse_file(self, info: os.stat_result, path: str) -> None:
        kind = _refusal(info) if stat.S_ISREG(info.st_mode) else None
        if kind is None:
            # It was listed as a file with a name, and is not one any more.
            raise changed(path)
        self._refuse(path, kind)

    def _add(self, path: str, info: os.stat_result, digest: str) -> None:
        name = RelPath(path)
        executable = bool(info.st_mode & stat.S_IXUSR)
        self.entries.append(
            Entry(name, EntryKind.FILE, executable, info.st_size, Digest("sha256:" + digest))
        )
        self.witness.append(
            Stat(name, info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
        )


def _refusal(info: os.stat_result) -> RefusedKind | None:
    """Why a regular file is refused, judged by its stat result alone."""
    if info.st_mode & _SPECIAL_BITS:
        return RefusedKind.SPECIAL_MODE
    if info.st_nlink > 1:
        return RefusedKind.HARD_LINK
    return None if info.st_mode & stat.S_IRUSR else RefusedKind.UNREADABLE


def _without_access(directory: int, name: str, path: str) -> RefusedKind:
    """The kind that root would have seen as well, so that both refuse alike."""
    try:
        info = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        if error.errno in _NO_ACCESS:
            return RefusedKind.UNREADABLE
        raise changed(path) from None
    kind = _refusal(info) if stat.S_ISREG(info.st_mode) else special_kind(info)
    return kind or RefusedKind.UNREADABLE


def shared_keys(keys: Sequence[str]) -> set[str]:
    """Those that are there more than once."""
    if len(set(keys)) == len(keys):
        return set()
    return {key for key, count in Counter(keys).items() if count > 1}


def is_safe(name: str, path: str, depth: int) -> bool:
    """Whether the path is a RelPath; plain names need no look at each character."""
    if _PLAIN_NAME.fullmatch(name) and len(path) <= _PLAIN_PATH and depth <= _PLAIN_DEPTH:
        return True
    try:
        relpath(path)
    except UnsafePath:
        return False
    return True


def name_text(name: str) -> str:
    """The name as UTF-8 has it; Python decodes names by the locale of the process."""
    return name if _UTF8_NAMES else os.fsencode(name).decode("utf-8", "surrogateescape")


def _order(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")

"""One pass over a tree by directory descriptors: no link followed, no FIFO waited for.

What is found never depends on the order in which the kernel lists a directory, nor on the
privileges of the process: an entry that its owner could not read is refused for root too.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice

from attrs import define, field, frozen

from assay.api import RefusedKind, RelPath, TreeLimit, TreeLimits, TreeRefused, TreeSlow
from assay.api.files import DIRECTORY_FLAGS, FILE_FLAGS, open_parent, opened, special_kind
from assay.builtin.big import BIG_FILE, BigFiles, changed, unreadable
from assay.builtin.found import Found
from assay.builtin.names import are_plain, folded, is_ignored_name, is_safe, shared, text, texts

__all__ = ["Walk", "check_limits"]

_SPECIAL_BITS = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX
_JUDGED = 0o170000 | _SPECIAL_BITS | stat.S_IRUSR
_ORDINARY = stat.S_IFREG | stat.S_IRUSR
"""What the judged bits of a file are when nothing speaks against it."""
_OWNER_LISTS = stat.S_IRUSR | stat.S_IXUSR
_GONE = frozenset({errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.ESTALE})
_NO_ACCESS = frozenset({errno.EACCES, errno.EPERM})


@frozen
class _Level:
    """An open directory whose sub-directories are still to be visited."""

    fd: int
    prefix: str
    depth: int
    rest: Iterator[str]

    def left(self) -> list[str]:
        """Paths of the sub-directories that were not visited."""
        return [self.prefix + text(name) for name in self.rest]


def check_limits(found: Found, limits: TreeLimits) -> None:
    """Raise TreeLimit when what was found is more than the limits allow."""
    if found.seen > limits.files:
        raise TreeLimit(f"tree holds more than {limits.files} entries")
    if found.content > limits.bytes:
        raise TreeLimit(f"tree holds more than {limits.bytes} bytes")


@define
class Walk:
    """State of one pass; `found` may hold counts of what others have found already."""

    limits: TreeLimits
    found: Found = field(factory=Found)
    _big: BigFiles = field(factory=BigFiles)
    _until: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._until = time.monotonic() + self.limits.seconds

    def run(
        self, root_fd: int, paths: Sequence[str] = ("",), enough: Callable[[], bool] = bool
    ) -> list[str]:
        """Walk the tree beneath a directory descriptor; no descriptor is left open.

        `paths` are the directories where it starts, the root by default. When `enough` says
        so, between two directories, it ends early: the result is the directories that are
        still to be walked.
        """
        levels: list[_Level] = []
        waiting = list(paths)
        try:
            while (levels or waiting) and not enough():
                if not levels:
                    self._start(levels, root_fd, waiting.pop())
                    continue
                level = levels[-1]
                name = next(level.rest, None)
                if name is None:
                    os.close(levels.pop().fd)
                else:
                    self._enter(levels, level.fd, name, level.prefix + text(name), level.depth)
            left = [path for level in levels for path in level.left()]
            for path, info, digest in self._big.results():
                self.found.add(path, info, digest)
            return waiting + left
        finally:
            for level in levels:
                os.close(level.fd)
            self._big.close()

    def _start(self, levels: list[_Level], root_fd: int, path: str) -> None:
        if not path:
            # A descriptor of our own: a duplicate would share the caller's position.
            self._enter(levels, root_fd, ".", "", 0)
            return
        try:
            parent, _ = open_parent(root_fd, RelPath(path))
        except (FileNotFoundError, TreeRefused):
            raise changed(path) from None
        except OSError as error:
            raise unreadable(path, error) from None
        with opened(parent):
            name = os.fsdecode(path.rpartition("/")[2].encode("utf-8"))
            self._enter(levels, parent, name, path, path.count("/") + 1)

    def _enter(self, levels: list[_Level], parent: int, name: str, path: str, depth: int) -> None:
        # What is in one directory is bounded by the other limits.
        if time.monotonic() >= self._until:
            raise TreeSlow(f"tree was not read within {self.limits.seconds:g} seconds")
        fd = self._open(parent, name, DIRECTORY_FLAGS, path)
        if fd is None:
            return
        try:
            if os.fstat(fd).st_mode & _OWNER_LISTS != _OWNER_LISTS:
                self._refuse(path or ".", RefusedKind.UNREADABLE)
                os.close(fd)
                return
            if path:
                self.found.directories.append(path)
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
        with os.scandir(fd) as listed:
            entries = list(islice(listed, self.limits.files - self.found.seen + 1))
        self.found.seen += len(entries)
        check_limits(self.found, self.limits)
        names = texts(entry.name for entry in entries)
        if not are_plain(names, prefix, depth):
            entries = self._judged(entries, names, prefix, depth)
        if entries and depth > self.limits.depth:
            raise TreeLimit(f"tree is deeper than {self.limits.depth} components")
        return iter(self._taken(fd, prefix, entries))

    def _taken(self, fd: int, prefix: str, entries: Iterable[os.DirEntry[str]]) -> list[str]:
        """Digest the files of a directory, refuse what is special; its sub-directories."""
        files: list[str] = []
        directories: list[str] = []
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                files.append(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                directories.append(entry.name)
            else:
                self._special(entry, prefix + text(entry.name))
        self._files(fd, prefix, files)
        return directories

    def _judged(
        self,
        entries: list[os.DirEntry[str]],
        names: list[str],
        prefix: str,
        depth: int,
        others: Collection[str] = (),
    ) -> list[os.DirEntry[str]]:
        """The entries that nothing in their names speaks against.

        `others` are safe names that are in the same directory too.
        """
        found: list[tuple[str, os.DirEntry[str]]] = []
        for name, entry in zip(names, entries, strict=True):
            if is_ignored_name(name, prefix):
                self.found.ignored.append(prefix + name)
            else:
                found.append((name, entry))
        if found and depth > self.limits.depth:
            raise TreeLimit(f"tree is deeper than {self.limits.depth} components")
        keys = [folded(name) for name, _ in found]
        other_keys = [folded(name) for name in others]
        colliding = shared([*keys, *other_keys])
        for key, name in zip(other_keys, others, strict=True):
            if key in colliding:
                self._refuse(prefix + name, RefusedKind.COLLISION)
        kept: list[os.DirEntry[str]] = []
        for key, (name, entry) in zip(keys, found, strict=True):
            path = prefix + name
            if key in colliding:
                self._refuse(path, RefusedKind.COLLISION)
            elif not is_safe(name, path, depth):
                self._refuse(path, RefusedKind.UNSAFE_NAME)
            else:
                kept.append(entry)
        return kept

    def _refuse(self, path: str, kind: RefusedKind) -> None:
        self.found.refused.append((path, kind.value))

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
            self._not_opened(directory, name, path, error)
            return None

    def _not_opened(self, directory: int, name: str, path: str, error: OSError) -> None:
        if error.errno in _GONE:
            raise changed(path) from None
        if error.errno not in _NO_ACCESS:
            raise unreadable(path, error) from None
        self._refuse(path or ".", _without_access(directory, name, path))

    def _files(self, directory: int, prefix: str, names: list[str]) -> None:
        """Digest files of one directory: all the time is spent here, so little is called."""
        os_open, fstat, read, close = os.open, os.fstat, os.read, os.close
        found, most = self.found, self.limits.bytes
        add = found.add
        paths = [prefix + name for name in texts(names)]
        for name, path in zip(names, paths, strict=True):
            try:
                fd = os_open(name, FILE_FLAGS, dir_fd=directory)
            except OSError as error:
                self._not_opened(directory, name, path, error)
                continue
            try:
                info = fstat(fd)
                if info.st_mode & _JUDGED != _ORDINARY or info.st_nlink != 1:
                    self._refuse_file(info, path)
                    continue
                size = info.st_size
                found.content += size
                if found.content > most:
                    check_limits(found, self.limits)
                if size >= BIG_FILE:
                    big, fd = fd, -1
                    self._big.add(big, info, path)
                    continue
                # One byte more than expected: growth shows without a second read.
                content = read(fd, size + 1)
            except OSError as error:
                raise unreadable(path, error) from None
            finally:
                if fd >= 0:
                    close(fd)
            if len(content) != size:
                raise changed(path)
            add(path, info, sha256(content).hexdigest())

    def _refuse_file(self, info: os.stat_result, path: str) -> None:
        kind = _refusal(info) if stat.S_ISREG(info.st_mode) else None
        if kind is None:
            # It was listed as a file with a name, and is not one any more.
            raise changed(path)
        self._refuse(path, kind)


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

"""One pass over a tree by directory descriptors: plain, one file after another."""

from __future__ import annotations

import errno
import os
import stat

from attrs import define, field

from assay.api import (
    Entry,
    EntryKind,
    Fault,
    NoSpace,
    Refused,
    RefusedKind,
    RelPath,
    Stat,
    TreeChanged,
    TreeLimit,
    TreeLimits,
    TreeRefused,
    UnsafePath,
    is_ignored,
    printable,
    relpath,
)
from assay.api.digests import ContentDigest
from assay.api.files import (
    EXHAUSTED,
    FILE_FLAGS,
    open_directory,
    open_parent,
    opened,
    special_kind,
)
from assay_blake3.names import collisions

__all__ = ["Walk"]

_BLOCK = 1024**2
_SPECIAL = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX


@define
class Walk:
    """State of one pass; what is found is in no order."""

    root: int
    limits: TreeLimits
    content: ContentDigest
    entries: list[Entry] = field(factory=list)
    witness: list[Stat] = field(factory=list)
    _refused: list[tuple[bytes, RefusedKind]] = field(factory=list)
    _ignored: list[bytes] = field(factory=list)
    _waiting: list[str] = field(factory=lambda: [""])
    _seen: int = 0
    _bytes: int = 0

    def refusals(self) -> tuple[Refused, ...]:
        """What can't be in a tree, in the order of the paths' bytes."""
        ordered = sorted(self._refused, key=lambda item: item[0])
        return tuple(Refused(printable(path), kind) for path, kind in ordered)

    def left_out(self) -> tuple[str, ...]:
        """What is ignored, in the order of the paths' bytes."""
        return tuple(printable(path) for path in sorted(self._ignored))

    def run(self) -> None:
        """Visit every directory; no descriptor is left open, and none is open for long."""
        while self._waiting:
            path = self._waiting.pop()
            try:
                with opened(self._directory(path)) as directory:
                    self._visit(directory, path)
            except (FileNotFoundError, NotADirectoryError, TreeRefused):
                raise _changed(path) from None
            except PermissionError:
                self._refuse(path or ".", RefusedKind.UNREADABLE)
            except OSError as error:
                raise _fault(error, path) from None

    def _directory(self, path: str) -> int:
        if not path:
            return open_directory(self.root, ".")
        above, name = open_parent(self.root, RelPath(path))
        with opened(above):
            return open_directory(above, name)

    def _visit(self, directory: int, path: str) -> None:
        owner = stat.S_IRUSR | stat.S_IXUSR
        if os.fstat(directory).st_mode & owner != owner:
            self._refuse(path or ".", RefusedKind.UNREADABLE)
            return
        if path:
            self.entries.append(Entry(RelPath(path), EntryKind.DIR))
        prefix = f"{path}/" if path else ""
        names = [name for name in self._listed(directory) if not self._is_left_out(prefix, name)]
        if names and path.count("/") + bool(path) >= self.limits.depth:
            raise TreeLimit(f"tree is deeper than {self.limits.depth} components")
        colliding = collisions(names)
        for name in names:
            if name in colliding:
                self._refuse(prefix + name, RefusedKind.COLLISION)
            else:
                self._judge(directory, name, prefix + name)

    def _listed(self, directory: int) -> list[str]:
        names: list[str] = []
        with os.scandir(directory) as found:
            for entry in found:
                names.append(os.fsencode(entry.name).decode("utf-8", "surrogateescape"))
                self._seen += 1
                if self._seen > self.limits.files:
                    raise TreeLimit(f"tree holds more than {self.limits.files} entries")
        return names

    def _is_left_out(self, prefix: str, name: str) -> bool:
        ignored = is_ignored(RelPath(prefix + name))
        if ignored:
            self._ignored.append(_encoded(prefix + name))
        return ignored

    def _refuse(self, path: str, kind: RefusedKind) -> None:
        self._refused.append((_encoded(path), kind))

    def _judge(self, directory: int, name: str, path: str) -> None:
        try:
            relpath(path)
        except UnsafePath:
            self._refuse(path, RefusedKind.UNSAFE_NAME)
            return
        info = os.stat(_encoded(name), dir_fd=directory, follow_symlinks=False)
        if stat.S_ISDIR(info.st_mode):
            self._waiting.append(path)
        elif stat.S_ISREG(info.st_mode):
            self._file(directory, name, path)
        else:
            self._refuse(path, special_kind(info) or RefusedKind.DEVICE)

    def _file(self, directory: int, name: str, path: str) -> None:
        try:
            descriptor = os.open(_encoded(name), FILE_FLAGS, dir_fd=directory)
        except PermissionError:
            self._refuse(path, RefusedKind.UNREADABLE)
            return
        with opened(descriptor):
            info = os.fstat(descriptor)
            if (kind := _refusal(info)) is not None:
                self._refuse(path, kind)
                return
            self._bytes += info.st_size
            if self._bytes > self.limits.bytes:
                raise TreeLimit(f"tree holds more than {self.limits.bytes} bytes")
            hashed = self.content.new(b"")
            size = 0
            while size <= info.st_size and (block := os.read(descriptor, _BLOCK)):
                hashed.update(memoryview(block))
                size += len(block)
            after = os.fstat(descriptor)
        if size != info.st_size or (after.st_mtime_ns, after.st_size) != (info.st_mtime_ns, size):
            raise _changed(path)
        digest = self.content.text(hashed)
        executable = bool(info.st_mode & stat.S_IXUSR)
        self.entries.append(Entry(RelPath(path), EntryKind.FILE, executable, size, digest))
        seen = (info.st_dev, info.st_ino, size, info.st_mtime_ns, info.st_ctime_ns)
        self.witness.append(Stat(RelPath(path), *seen))


def _refusal(info: os.stat_result) -> RefusedKind | None:
    """Why a file that was opened can't be in a tree."""
    if not stat.S_ISREG(info.st_mode):
        return special_kind(info) or RefusedKind.DEVICE
    if info.st_mode & _SPECIAL:
        return RefusedKind.SPECIAL_MODE
    if info.st_nlink > 1:
        return RefusedKind.HARD_LINK
    return None if info.st_mode & stat.S_IRUSR else RefusedKind.UNREADABLE


def _changed(path: str) -> TreeChanged:
    return TreeChanged(f"{printable(path) or '.'}: changed while it was read")


def _fault(error: OSError, path: str) -> Fault:
    if error.errno in EXHAUSTED:
        return NoSpace("tree can't be read: no descriptor or memory is left")
    if error.errno in (errno.ELOOP, errno.ENXIO, errno.ESTALE):
        return _changed(path)
    return Fault(f"{printable(path) or '.'}: can't be read")


def _encoded(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")

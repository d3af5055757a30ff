"""Reads the upper layer of an overlay, by the same rules as a scan of the merged tree.

The kernel marks what it leaves out of the lower tree: a deleted path by a character device 0:0,
a directory that hides what was there by an attribute. Jailed code can make neither: the kernel
stores the attribute under another name for it, and refuses it devices.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator

from attrs import define, field

from assay.api import CopyFailed, Entry, EntryKind, RelPath, TreeLimit
from assay.api.paths import parent
from assay.builtin.base_index import BaseIndex
from assay.builtin.names import are_plain, text, texts
from assay.builtin.walk import Walk, check_limits

__all__ = ["OPAQUE", "UpperWalk", "is_opaque", "is_whiteout"]

OPAQUE = "user.overlay.opaque"
_FOREIGN = ("user.overlay.redirect", "user.overlay.metacopy")
_ABSENT = frozenset({errno.ENODATA, errno.EOPNOTSUPP})


def is_whiteout(info: os.stat_result) -> bool:
    """Whether it says that the lower tree's entry of this name is deleted."""
    return stat.S_ISCHR(info.st_mode) and info.st_rdev == 0


def is_opaque(directory: int) -> bool:
    """Whether a directory of the upper layer hides all that the lower tree has there.

    Raises CopyFailed for a marker of a kind that mounts of ours never make.
    """
    value = _attribute(directory, OPAQUE)
    if value not in (None, b"y") or any(_attribute(directory, name) for name in _FOREIGN):
        raise CopyFailed("an upper layer holds a marker that none of our mounts makes")
    return value is not None


def _attribute(descriptor: int, name: str) -> bytes | None:
    try:
        return os.getxattr(descriptor, name)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise


@define
class UpperWalk(Walk):
    """One pass over an upper layer.

    Afterwards `hidden` are the positions in the base of what is no longer seen there, or is in the
    upper layer as well; all others are as in the base.
    """

    base: BaseIndex = field(kw_only=True)
    hidden: list[range] = field(factory=list, init=False)
    _merged: set[RelPath] = field(factory=set, init=False)

    def shown(self) -> tuple[Entry, ...]:
        """Entries of the merged tree that the upper layer holds, in path order."""
        return tuple(self.found.ordered()[0])

    def _list(self, fd: int, prefix: str, depth: int) -> Iterator[str]:
        """Take in a directory's files at once; its sub-directories are returned."""
        merged = self._is_merged(fd, prefix)
        lower = dict.fromkeys(self.base.names(prefix[:-1]) if merged else ())
        # What the upper layer has nothing to say about is counted without a look at it.
        seen = [self.base.within(prefix)] if merged else []
        gone: list[range] = []
        entries: list[os.DirEntry[str]] = []
        with os.scandir(fd) as listed:
            for entry in listed:
                name = text(entry.name)
                whiteout = _is_whiteout(entry)
                if name in lower:
                    del lower[name]
                    replaced = whiteout or not entry.is_dir(follow_symlinks=False)
                    gone += self._hide(RelPath(prefix + name), replaced=replaced)
                if not whiteout:
                    self._count(1, 0)
                    entries.append(entry)
        self._count(
            sum(map(len, seen)) - sum(map(len, gone)),
            sum(map(self.base.size, seen)) - sum(map(self.base.size, gone)),
        )
        names = texts(entry.name for entry in entries)
        if not are_plain([*names, *lower], prefix, depth):
            entries = self._judged(entries, names, prefix, depth, lower)
        if (entries or lower) and depth > self.limits.depth:
            raise TreeLimit(f"tree is deeper than {self.limits.depth} components")
        if self.base.depth > self.limits.depth:
            self._check_depth(prefix, lower)
        return iter(self._taken(fd, prefix, entries))

    def _is_merged(self, fd: int, prefix: str) -> bool:
        """Whether the lower tree shows in a directory of the upper layer."""
        if not prefix:
            return True
        path = RelPath(prefix[:-1])
        above, lower = parent(path), self.base.entry(path)
        if above is not None and above not in self._merged:
            return False
        if lower is None or lower.kind is not EntryKind.DIR:
            return False
        if is_opaque(fd):
            self.hidden.append(self.base.within(prefix))
            return False
        self._merged.add(path)
        return True

    def _hide(self, path: RelPath, *, replaced: bool) -> list[range]:
        """The upper layer has something where the lower tree has an entry; where both are.

        A directory over a directory shows both, unless it turns out to hide the lower one.
        """
        position = self.base.positions[path]
        itself, beneath = range(position, position + 1), self.base.within(f"{path}/")
        self.hidden += [itself, beneath] if replaced else [itself]
        return [itself, beneath]

    def _count(self, entries: int, content: int) -> None:
        self.found.seen += entries
        self.found.content += content
        check_limits(self.found, self.limits)

    def _check_depth(self, prefix: str, names: Iterable[str]) -> None:
        entries = self.base.manifest.entries
        for name in names:
            for at in self.base.within(f"{prefix}{name}/"):
                if entries[at].path.count("/") >= self.limits.depth:
                    raise TreeLimit(f"tree is deeper than {self.limits.depth} components")


def _is_whiteout(entry: os.DirEntry[str]) -> bool:
    if entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False):
        return False
    return is_whiteout(entry.stat(follow_symlinks=False))

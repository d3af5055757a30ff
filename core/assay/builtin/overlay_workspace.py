"""A workspace that shows a stored tree and keeps only what differs from it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Mapping

from attrs import evolve

from assay.api import (
    ChangeSet,
    Entry,
    EntryKind,
    Hasher,
    IndexingHasher,
    Mount,
    RelPath,
    TreeIndex,
    TreeLimits,
    TreeManifest,
    TreeRef,
    TreeRefused,
    UsageError,
)
from assay.api.changes import ancestors, compare
from assay.api.files import copy_fault, open_directory, read_file
from assay.api.paths import components
from assay.builtin.base_index import BaseIndex
from assay.builtin.resting import FrozenWorkspace, TreeWorkspace, holds_nul
from assay.builtin.upper import UpperWalk, is_opaque, is_whiteout
from assay.builtin.upper_edits import UpperEdits
from assay.builtin.upper_place import UpperPlace

__all__ = ["OverlayWorkspace", "TreeDigests"]

_LIMITS = TreeLimits()


class TreeDigests:
    """Digests of what is near one base; what they need is made at first use and kept."""

    def __init__(self, base: TreeManifest) -> None:
        self.index = BaseIndex(base)
        self._kept: dict[str, TreeIndex] = {}

    def of(self, hidden: list[range], shown: tuple[Entry, ...], hasher: Hasher) -> TreeRef:
        """Digest of the base without what is hidden, and with what is shown instead."""
        if not isinstance(hasher, IndexingHasher):
            return self.whole(hidden, shown, hasher).ref
        if hasher.contract not in self._kept:
            self._kept[hasher.contract] = hasher.index(self.index.manifest)
        return self._kept[hasher.contract].spliced(hidden, shown)

    def whole(self, hidden: list[range], shown: tuple[Entry, ...], hasher: Hasher) -> TreeManifest:
        """That tree itself."""
        gone = {position for positions in hidden for position in positions}
        entries = self.index.manifest.entries
        kept = (entry for at, entry in enumerate(entries) if at not in gone)
        return hasher.manifest([*kept, *shown])


class OverlayWorkspace(TreeWorkspace):
    """A fresh writable tree equal to its base, with one owner; also a context manager.

    Its merged tree is nowhere on the host: only jails see it.
    """

    host_path = None

    def __init__(self, place: UpperPlace, digests: TreeDigests, hasher: Hasher) -> None:
        super().__init__(place, digests.index.manifest, hasher)
        self._upper = place
        self._digests = digests
        self._is_written = False

    def mounts(self, dst: str, *, writable: bool) -> tuple[Mount, ...]:
        """The merged tree as one mount of a jail.

        Raises UsageError while a live jail writes or would be written under, where each jail
        has a mount of its own.
        """
        self._usable()
        if not self._leases:
            self._is_written = writable
        elif not self._upper.shared and (writable or self._is_written):
            raise UsageError("workspace is leased by a live jail; here, one that writes is alone")
        return (self._upper.mount(dst, writable=writable),)

    def freeze(self, hasher: Hasher, limits: TreeLimits = _LIMITS) -> FrozenWorkspace:
        """Read the upper layer; what is refused is part of the result.

        Raises UsageError while leased, TreeLimit, TreeChanged, CopyFailed.
        """
        self._at_rest()
        try:
            return FrozenWorkspace(self._change_set(self._walked(limits), hasher), self)
        except OSError as error:
            raise copy_fault(error, "workspace can't be read") from None

    def _walked(self, limits: TreeLimits) -> UpperWalk:
        walk = UpperWalk(limits, base=self._digests.index)
        walk.run(self._upper.tree_fd)
        return walk

    def _change_set(self, walk: UpperWalk, hasher: Hasher) -> ChangeSet:
        refused, ignored = walk.found.refusals(), walk.found.left_out()
        # Only what the upper layer has something to say about can differ.
        base, result = self._base, None
        if not refused:
            shown = walk.shown()
            result = TreeManifest(self._digests.of(walk.hidden, shown, hasher), shown, 0, 0)
            positions = sorted({at for hidden in walk.hidden for at in hidden})
            base = evolve(base, entries=tuple(base.entries[at] for at in positions))
        root = self._upper.tree_fd
        return compare(
            base,
            result,
            refused=refused,
            ignored=ignored,
            binary=lambda path: holds_nul(root, path),
        )

    def read(self, path: RelPath, cap: int) -> bytes:
        """Content of one regular file, no-follow; TreeLimit above `cap` bytes."""
        self._at_rest()
        root = self._upper.tree_fd if self._is_upper(path) else self._upper.lower_fd
        return read_file(root, path, cap)

    def _is_upper(self, path: RelPath) -> bool:
        """Whether the upper layer decides what is at a path."""
        current, owned = self._upper.tree_fd, False
        try:
            for number, name in enumerate(components(path), 1):
                try:
                    info = os.stat(name.encode("utf-8"), dir_fd=current, follow_symlinks=False)
                except FileNotFoundError:
                    return False
                if is_whiteout(info):
                    raise FileNotFoundError(errno.ENOENT, "no such file", path)
                lower = self._digests.index.entry(RelPath("/".join(components(path)[:number])))
                hides = lower is None or lower.kind is not EntryKind.DIR
                if hides or not stat.S_ISDIR(info.st_mode):
                    return True
                below = open_directory(current, name)
                if owned:
                    os.close(current)
                current, owned = below, True
                if is_opaque(current):
                    return True
            return True
        finally:
            if owned:
                os.close(current)

    def _scanned(self) -> TreeManifest:
        walk = self._walked(_LIMITS)
        if refused := walk.found.refusals():
            raise TreeRefused(refused[0].path, refused[0].kind.value)
        return self._digests.whole(walk.hidden, walk.shown(), self._hasher)

    def _apply(
        self,
        gone: Iterable[RelPath],
        fresh: Mapping[RelPath, Entry],
        names: Mapping[RelPath, bytes],
    ) -> None:
        self._upper.unmount()
        place = self._upper
        edits = UpperEdits(place.tree_fd, place.staged_fd, place.layout, self._digests.index)
        removed: set[RelPath] = set()
        for path in gone:
            if removed.isdisjoint(ancestors(path)):
                edits.remove(path)
                removed.add(path)
        for path, entry in fresh.items():
            if entry.kind is EntryKind.FILE:
                edits.place(path, names[path])
            else:
                edits.make_directory(path)

"""A manifest by which a single directory, or all beneath one, is found without a walk."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Sequence

from attrs import field, frozen

from assay.api import Entry, RelPath, TreeManifest

__all__ = ["BaseIndex"]


@frozen
class BaseIndex:
    """The entries of a manifest in path order; the position of one is its number in it."""

    manifest: TreeManifest
    positions: dict[RelPath, int] = field(init=False)
    _paths: Sequence[RelPath] = field(init=False)
    _bytes: Sequence[int] = field(init=False)
    _children: dict[str, list[str]] = field(init=False)
    depth: int = field(init=False)

    @positions.default
    def _positions(self) -> dict[RelPath, int]:
        return {entry.path: number for number, entry in enumerate(self.manifest.entries)}

    @_paths.default
    def _ordered(self) -> Sequence[RelPath]:
        return [entry.path for entry in self.manifest.entries]

    @_bytes.default
    def _sums(self) -> Sequence[int]:
        sizes = (entry.size for entry in self.manifest.entries)
        return list(itertools.accumulate(sizes, initial=0))

    @_children.default
    def _names(self) -> dict[str, list[str]]:
        children: dict[str, list[str]] = {}
        for path in self._paths:
            above, _, name = path.rpartition("/")
            children.setdefault(above, []).append(name)
        return children

    @depth.default
    def _deepest(self) -> int:
        return max((path.count("/") + 1 for path in self._paths), default=0)

    def entry(self, path: RelPath) -> Entry | None:
        """The entry at a path, or None."""
        position = self.positions.get(path)
        return None if position is None else self.manifest.entries[position]

    def names(self, directory: str) -> Sequence[str]:
        """What is directly in a directory, the root being the empty path."""
        return self._children.get(directory, ())

    def within(self, prefix: str) -> range:
        """Positions of all beneath a directory, given with a slash at its end; "" is the root."""
        if not prefix:
            return range(len(self._paths))
        # Those with its prefix stand together, and "0" comes after a slash.
        first = bisect_left(self._paths, prefix)
        return range(first, bisect_left(self._paths, f"{prefix[:-1]}0", first))

    def size(self, positions: range) -> int:
        """Bytes of the files at these positions."""
        return self._bytes[positions.stop] - self._bytes[positions.start]

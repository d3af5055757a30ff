"""What passes over parts of a tree found: columns that can be joined, and sent on.

A process that gets them from another one makes objects of what it needs, when it needs it.
"""

from __future__ import annotations

import gc
import marshal
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from operator import attrgetter
from typing import Self, TypeAlias, cast, overload

from attrs import define, field, frozen

from assay.api import Digest, Entry, EntryKind, Refused, RefusedKind, RelPath, Stat, printable
from assay.builtin.names import order
from assay.builtin.records import PREFIX, directory_records, file_records

__all__ = ["Found", "collector_at_rest"]

Times: TypeAlias = tuple[int, int, int, int]
"""Device, inode, times of change of content and of status; each of any size."""

Part: TypeAlias = tuple[list[str], list[int], bytes]
"""Paths and sizes of files, and the rest of what was seen of them, not yet unpacked."""

_DIGEST_CHARACTERS = 64
_BY_PATH = attrgetter("path")


@define
class Found:
    """Columns in no order: one element for each file in the first four.

    `entries` are those that came from elsewhere, `stats` what was seen of all files, in the
    form that they came in. `seen` counts entries of every kind, `content` the bytes of all files.
    """

    paths: list[str] = field(factory=list)
    executables: list[bool] = field(factory=list)
    sizes: list[int] = field(factory=list)
    digests: list[str] = field(factory=list)
    times: list[Times] = field(factory=list)
    directories: list[str] = field(factory=list)
    refused: list[tuple[str, str]] = field(factory=list)
    ignored: list[str] = field(factory=list)
    seen: int = 0
    content: int = 0
    _made: list[_Files] = field(factory=list)
    _stats: list[Part] = field(factory=list)

    def add(self, path: str, info: os.stat_result, digest: str) -> None:
        """Add one file; `digest` is the hexadecimal SHA-256 of its content."""
        self.paths.append(path)
        self.executables.append(info.st_mode & stat.S_IXUSR != 0)
        self.sizes.append(info.st_size)
        self.digests.append(digest)
        self.times.append((info.st_dev, info.st_ino, info.st_mtime_ns, info.st_ctime_ns))

    def packed(self) -> bytes:
        """All of it as bytes for `join`; paths hold no NUL."""
        return marshal.dumps(
            (
                "\0".join(self.paths),
                bytes(self.executables),
                self.sizes,
                "".join(self.digests),
                marshal.dumps(self.times),
                self.directories,
                self.refused,
                self.ignored,
                self.seen,
                self.content,
            )
        )

    def join(self, packed: bytes) -> None:
        """Add what another pass found."""
        paths, executables, sizes, digests, times, *rest = marshal.loads(packed)
        directories, refused, ignored, seen, size = rest
        if sizes:
            names = paths.split("\0")
            self._made.append(_Files.of(names, list(map(bool, executables)), sizes, _cut(digests)))
            self._stats.append((names, sizes, times))
        self.directories += directories
        self.refused += refused
        self.ignored += ignored
        self.seen += seen
        self.content += size

    def ordered(self) -> tuple[list[Entry], list[bytes]]:
        """Everything that belongs to the tree in path order, and the records of it."""
        with collector_at_rest():
            own = _Files.of(self.paths, self.executables, self.sizes, self.digests)
            # Each part is nearly in order by itself, so parts in order are soon sorted.
            parts = sorted((*self._made, own), key=lambda part: part.paths[:1])
            paths = [path for part in parts for path in part.paths] + self.directories
            entries = [entry for part in parts for entry in part.entries]
            entries += [Entry(RelPath(path), EntryKind.DIR) for path in self.directories]
            records = [record for part in parts for record in part.records]
            records += directory_records(self.directories)
            # Code point order is the order of the UTF-8 bytes: a RelPath holds no surrogates.
            places = sorted(range(len(paths)), key=paths.__getitem__)
            return [entries[at] for at in places], [records[at] for at in places]

    def witness(self) -> Witness:
        """What was seen of each file, in path order."""
        return Witness([*self._stats, (self.paths, self.sizes, marshal.dumps(self.times))])

    def refusals(self) -> tuple[Refused, ...]:
        """What can't be in a tree, in the order of the paths' bytes."""
        ordered = sorted(self.refused, key=lambda item: order(item[0]))
        return tuple(Refused(printable(path), RefusedKind(kind)) for path, kind in ordered)

    def left_out(self) -> tuple[str, ...]:
        """What the contract leaves out, as printable text in the order of the paths' bytes."""
        return tuple(printable(path) for path in sorted(self.ignored, key=order))


class Witness(Sequence[Stat]):
    """What was seen of each file, in path order; made when somebody looks at it."""

    def __init__(self, parts: list[Part]) -> None:
        self._parts = parts
        self._made: tuple[Stat, ...] | None = None

    @overload
    def __getitem__(self, index: int) -> Stat: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Stat]: ...

    def __getitem__(self, index: int | slice) -> Stat | Sequence[Stat]:
        return self._all()[index]

    def __len__(self) -> int:
        return sum(len(paths) for paths, _, _ in self._parts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return self._all() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all())

    def _all(self) -> tuple[Stat, ...]:
        if self._made is None:
            with collector_at_rest():
                made = [
                    Stat(RelPath(path), device, inode, size, modified, changed)
                    for paths, sizes, times in self._parts
                    for path, size, (device, inode, modified, changed) in zip(
                        paths, sizes, marshal.loads(times), strict=True
                    )
                ]
                made.sort(key=_BY_PATH)
                self._made = tuple(made)
        return self._made


@frozen
class _Files:
    """Files of one part, in no order."""

    paths: list[str]
    entries: list[Entry]
    records: list[bytes]

    @classmethod
    def of(
        cls, paths: list[str], executables: list[bool], sizes: list[int], digests: list[str]
    ) -> Self:
        """From columns."""
        checked = cast(list[RelPath], paths)
        content = cast(Iterable[Digest], map(PREFIX.__add__, digests))
        with collector_at_rest():
            kinds = repeat(EntryKind.FILE)
            entries = list(map(Entry, checked, kinds, executables, sizes, content))
            return cls(paths, entries, file_records(paths, executables, sizes, digests))


def _cut(digests: str) -> list[str]:
    size = _DIGEST_CHARACTERS
    return [digests[start : start + size] for start in range(0, len(digests), size)]


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """No search for cycles while very many objects without any are made."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()

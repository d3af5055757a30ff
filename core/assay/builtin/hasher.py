"""The tree contract `assay-tree-v1`: what a tree is, and its digest.

`docs/formats/tree.md` describes the contract so that others can implement it; a changed rule
is a new contract with a new name.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import ClassVar

from assay.api import (
    Digest,
    Entry,
    EntryKind,
    InvalidInput,
    RefusedKind,
    Scan,
    TreeLimits,
    TreeManifest,
    TreeRef,
    TreeRefused,
)
from assay.builtin.names import folded, is_safe
from assay.builtin.walk import Walk

__all__ = ["TreeHasher"]

_DIGEST_PREFIX = "sha256:"
_DIGEST_START = len(_DIGEST_PREFIX)
_DIGEST = re.compile("sha256:[0-9a-f]{64}")


def _field(content: bytes) -> bytes:
    return struct.pack(">Q", len(content)) + content


_HEADER = _field(b"assay-tree-v1")
_DIRECTORY = _field(b"dir")
_LENGTH = struct.Struct(">Q")
_LIMITS = TreeLimits()
_NO_CONTENT = _field(b"") + _field(b"") + _field(b"")


class TreeHasher:
    """Hasher of `assay-tree-v1`."""

    api: ClassVar[str] = "1.0"
    contract: ClassVar[str] = "assay-tree-v1"

    def scan(
        self, root_fd: int, *, limits: TreeLimits = _LIMITS, collect_refused: bool = False
    ) -> Scan:
        """Read the tree beneath the directory descriptor once, never following a link.

        Raises TreeRefused on the first refused entry (in path order) unless
        `collect_refused`; TreeLimit; TreeChanged if a file moves under the reader; NoSpace
        when the process has no descriptor left.
        """
        walk = Walk(limits)
        walk.run(root_fd)
        found = walk.found
        refused = found.refusals()
        if refused and not collect_refused:
            raise TreeRefused(refused[0].path, refused[0].kind.value)
        return Scan(
            manifest=None if refused else self._manifest(found.entries()),
            refused=refused,
            ignored=found.left_out(),
            witness=found.witness(),
        )

    def manifest(self, entries: Iterable[Entry]) -> TreeManifest:
        """Digest entries that are already known; pure, any order of input.

        Raises InvalidInput for entries that no tree can hold together, TreeRefused for a
        case-fold or normalisation collision.
        """
        # Code point order is the order of the UTF-8 bytes: a RelPath holds no surrogates.
        ordered = sorted(entries, key=lambda entry: entry.path)
        _check(ordered)
        return self._manifest(ordered)

    def _manifest(self, ordered: Sequence[Entry]) -> TreeManifest:
        records = [_HEADER]
        files = size = 0
        for entry in ordered:
            path = entry.path.encode("utf-8")
            length = len(path)
            if entry.kind is EntryKind.DIR:
                records += (_DIRECTORY, _LENGTH.pack(length), path, _NO_CONTENT)
                continue
            files += 1
            size += entry.size
            digest = bytes.fromhex(entry.digest[_DIGEST_START:])
            executable = b"1" if entry.executable else b"0"
            record = _file_record(length)
            records.append(
                record.pack(4, b"file", length, path, 1, executable, 8, entry.size, 32, digest)
            )
        return TreeManifest(
            ref=TreeRef(
                self.contract,
                Digest(_DIGEST_PREFIX + hashlib.sha256(b"".join(records)).hexdigest()),
            ),
            entries=tuple(ordered),
            files=files,
            bytes=size,
        )


@lru_cache(maxsize=1024)
def _file_record(length: int) -> struct.Struct:
    """Five fields of a file whose path has so many bytes."""
    return struct.Struct(f">Q4sQ{length}sQ1sQQQ32s")


def _check(ordered: Sequence[Entry]) -> None:
    kinds: dict[str, EntryKind] = {entry.path: entry.kind for entry in ordered}
    if len(kinds) != len(ordered):
        raise InvalidInput("tree: one path stands for two entries")
    for entry in ordered:
        path = entry.path
        above, slash, name = path.rpartition("/")
        if not is_safe(name, path, path.count("/") + 1):
            raise InvalidInput("tree: an entry's path is not a relative path")
        if slash and kinds.get(above) is not EntryKind.DIR:
            raise InvalidInput("tree: an entry stands outside any directory of the tree")
        _check_content(entry)
    _check_collisions(kinds)


def _check_content(entry: Entry) -> None:
    if entry.kind is EntryKind.DIR:
        if entry.size or entry.digest or entry.executable:
            raise InvalidInput("tree: a directory has no size, digest or execute bit")
        return
    if not _DIGEST.fullmatch(entry.digest):
        raise InvalidInput("tree: a digest is sha256: and 64 lower-case hexadecimal digits")
    if not 0 <= entry.size < 2**63:
        raise InvalidInput("tree: a size lies outside its range")


def _check_collisions(paths: Iterable[str]) -> None:
    """The first path, in path order, that another one is equal to when case is folded."""
    seen: dict[str, str] = {}
    colliding: list[str] = []
    for path in paths:
        first = seen.setdefault(folded(path), path)
        if first is not path:
            colliding.append(first)
    if colliding:
        raise TreeRefused(min(colliding), RefusedKind.COLLISION.value)

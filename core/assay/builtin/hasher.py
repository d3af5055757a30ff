"""The tree contract `assay-tree-v1`: what a tree is, and its digest.

`docs/formats/tree.md` describes the contract so that others can implement it; a changed rule
is a new contract with a new name.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable, Sequence
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
from assay.builtin.spliced import SplicedDigest
from assay.builtin.walk import Walk, folded, is_safe

__all__ = ["TreeHasher"]

_DIGEST_PREFIX = "sha256:"
_DIGEST = re.compile("sha256:[0-9a-f]{64}")


def _field(content: bytes) -> bytes:
    return struct.pack(">Q", len(content)) + content


_HEADER = _field(b"assay-tree-v1")
_FILE = _field(b"file")
_DIRECTORY = _field(b"dir")
_LENGTH = struct.Struct(">Q")
_NOT_EXECUTABLE = _field(b"0")
_EXECUTABLE = _field(b"1")
# A length of 8 and the size; a length of 32 and the digest's bytes.
_CONTENT = struct.Struct(">QQQ32s")
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
        refused = walk.refused()
        if refused and not collect_refused:
            raise TreeRefused(refused[0].path, refused[0].kind.value)
        entries = sorted(walk.entries, key=lambda entry: entry.path)
        return Scan(
            manifest=None if refused else self._manifest(entries),
            refused=refused,
            ignored=walk.ignored(),
            witness=tuple(sorted(walk.witness, key=lambda witness: witness.path)),
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

    def index(self, manifest: TreeManifest) -> SplicedDigest:
        """What is needed to digest trees near this one quickly."""
        return SplicedDigest(manifest, _HEADER, _record)

    def _manifest(self, ordered: Sequence[Entry]) -> TreeManifest:
        hashed = hashlib.sha256(_HEADER)
        hashed.update(b"".join(map(_record, ordered)))
        files = [entry for entry in ordered if entry.kind is EntryKind.FILE]
        return TreeManifest(
            ref=TreeRef(self.contract, Digest(_DIGEST_PREFIX + hashed.hexdigest())),
            entries=tuple(ordered),
            files=len(files),
            bytes=sum(entry.size for entry in files),
        )


def _record(entry: Entry) -> bytes:
    path = entry.path.encode("utf-8")
    framed = _LENGTH.pack(len(path)) + path
    if entry.kind is EntryKind.DIR:
        return _DIRECTORY + framed + _NO_CONTENT
    digest = bytes.fromhex(entry.digest[len(_DIGEST_PREFIX) :])
    executable = _EXECUTABLE if entry.executable else _NOT_EXECUTABLE
    return _FILE + framed + executable + _CONTENT.pack(8, entry.size, 32, digest)


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

"""The tree contract `assay-tree-blake3`: the trees of `assay-tree-v1`, digested with BLAKE3.

A record of the manifest is the entry's kind, path, execute bit, size and digest, each framed by its
length; records are in the order of their paths' bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from blake3 import blake3

from assay.api import (
    Digest,
    Entry,
    EntryKind,
    InvalidInput,
    RelPath,
    Scan,
    TreeLimits,
    TreeManifest,
    TreeRef,
    TreeRefused,
    relpath,
)
from assay.api.digests import ContentDigest
from assay_blake3.names import collisions
from assay_blake3.walk import Walk

__all__ = ["Blake3Hasher"]

_LIMITS = TreeLimits()
_CONTENT = ContentDigest("blake3", blake3)


class Blake3Hasher:
    """Hasher of `assay-tree-blake3`."""

    api: ClassVar[str] = "1.0"
    contract: ClassVar[str] = "assay-tree-blake3"
    content: ClassVar[ContentDigest] = _CONTENT

    def scan(
        self, root_fd: int, *, limits: TreeLimits = _LIMITS, collect_refused: bool = False
    ) -> Scan:
        """Read the tree beneath the directory descriptor once, never following a link.

        Raises TreeRefused on the first refused entry unless `collect_refused`; TreeLimit;
        TreeChanged, NoSpace, Fault.
        """
        walk = Walk(root_fd, limits, self.content)
        walk.run()
        refused = walk.refusals()
        if refused and not collect_refused:
            raise TreeRefused(refused[0].path, refused[0].kind.value)
        return Scan(
            manifest=None if refused else self._digested(walk.entries),
            refused=refused,
            ignored=walk.left_out(),
            witness=tuple(sorted(walk.witness, key=lambda seen: seen.path)),
        )

    def manifest(self, entries: Iterable[Entry]) -> TreeManifest:
        """Digest entries that are already known; pure, any order of input.

        Raises InvalidInput for entries that no tree can hold together, TreeRefused for names
        that are one name where case or normalisation is ignored.
        """
        known = list(entries)
        _check(known)
        return self._digested(known)

    def _digested(self, entries: Iterable[Entry]) -> TreeManifest:
        ordered = sorted(entries, key=lambda entry: entry.path)
        hashed = blake3(_framed(self.contract))
        for entry in ordered:
            hashed.update(_record(entry))
        files = [entry for entry in ordered if entry.kind is EntryKind.FILE]
        return TreeManifest(
            ref=TreeRef(self.contract, self.content.text(hashed)),
            entries=tuple(ordered),
            files=len(files),
            bytes=sum(entry.size for entry in files),
        )


def _record(entry: Entry) -> bytes:
    fields = (entry.kind.value, entry.path, str(int(entry.executable)), str(entry.size))
    return b"".join(map(_framed, (*fields, entry.digest)))


def _framed(text: str) -> bytes:
    content = text.encode("utf-8")
    return len(content).to_bytes(8, "big") + content


def _check(entries: list[Entry]) -> None:
    kinds: dict[RelPath, EntryKind] = {}
    for entry in entries:
        if entry.path in kinds:
            raise InvalidInput("tree: one path stands for two entries")
        kinds[relpath(entry.path)] = entry.kind
        is_directory = entry.kind is EntryKind.DIR
        if is_directory is _is_content(entry.digest) or (is_directory and entry.size):
            raise InvalidInput("tree: files have a BLAKE3 digest, and directories have none")
    for path in kinds:
        above, slash, _ = path.rpartition("/")
        if slash and kinds.get(RelPath(above)) is not EntryKind.DIR:
            raise InvalidInput("tree: an entry stands outside any directory of the tree")
    if colliding := collisions(kinds):
        raise TreeRefused(min(colliding), "case-fold or normalisation collision")


def _is_content(digest: Digest) -> bool:
    name, _, digits = digest.partition(":")
    return name == _CONTENT.name and len(digits) == 64 and not set(digits) - set("0123456789abcdef")

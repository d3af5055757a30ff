"""The tree contract `assay-tree-v1`: what a tree is, and its digest.

`docs/formats/tree.md` describes the contract so that others can implement it; a changed rule
is a new contract with a new name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import ClassVar

from assay.api import (
    Entry,
    EntryKind,
    InvalidInput,
    RefusedKind,
    RelPath,
    Scan,
    TreeLimits,
    TreeManifest,
    TreeRef,
    TreeRefused,
)
from assay.builtin.names import are_plain_paths, folded, is_safe
from assay.builtin.records import HEADER, PREFIX, digest_of, directory_records, file_records
from assay.builtin.scanning import scan_tree
from assay.builtin.spliced import SplicedDigest

__all__ = ["TreeHasher"]

_DIGEST = re.compile("sha256:[0-9a-f]{64}")
_LIMITS = TreeLimits()


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
        found = scan_tree(root_fd, limits)
        refused = found.refusals()
        if refused and not collect_refused:
            raise TreeRefused(refused[0].path, refused[0].kind.value)
        return Scan(
            manifest=None if refused else self._manifest(*found.ordered()),
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
        return self._manifest(ordered, _records(ordered))

    def index(self, manifest: TreeManifest) -> SplicedDigest:
        """What is needed to digest trees near this one quickly."""
        return SplicedDigest(manifest, HEADER, _records)

    def _manifest(self, ordered: Sequence[Entry], records: Iterable[bytes]) -> TreeManifest:
        files = [entry.size for entry in ordered if entry.kind is EntryKind.FILE]
        return TreeManifest(
            ref=TreeRef(self.contract, digest_of(records)),
            entries=tuple(ordered),
            files=len(files),
            bytes=sum(files),
        )


def _records(ordered: Sequence[Entry]) -> Iterable[bytes]:
    files = [entry for entry in ordered if entry.kind is EntryKind.FILE]
    of_files = iter(
        file_records(
            [entry.path for entry in files],
            [entry.executable for entry in files],
            [entry.size for entry in files],
            [entry.digest[len(PREFIX) :] for entry in files],
        )
    )
    of_directories = iter(
        directory_records(entry.path for entry in ordered if entry.kind is EntryKind.DIR)
    )
    return (next(of_files if entry.kind is EntryKind.FILE else of_directories) for entry in ordered)


def _check(ordered: Sequence[Entry]) -> None:
    paths = [entry.path for entry in ordered]
    if len(set(paths)) != len(paths):
        raise InvalidInput("tree: one path stands for two entries")
    plain = are_plain_paths(paths)
    if not plain and not all(
        is_safe(path.rpartition("/")[2], path, path.count("/") + 1) for path in paths
    ):
        raise InvalidInput("tree: an entry's path is not a relative path")
    directories = {entry.path for entry in ordered if entry.kind is EntryKind.DIR}
    above = {RelPath(path.rpartition("/")[0]) for path in paths if "/" in path}
    if not above <= directories:
        raise InvalidInput("tree: an entry stands outside any directory of the tree")
    for entry in ordered:
        _check_content(entry)
    if not plain:
        _check_collisions(paths)


def _check_content(entry: Entry) -> None:
    if entry.kind is EntryKind.DIR:
        if entry.size or entry.digest or entry.executable:
            raise InvalidInput("tree: a directory has no size, digest or execute bit")
    elif not _DIGEST.fullmatch(entry.digest):
        raise InvalidInput("tree: a digest is sha256: and 64 lower-case hexadecimal digits")
    elif not 0 <= entry.size < 2**63:
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

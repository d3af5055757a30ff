"""Digest of a tree that differs little from a known one: only what follows the first
difference is digested again, from records that are kept."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

from assay.api import Digest, Entry, TreeManifest, TreeRef

__all__ = ["SplicedDigest"]

_BLOCK = 256
"""Entries whose records are kept as one string, and before which the state is kept."""


class SplicedDigest:
    """The digests of trees near one manifest; `records` gives the bytes of each entry."""

    def __init__(
        self,
        manifest: TreeManifest,
        header: bytes,
        records: Callable[[Sequence[Entry]], Iterable[bytes]],
    ) -> None:
        self._manifest = manifest
        self._records = records
        self._paths = [entry.path for entry in manifest.entries]
        self._blocks: list[bytes] = []
        self._states = []
        state = hashlib.sha256(header)
        for first in range(0, len(self._paths) or 1, _BLOCK):
            block = b"".join(records(manifest.entries[first : first + _BLOCK]))
            self._states.append(state.copy())
            self._blocks.append(block)
            state.update(block)

    def spliced(self, hidden: Iterable[range], entries: Iterable[Entry]) -> TreeRef:
        """The tree without the entries at the hidden positions, and with these instead.

        An entry stands for itself, so one with a path that the base has needs that hidden.
        """
        gone = {position for positions in hidden for position in positions}
        fresh: dict[int, list[Entry]] = {}
        for entry in entries:
            fresh.setdefault(self._block_of(entry), []).append(entry)
        touched = {position // _BLOCK for position in gone} | fresh.keys()
        if not touched:
            return self._manifest.ref
        first = min(touched)
        state = self._states[first].copy()
        for number in range(first, len(self._blocks)):
            if number in touched:
                state.update(self._rebuilt(number, gone, fresh.get(number, [])))
            else:
                state.update(self._blocks[number])
        contract = self._manifest.ref.contract
        return TreeRef(contract, Digest("sha256:" + state.hexdigest()))

    def _block_of(self, entry: Entry) -> int:
        position = bisect_left(self._paths, entry.path)
        return min(position // _BLOCK, len(self._blocks) - 1)

    def _rebuilt(self, number: int, gone: set[int], fresh: list[Entry]) -> bytes:
        first = number * _BLOCK
        block = self._manifest.entries[first : first + _BLOCK]
        kept = [entry for at, entry in enumerate(block, first) if at not in gone]
        ordered = sorted([*kept, *fresh], key=lambda entry: entry.path)
        return b"".join(self._records(ordered))

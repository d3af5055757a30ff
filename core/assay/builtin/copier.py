"""The copier that works everywhere: a byte copy, digested while it is written."""

from __future__ import annotations

import os
import tempfile
from collections import deque
from typing import ClassVar

from assay.api import (
    CopyFailed,
    CopyMismatch,
    Hasher,
    HostIds,
    Prepared,
    Store,
    Support,
    TreeManifest,
)
from assay.api.copies import copy_tree
from assay.api.digests import ContentDigest, content_digest
from assay.api.files import copy_fault, open_root, opened
from assay.api.room import require_room
from assay.builtin.home import Home
from assay.builtin.workspace import CopyWorkspace

__all__ = ["CopyCopier"]

_REMEMBERED = 8
"""Manifests, since the trees of one trial are made again and again."""


class CopyCopier:
    """Copier `copy`: each workspace is a copy of its own in a fresh folder."""

    api: ClassVar[str] = "1.0"
    name: ClassVar[str] = "copy"
    host_visible: ClassVar[bool] = True

    def __init__(self) -> None:
        self._proven: deque[tuple[Hasher, TreeManifest]] = deque(maxlen=_REMEMBERED)

    def supports(self, scratch: str) -> Support:
        """Any folder that this process may write to will do."""
        if not os.access(scratch, os.W_OK | os.X_OK):
            return Support(False, "the scratch folder is absent or not writable")
        return Support(True)

    def prepare(self, source: str, manifest: TreeManifest, store: Store | None) -> Prepared:
        """Put the tree into the store, once; without a store the source itself is read.

        Raises CopyMismatch when the source is no longer what the manifest says.
        """
        if store is None:
            return Prepared(manifest, source)
        handle = store.tree(manifest.ref)
        if handle is None:
            with opened(_open_source(source)) as root:
                handle = store.tree(store.add_tree(root, manifest))
        if handle is None:
            raise CopyFailed("the store does not hold the tree that was just added")
        return Prepared(manifest, handle)

    def open(
        self, prepared: Prepared, scratch: str, *, hasher: Hasher, ids: HostIds | None = None
    ) -> CopyWorkspace:
        """A fresh equal workspace in a new folder of its own beneath `scratch`.

        Only root can give it to `ids`. Raises CopyFailed, NoSpace or CopyMismatch; then
        nothing is left behind (CleanupFailed, caused by them, when that is impossible).
        """
        try:
            require_room(scratch or tempfile.gettempdir(), prepared.manifest)
            home = Home.create(scratch or tempfile.gettempdir(), ids)
        except OSError as error:
            raise copy_fault(error, "workspace could not be made") from None
        try:
            _fill(home, prepared, content_digest(hasher))
            self._prove(prepared.manifest, hasher)
        except BaseException as error:
            home.remove(cause=error)
            raise
        return CopyWorkspace(home, prepared.manifest, hasher)

    def _prove(self, manifest: TreeManifest, hasher: Hasher) -> None:
        """The digest is that of the entries; computed once for a manifest that comes again."""
        if any(known is manifest and by is hasher for by, known in tuple(self._proven)):
            return
        if hasher.manifest(manifest.entries).ref != manifest.ref:
            raise CopyMismatch("workspace is not equal to its fixture")
        self._proven.append((hasher, manifest))


def _fill(home: Home, prepared: Prepared, content: ContentDigest) -> None:
    """Copy every entry of the manifest, each proven equal."""
    try:
        with opened(_open_source(prepared.handle)) as source:
            copy_tree(source, home.tree_fd, prepared.manifest.entries, home.layout, content)
        os.fchmod(home.tree_fd, 0o700)
    except OSError as error:
        raise copy_fault(error, "workspace could not be made") from None


def _open_source(source: str) -> int:
    try:
        return open_root(source)
    except OSError as error:
        raise copy_fault(error, "source of the copy can't be opened") from None

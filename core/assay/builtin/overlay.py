"""The copier that copies nothing: a stored tree is shown beneath an overlay file system."""

from __future__ import annotations

import os
import stat
import tempfile
from typing import ClassVar

from assay.api import (
    CopierUnsupported,
    CopyFailed,
    Hasher,
    HostIds,
    Prepared,
    Store,
    Support,
    TreeManifest,
    TreeRef,
)
from assay.api.detached import supported
from assay.api.files import copy_fault, open_root, opened
from assay.api.folders import temporary_folder
from assay.builtin.overlay_workspace import OverlayWorkspace, TreeDigests
from assay.builtin.upper import OPAQUE
from assay.builtin.upper_place import FolderPlace, MemoryPlace, UpperPlace

__all__ = ["OverlayCopier"]


class OverlayCopier:
    """Copier `overlay`: a workspace is what was changed, above a tree of the store.

    It costs the same however large the tree is, and is seen by jails only. As root the changes
    are in memory that is bounded; else in a folder beneath the scratch folder.
    """

    api: ClassVar[str] = "1.0"
    name: ClassVar[str] = "overlay"
    host_visible: ClassVar[bool] = False

    def __init__(self) -> None:
        self._digests: dict[TreeRef, TreeDigests] = {}

    def supports(self, scratch: str) -> Support:
        """Whether changes can be kept there; whether jails can mount them, the sandbox knows."""
        if not os.access(scratch, os.W_OK | os.X_OK):
            return Support(False, "the scratch folder is absent or not writable")
        return Support(True) if supported() else _kept_in_folder(scratch)

    def prepare(self, source: str, manifest: TreeManifest, store: Store | None) -> Prepared:
        """Put the tree into the store, once, and make it ready to be shown.

        Raises CopierUnsupported without a store, CopyMismatch when the source is no longer
        what the manifest says.
        """
        if store is None:
            raise CopierUnsupported("overlay workspaces need a store")
        if store.tree(manifest.ref) is None:
            try:
                with opened(open_root(source)) as root:
                    store.add_tree(root, manifest)
            except OSError as error:
                raise copy_fault(error, "source of the copy can't be opened") from None
        return Prepared(manifest, store.lower(manifest))

    def open(
        self, prepared: Prepared, scratch: str, *, hasher: Hasher, ids: HostIds | None = None
    ) -> OverlayWorkspace:
        """A fresh workspace; equal, since the store has verified the tree and nobody writes it.

        Raises CopyFailed or NoSpace; then nothing is left behind.
        """
        if prepared.manifest.ref.contract != hasher.contract:
            raise CopyFailed("the tree was prepared under another contract")
        place: UpperPlace
        try:
            if supported():
                place = MemoryPlace.create(prepared.handle, ids)
            else:
                place = FolderPlace.create(prepared.handle, scratch or tempfile.gettempdir(), ids)
        except OSError as error:
            raise copy_fault(error, "workspace could not be made") from None
        return OverlayWorkspace(place, self._digests_of(prepared.manifest), hasher)

    def _digests_of(self, manifest: TreeManifest) -> TreeDigests:
        if manifest.ref not in self._digests:
            self._digests[manifest.ref] = TreeDigests(manifest)
        return self._digests[manifest.ref]


def _kept_in_folder(scratch: str) -> Support:
    """Whether a file system keeps what an upper layer consists of, found out by doing it."""
    with temporary_folder("probe", scratch) as folder, opened(open_root(folder)) as probe:
        try:
            os.setxattr(probe, OPAQUE, b"y")
            os.mknod("whiteout", stat.S_IFCHR, os.makedev(0, 0), dir_fd=probe)
        except OSError:
            return Support(False, "the scratch folder's file system can't hold an upper layer")
    return Support(True)

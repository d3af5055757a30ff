"""Whether there is room for a tree, looked up before any of it is written."""

from __future__ import annotations

import os

from assay.api.errors import NoSpace
from assay.api.trees import TreeManifest

__all__ = ["require_room"]


def require_room(place: str | int, manifest: TreeManifest) -> None:
    """Raise NoSpace when a file system has less room than a copy of the tree takes at least.

    `place` is a folder or its descriptor. The look costs nothing and spares a copy that would
    have to be removed again; what runs out meanwhile shows all the same. Raises OSError.
    """
    room = os.statvfs(place)
    free = (room.f_bfree if os.geteuid() == 0 else room.f_bavail) * room.f_frsize
    entries = len(manifest.entries)
    if free < manifest.bytes or (room.f_files and room.f_favail < entries):
        raise NoSpace(
            f"a workspace takes {manifest.bytes} bytes and {entries} entries, "
            "more than its file system has left"
        )

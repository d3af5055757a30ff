"""The folder of one workspace: made, marked, and removed by us alone.

assay-ws-XXXXXXXX/
    assay-folder.json   marker, removed last
    tree/               the workspace itself
    staged/             new content on its way into the tree
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Self

from attrs import define

from assay.api import HostIds
from assay.api.copies import Layout, give
from assay.api.files import open_directory
from assay.api.folders import MarkedFolder

__all__ = ["STAGED", "TREE", "Home"]

KIND = "ws"
TREE = "tree"
STAGED = "staged"


@define
class Home:
    """An open workspace folder; its descriptors stay valid until it is removed.

    They are opened before anything untrusted can change a mode, so the tree stays within
    reach whatever a candidate does to it.
    """

    folder: MarkedFolder
    layout: Layout
    tree_fd: int = -1
    staged_fd: int = -1

    @classmethod
    def create(cls, scratch: str, ids: HostIds | None) -> Self:
        """Make the folder with its marker and an empty tree; raises OSError, nothing left."""
        layout = Layout(0o755, 0o644, 0o755, *((ids.uid, ids.gid) if ids else (-1, -1)))
        home = cls(MarkedFolder.make(KIND, scratch), layout)
        try:
            home._furnish(ids)
        except BaseException as error:
            home.remove(cause=error)
            raise
        return home

    def _furnish(self, ids: HostIds | None) -> None:
        fd = self.folder.fd
        os.mkdir(TREE, 0o700, dir_fd=fd)
        os.mkdir(STAGED, 0o700, dir_fd=fd)
        self.staged_fd = open_directory(fd, STAGED)
        self.tree_fd = open_directory(fd, TREE)
        give(self.tree_fd, 0o700, self.layout)
        if ids is not None and ids.uid != os.geteuid():
            # The jail's user passes through to its tree but can't list what is beside it.
            os.fchmod(fd, 0o711)

    @property
    def path(self) -> Path:
        """Where the folder is on this host."""
        return self.folder.path

    @property
    def removed(self) -> bool:
        """Whether it is gone."""
        return self.folder.removed

    def clear_staged(self) -> None:
        """Remove what waits beside the tree; on failure it goes with the folder itself."""
        with suppress(OSError):
            for name in os.listdir(self.staged_fd):
                os.unlink(name, dir_fd=self.staged_fd)

    def remove(self, *, cause: BaseException | None = None) -> None:
        """Remove the folder if it is still the one we made; idempotent.

        Raises CleanupFailed, from `cause`, when something is left after a few attempts. A later
        call tries again.
        """
        if self.folder.removed:
            return
        self.folder.remove(cause=cause)
        for descriptor in (self.tree_fd, self.staged_fd):
            if descriptor >= 0:
                os.close(descriptor)

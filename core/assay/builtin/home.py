"""The folder of one workspace: made, marked, and removed by us alone.

assay-ws-XXXXXXXX/
    assay-workspace     marker, removed last
    tree/               the workspace itself
    staged/             new content on its way into the tree
"""

from __future__ import annotations

import errno
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from attrs import define

from assay.api import CleanupFailed, HostIds
from assay.api.copies import Layout, give
from assay.api.files import open_directory, open_root, remove_tree, write_new

__all__ = ["MARKER", "PREFIX", "STAGED", "TREE", "Home"]

PREFIX = "assay-ws-"
MARKER = "assay-workspace"
TREE = "tree"
STAGED = "staged"

_ATTEMPTS = 4
_PAUSE = 0.05


@define
class Home:
    """An open workspace folder; its descriptors stay valid until it is removed.

    They are opened before anything untrusted can change a mode, so the tree stays within
    reach whatever a candidate does to it.
    """

    path: Path
    layout: Layout
    parent_fd: int
    fd: int
    tree_fd: int = -1
    staged_fd: int = -1
    removed: bool = False

    @classmethod
    def create(cls, scratch: str, ids: HostIds | None) -> Self:
        """Make the folder with its marker and an empty tree; raises OSError, nothing left."""
        layout = Layout(0o755, 0o644, 0o755, *((ids.uid, ids.gid) if ids else (-1, -1)))
        place = Path(scratch).absolute()
        parent_fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
            try:
                fd = open_root(path)
            except BaseException:
                path.rmdir()
                raise
        except BaseException:
            os.close(parent_fd)
            raise
        home = cls(path, layout, parent_fd, fd)
        try:
            home._furnish(ids)
        except BaseException as error:
            home.remove(cause=error)
            raise
        return home

    def _furnish(self, ids: HostIds | None) -> None:
        write_new(self.fd, MARKER, b"removed by assay when its trial ends\n", 0o600)
        os.mkdir(TREE, 0o700, dir_fd=self.fd)
        os.mkdir(STAGED, 0o700, dir_fd=self.fd)
        self.staged_fd = open_directory(self.fd, STAGED)
        self.tree_fd = open_directory(self.fd, TREE)
        give(self.tree_fd, 0o700, self.layout)
        if ids is not None and ids.uid != os.geteuid():
            # The jail's user passes through to its tree but can't list what is beside it.
            os.fchmod(self.fd, 0o711)

    @property
    def temp_id(self) -> str:
        """Name of the folder; it may be shown."""
        return self.path.name

    def clear_staged(self) -> None:
        """Remove what waits beside the tree; on failure it goes with the folder itself."""
        with suppress(OSError):
            for name in os.listdir(self.staged_fd):
                os.unlink(name, dir_fd=self.staged_fd)

    def remove(self, *, cause: BaseException | None = None) -> None:
        """Remove the folder if it is still the one we made; idempotent.

        Raises CleanupFailed, from `cause`, when something is left after a few attempts; the
        marker goes last, so what is left can be recognised. A later call tries again.
        """
        if self.removed:
            return
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(_PAUSE * attempt)
            try:
                self._remove_once()
            except OSError:
                continue
            self.removed = True
            for descriptor in (self.tree_fd, self.staged_fd, self.fd, self.parent_fd):
                if descriptor >= 0:
                    os.close(descriptor)
            return
        raise CleanupFailed(self.temp_id) from cause

    def _remove_once(self) -> None:
        try:
            found = os.stat(self.temp_id, dir_fd=self.parent_fd, follow_symlinks=False)
        except FileNotFoundError:
            return
        ours = os.fstat(self.fd)
        if (found.st_dev, found.st_ino) != (ours.st_dev, ours.st_ino):
            raise FileExistsError(errno.EEXIST, "the folder is not the one that was made")
        for name in (STAGED, TREE, MARKER):
            try:
                remove_tree(self.fd, name)
            except FileNotFoundError:
                continue
        os.rmdir(self.temp_id, dir_fd=self.parent_fd)

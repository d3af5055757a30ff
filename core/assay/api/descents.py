"""A way through a source and its copy at once: the open directories from the root to where we are.

Directories are visited depth first, so that each is opened once, and no more of them are open than
a path has components.
"""

from __future__ import annotations

import os

from attrs import define, field, frozen

from assay.api.errors import CopyMismatch
from assay.api.filecopies import open_source
from assay.api.files import DIRECTORY_FLAGS, open_directory
from assay.api.layouts import Layout, give

__all__ = ["Descent", "depth_first"]


def depth_first(path: str) -> str:
    """Key of the order of components: no component holds a NUL, and nothing is below it."""
    return path.replace("/", "\0")


@frozen
class _Level:
    """An open directory: its path, and descriptors in the source and in the copy."""

    path: str
    source: int
    target: int

    def close(self) -> None:
        os.close(self.source)
        os.close(self.target)


@define
class Descent:
    """Where we are in both trees; `layout` is given to each directory that is left.

    Without a layout directories are left as they are. The caller closes it, whatever happened.
    """

    source: int
    target: int
    layout: Layout | None = None
    _levels: list[_Level] = field(factory=list)

    @property
    def here(self) -> tuple[int, int]:
        """Descriptors in the source and in the copy."""
        if not self._levels:
            return self.source, self.target
        level = self._levels[-1]
        return level.source, level.target

    def go(self, path: str) -> None:
        """Go to a directory, "" for the root; raises CopyMismatch, OSError."""
        self.rise(path)
        done = self._levels[-1].path if self._levels else ""
        if done != path:
            # A directory and all above it that are not open yet, from the top down.
            names = path[len(done) :].strip("/").split("/")
            for name in names:
                done = f"{done}/{name}" if done else name
                self._enter(done)

    def rise(self, path: str) -> None:
        """Leave every directory that `path` is not in."""
        while self._levels and not f"{path}/".startswith(f"{self._levels[-1].path}/"):
            self.leave()

    def make(self, path: str) -> None:
        """Make a directory in the copy and enter it; its parent must be where we are."""
        self.stand_in(path.rpartition("/")[0])
        os.mkdir(path.rpartition("/")[2].encode("utf-8"), 0o700, dir_fd=self.here[1])
        self._enter(path)

    def stand_in(self, path: str) -> None:
        """Be in a directory that was entered; raises CopyMismatch when it never was."""
        if (self._levels[-1].path if self._levels else "") == path:
            return
        self.rise(path)
        if (self._levels[-1].path if self._levels else "") != path:
            raise CopyMismatch("a manifest names an entry without its directory")

    def leave(self) -> None:
        """Go up; the final mode may forbid writing, so it is given when nothing more goes in."""
        if self.layout is not None:
            give(self._levels[-1].target, self.layout.directory, self.layout)
        self._levels.pop().close()

    def finish(self) -> None:
        """Leave all directories, the root of the copy too."""
        while self._levels:
            self.leave()
        if self.layout is not None:
            give(self.target, self.layout.directory, self.layout)

    def close(self) -> None:
        """Close what is open."""
        while self._levels:
            self._levels.pop().close()

    def _enter(self, path: str) -> None:
        above, beneath = self.here
        name = path.rpartition("/")[2].encode("utf-8")
        source = open_source(above, name, DIRECTORY_FLAGS, path)
        try:
            target = open_directory(beneath, name)
        except BaseException:
            os.close(source)
            raise
        self._levels.append(_Level(path, source, target))

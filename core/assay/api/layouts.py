"""Owner and modes of what a copy makes, and giving them."""

from __future__ import annotations

import os

from attrs import frozen

__all__ = ["Layout", "give"]


@frozen
class Layout:
    """Modes of a copy, and its owner; -1 leaves the user or group as it is."""

    directory: int
    file: int
    program: int
    uid: int = -1
    gid: int = -1


def give(descriptor: int, mode: int, layout: Layout) -> None:
    """Give a file or directory its owner, then its mode (a change of owner drops bits)."""
    if layout.uid != -1 or layout.gid != -1:
        os.fchown(descriptor, layout.uid, layout.gid)
    os.fchmod(descriptor, mode)

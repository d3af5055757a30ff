"""Paths that mean something in this jail alone."""

from __future__ import annotations

import os
import re

__all__ = ["names_own_path"]

_TEMPORARY = re.compile(rb'"(/tmp/[^"]*)"')


def names_own_path(frame: bytes) -> bool:
    """Whether a message names what only this jail's /tmp has: files that a test made."""
    return b'"/tmp/' in frame and any(map(_is_of_this_jail, _TEMPORARY.findall(frame)))


def _is_of_this_jail(path: bytes) -> bool:
    folder = os.path.dirname(path)
    return os.path.lexists(path) or (folder != b"/tmp" and os.path.lexists(folder))

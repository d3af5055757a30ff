"""Paths in a frame that lead to what only the driver's jail has: files that a test made."""

from __future__ import annotations

import os
import re

__all__ = ["names_own_files"]

_TEMPORARY = re.compile(rb'"(/tmp/[^"]*)"')


def names_own_files(frame: bytes) -> bool:
    """Whether a frame names such a path."""
    return b'"/tmp/' in frame and any(map(_is_of_this_jail, _TEMPORARY.findall(frame)))


def _is_of_this_jail(path: bytes) -> bool:
    folder = os.path.dirname(path)
    return os.path.lexists(path) or (folder != b"/tmp" and os.path.lexists(folder))

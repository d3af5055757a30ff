"""Names that some file systems take for one."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection
from typing import TypeVar

__all__ = ["collisions"]

Name = TypeVar("Name", bound=str)


def collisions(names: Collection[Name]) -> set[Name]:
    """All names, or paths, that another one is equal to without case and normalisation."""
    counts = Counter(map(_folded, names))
    return {name for name in names if counts[_folded(name)] > 1}


def _folded(name: str) -> str:
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())

"""Names of one directory: which the contract takes as they are, and which need a closer look.

Nearly every directory holds plain ASCII names alone. Those are judged by a few calls for the
whole directory; the answers are those that each name would have had.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from assay.api import UnsafePath, relpath
from assay.api.paths import IGNORED_ANYWHERE, IGNORED_AT_ROOT

__all__ = [
    "are_plain",
    "are_plain_paths",
    "folded",
    "is_ignored_name",
    "is_safe",
    "order",
    "shared",
    "text",
    "texts",
]

_PLAIN = r"[ -.0-\[\]-~]{0,254}[!-\-0-\[\]-~]"
"""ASCII without `/`, backslash and control characters, no dot or space at the end."""
_PLAIN_NAME = re.compile(_PLAIN)
_PLAIN_NAMES = re.compile(f"(?:{_PLAIN}/)*")
_PLAIN_PATH = 1024
"""Characters; with four bytes each still within the bytes that a path may have."""
_PLAIN_DEPTH = 256
_PLAIN_PREFIX = _PLAIN_PATH - 255
_UTF8_NAMES = sys.getfilesystemencoding() == "utf-8"


def folded(name: str) -> str:
    """What a name is on a file system that ignores case and normalisation."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())


def are_plain(names: Sequence[str], prefix: str, depth: int) -> bool:
    """Whether all names of the directory `prefix` are safe, none ignored, no two alike."""
    if len(prefix) > _PLAIN_PREFIX or depth > _PLAIN_DEPTH:
        return False
    if not IGNORED_ANYWHERE.isdisjoint(names):
        return False
    if not prefix and not IGNORED_AT_ROOT.isdisjoint(names):
        return False
    joined = "/".join(names)
    if _PLAIN_NAMES.fullmatch(f"{joined}/") is None:
        return False
    return len(set(joined.lower().split("/"))) == len(names)


def are_plain_paths(paths: Sequence[str]) -> bool:
    """Whether every path is a RelPath that is plain ASCII, and no two are alike."""
    joined = "/".join(paths)
    if not joined or _PLAIN_NAMES.fullmatch(f"{joined}/") is None:
        return False
    if max(map(len, paths)) > _PLAIN_PATH or max(p.count("/") for p in paths) >= _PLAIN_DEPTH:
        return False
    return len({path.lower() for path in paths}) == len(paths)


def is_ignored_name(name: str, prefix: str) -> bool:
    """Whether the contract leaves out what has this name in the directory `prefix`."""
    return name in IGNORED_ANYWHERE or (not prefix and name in IGNORED_AT_ROOT)


def is_safe(name: str, path: str, depth: int) -> bool:
    """Whether the path is a RelPath; plain names need no look at each character."""
    if _PLAIN_NAME.fullmatch(name) and len(path) <= _PLAIN_PATH and depth <= _PLAIN_DEPTH:
        return True
    try:
        relpath(path)
    except UnsafePath:
        return False
    return True


def shared(keys: Sequence[str]) -> set[str]:
    """Keys that stand there more than once."""
    if len(set(keys)) == len(keys):
        return set()
    return {key for key, count in Counter(keys).items() if count > 1}


def text(name: str) -> str:
    """The name as UTF-8 has it; Python decodes names by the locale of the process."""
    return name if _UTF8_NAMES else os.fsencode(name).decode("utf-8", "surrogateescape")


def texts(names: Iterable[str]) -> list[str]:
    """All the names as UTF-8 has them."""
    return list(names) if _UTF8_NAMES else [text(name) for name in names]


def order(path: str) -> bytes:
    """Key of the order of paths' bytes, for those too that are not UTF-8."""
    return path.encode("utf-8", "surrogateescape")

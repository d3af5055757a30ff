"""Relative paths and slugs: text from outside becomes a checked type, or an error.

A path that is not a `RelPath` is never joined, opened or mounted.
"""

from __future__ import annotations

import re
import unicodedata

from assay.api.errors import InvalidInput
from assay.api.trees import RelPath

__all__ = [
    "UnsafePath",
    "components",
    "is_ignored",
    "is_slug",
    "parent",
    "printable",
    "relpath",
    "slug",
]

MAX_COMPONENT_BYTES = 255
MAX_PATH_BYTES = 4096
MAX_DEPTH = 256

IGNORED_ANYWHERE = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        "__pycache__",
        "node_modules",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".venv",
        ".tox",
    }
)
IGNORED_AT_ROOT = frozenset({"build", "dist"})

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")


class UnsafePath(InvalidInput):
    """A path breaks a rule of relative paths; `rule` says which, the path is not shown."""

    def __init__(self, rule: str) -> None:
        self.rule = rule
        super().__init__(rule)


def relpath(text: str) -> RelPath:
    """Check one relative POSIX path; raises UnsafePath with the rule that it breaks."""
    try:
        encoded = text.encode("utf-8")
    except UnicodeEncodeError:
        raise UnsafePath("path is not valid UTF-8") from None
    if not text:
        raise UnsafePath("path is empty")
    if len(encoded) > MAX_PATH_BYTES:
        raise UnsafePath(f"path is longer than {MAX_PATH_BYTES} bytes")
    if text.startswith("/"):
        raise UnsafePath("path is absolute")
    if "\\" in text:
        raise UnsafePath("path holds a backslash")
    if any(unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") for char in text):
        raise UnsafePath("path holds a control or formatting character")
    if unicodedata.normalize("NFC", text) != text:
        raise UnsafePath("path is not in normalisation form C")
    parts = text.split("/")
    if len(parts) > MAX_DEPTH:
        raise UnsafePath(f"path is deeper than {MAX_DEPTH} components")
    for part in parts:
        _check_component(part)
    return RelPath(text)


def _check_component(part: str) -> None:
    if part == "":
        raise UnsafePath("path holds an empty component")
    if part in (".", ".."):
        raise UnsafePath("path holds a . or .. component")
    if part[-1] in ". ":
        raise UnsafePath("path component ends with a dot or a space")
    if len(part.encode("utf-8")) > MAX_COMPONENT_BYTES:
        raise UnsafePath(f"path component is longer than {MAX_COMPONENT_BYTES} bytes")


def components(path: RelPath) -> tuple[str, ...]:
    """The path's components."""
    return tuple(path.split("/"))


def parent(path: RelPath) -> RelPath | None:
    """The directory that holds the path, or None at the root."""
    head, _, _ = path.rpartition("/")
    return RelPath(head) if head else None


def is_ignored(path: RelPath) -> bool:
    """Whether the tree contract leaves the path out: version control, caches, build output."""
    parts = path.split("/")
    return parts[0] in IGNORED_AT_ROOT or any(part in IGNORED_ANYWHERE for part in parts)


def is_slug(text: str) -> bool:
    """Whether the text is a legal id."""
    return _SLUG.fullmatch(text) is not None


def slug(text: str, what: str = "id") -> str:
    """Check an id; raises InvalidInput that names `what`, never the text."""
    if not is_slug(text):
        raise InvalidInput(f"{what} must be 1 to 64 lower-case letters, digits or inner hyphens")
    return text


def printable(name: bytes | str) -> str:
    """Any name as safe one-line text: unprintable and undecodable parts are escaped."""
    text = name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else name
    return "".join(char if char.isprintable() and char != "\\" else _escape(char) for char in text)


def _escape(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")

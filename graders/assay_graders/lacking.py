"""What a jail's tree must not hold, as the paths that it lacks.

A pattern is matched component by component: `*` and `?` inside one, `**` for any number of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.api import EntryKind, RelPath, TreeManifest

__all__ = ["TESTS", "everything", "matching", "pattern_problems"]

TESTS = ("test/**", "tests/**", "**/conftest.py", "**/test_*.py", "**/*_test.py")
"""Patterns of what is taken for tests in a graded tree."""


def everything(tree: TreeManifest) -> tuple[RelPath, ...]:
    """All that a tree holds, so that nothing of it is left."""
    return tuple(entry.path for entry in tree.entries if "/" not in entry.path)


def matching(tree: TreeManifest, patterns: tuple[str, ...]) -> tuple[RelPath, ...]:
    """The files of a tree that a pattern matches."""
    if not patterns:
        return ()
    either = re.compile("|".join(_expression(pattern) for pattern in patterns))
    return tuple(
        entry.path
        for entry in tree.entries
        if entry.kind is EntryKind.FILE and either.fullmatch(f"{entry.path}/")
    )


def _expression(pattern: str) -> str:
    """A regular expression for paths that end with a slash."""
    parts = []
    for part in pattern.split("/"):
        if part == "**":
            parts.append("(?:[^/]+/)*")
        else:
            literal = re.escape(part).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
            parts.append(literal + "/")
    return "".join(parts)


def pattern_problems(option: str, patterns: tuple[str, ...]) -> Iterator[str]:
    """What is wrong with an option that lists path patterns, as sentences."""
    for index, pattern in enumerate(patterns):
        parts = pattern.split("/")
        if not all(parts) or any("**" in part and part != "**" for part in parts):
            yield f"{option}[{index}] has an empty component, or ** inside a component."

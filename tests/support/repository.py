"""The repository as files, for tests of its own rules."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_NOT_OURS = frozenset({"__pycache__", "build", "dist", "node_modules", "runs", "site"})
_HIDDEN_BUT_OURS = frozenset({".ci", ".github", ".gitignore"})

_FENCE = re.compile(r"^```[^\n]*\n.*?^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def own_files() -> list[Path]:
    """Every file that belongs to the repository, sorted; what git ignores is left out."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        # No git, no repository, or another owner's: look at the folder itself.
        return sorted(_walk())
    found = (ROOT / os.fsdecode(name) for name in listed.split(b"\0") if name)
    return sorted(path for path in found if path.is_file())


def _walk() -> Iterator[Path]:
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if _is_ours(name)]
        yield from (Path(folder, name) for name in names if _is_ours(name))


def _is_ours(name: str) -> bool:
    if name.startswith("."):
        return name in _HIDDEN_BUT_OURS
    return name not in _NOT_OURS and not name.endswith(".egg-info")


def relative(path: Path) -> str:
    """A file's path as messages show it."""
    return path.relative_to(ROOT).as_posix()


def text_of(path: Path) -> str | None:
    """A file's text, or None for a file that is not text."""
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None


def prose(markdown: str) -> str:
    """Markdown without its code."""
    return _CODE.sub("", _FENCE.sub("", markdown))


def links(markdown: str) -> list[str]:
    """Targets of the links in a Markdown text, in order."""
    return _LINK.findall(prose(markdown))

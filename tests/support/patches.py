"""Trees in memory for tests of candidates: manifests, readers, and git as the judge."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from assay.api.trees import (
    Digest,
    Edits,
    Entry,
    EntryKind,
    RelPath,
    TreeManifest,
)
from assay.builtin.hasher import TreeHasher
from assay.patches import apply, parse

GIT = shutil.which("git")

Tree = Mapping[str, bytes]


def tree_of(
    files: Tree, *, executables: frozenset[str] = frozenset(), folders: tuple[str, ...] = ()
) -> TreeManifest:
    """The manifest of files, of their folders and of empty ones."""
    entries = {}
    for path, content in files.items():
        digest = Digest("sha256:" + hashlib.sha256(content).hexdigest())
        entries[path] = Entry(
            RelPath(path), EntryKind.FILE, path in executables, len(content), digest
        )
    for path in (*files, *(f"{folder}/x" for folder in folders)):
        while "/" in path:
            path = path.rpartition("/")[0]
            entries[path] = Entry(RelPath(path), EntryKind.DIR)
    return TreeHasher().manifest(entries.values())


def reader(files: Tree) -> Callable[[RelPath], bytes]:
    """Contents of a tree in memory."""
    return lambda path: files[path]


def result(files: Tree, edits: Edits) -> dict[str, bytes]:
    """The files after the edits: deletions first, then writes."""
    found = {
        path: content
        for path, content in files.items()
        if not any(path == gone or path.startswith(f"{gone}/") for gone in edits.deletes)
    }
    found.update({path: write.content for path, write in edits.writes.items()})
    return found


def patched(files: Tree, patch: bytes) -> Edits:
    """The edits that a patch asks of a tree without executables."""
    return apply(parse(patch), lambda path: files.get(path), lambda path: False)


def write_tree(root: Path, files: Tree) -> None:
    """Put the files beneath a folder."""
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def read_tree(root: Path) -> dict[str, bytes]:
    """All files beneath a folder, git's own left out."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


def git(root: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder without any configuration of this machine."""
    assert GIT is not None
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(root.parent),
        "LC_ALL": "C",
    }
    return subprocess.run(
        [GIT, *arguments], cwd=root, input=stdin, env=environment, capture_output=True, check=False
    )


def git_applied(root: Path, files: Tree, patch: bytes) -> dict[str, bytes] | None:
    """The files after `git apply` in an empty folder, or None when git refuses the patch."""
    write_tree(root, files)
    done = git(root, "apply", "--whitespace=nowarn", "-", stdin=patch)
    return read_tree(root) if done.returncode == 0 else None

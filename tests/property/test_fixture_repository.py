"""A repository that is made without git is what git makes of the same tree."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from support.patches import GIT, git
from support.trees import File, Tree, make, manifest_of
from support.trees import trees as drawn_trees

from assay.api import Entry, RelPath, Task
from assay.fixture_repository import commit_date, repository_files

needs_git = pytest.mark.skipif(GIT is None, reason="git is not installed here")

AWKWARD: Tree = {
    "a": {"b": {"c": File(b"deep"), "d": {}}, "z": File(b"")},
    "a.txt": File(b"x" * 70_000),
    "a0": File(b"after the folder a", executable=True),
    "caf\u00e9": File(b"\r\n\0\xff"),
    "empty": {},
    ".gitattributes": File(b"* text eol=crlf ident\n*.x filter=lfs\n"),
    ".gitignore": File(b"*\n"),
    "hooks": {"pre-commit": File(b"#!/bin/sh\nexit 1\n", executable=True)},
}
DATE = commit_date(Task("t", "c", "p", RelPath("f"), clock="2026-01-31T09:30:00Z"))


def said(root: Path, *arguments: str) -> str:
    """What git says without complaint."""
    done = git(root, *arguments)
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    return done.stdout.decode().strip()


def repository(folder: Path, date: int = DATE) -> dict[RelPath, bytes]:
    """Content of the repository's files."""

    def read(entry: Entry) -> bytes:
        return (folder / entry.path).read_bytes()

    return repository_files(manifest_of(folder), read, date)


def put(root: Path, files: dict[RelPath, bytes]) -> Path:
    """Write the files; git is told the working tree by its caller here."""
    for path, content in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return root


@needs_git
@given(tree=drawn_trees)
@example(tree=AWKWARD)
@example(tree={})
@settings(max_examples=6)
def test_it_is_what_git_makes_of_the_same_tree(tree: Tree) -> None:
    with tempfile.TemporaryDirectory(prefix="assay-test-git-") as root:
        folder = make(Path(root, "tree"), tree)
        ours = put(Path(root, "ours"), repository(folder))
        both = (f"--git-dir={ours}", f"--work-tree={folder}")
        assert said(folder, *both, "fsck", "--strict", "--full") == ""
        assert said(folder, *both, "rev-list", "--all", "--count") == "1"
        assert said(folder, *both, "status", "--porcelain", "--ignored") == ""
        assert said(folder, *both, "symbolic-ref", "HEAD") == "refs/heads/main"
        theirs = f"--git-dir={Path(root, 'theirs')}", f"--work-tree={folder}"
        said(folder, *theirs, "init", "-q")
        put(Path(root, "theirs"), {RelPath("info/attributes"): b"* -text -filter -ident\n"})
        said(folder, *theirs, "add", "-A", "-f", ".")
        written = said(folder, *theirs, "write-tree")
        assert said(folder, *both, "rev-parse", "HEAD^{tree}") == written


def test_the_same_bytes_everywhere(tmp_path: Path) -> None:
    folder = make(tmp_path / "tree", AWKWARD)
    files = repository(folder)
    assert files[RelPath("refs/heads/main")] == b"10665db4ebc458ec173a79c6eb7fccd80b5d73c1\n"
    whole = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()
    assert whole == "b630fdb67744f5d550e1428b104be5bb819886663d32195c41ccdd31f7b90d4f"
    assert repository(make(tmp_path / "again", AWKWARD)) == files
    assert not [path for path in files if "hooks" in path or "logs" in path]


def test_the_date_is_the_task_s_clock_or_a_fixed_one() -> None:
    task: Any = Task("t", "c", "p", RelPath("f"))
    assert commit_date(task) == 946684800
    assert DATE == 1769851800

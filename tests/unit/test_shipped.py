"""Shipped suites are used without links, however an installer put them there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.builtin.hasher import TreeHasher
from assay.shipped import without_links
from assay.tree import tree_manifest

CONTENT = {"suite.json": b"{}", "task/fixture/src/a.py": b"a = 1\n", "task/fixture/run": b"#!"}


def _suite(tmp_path: Path, link: Callable[[Path, Path], None] | None = None) -> Path:
    """A suite; with `link` its files are linked from beside it, as from a cache."""
    folder, cache = tmp_path / "site" / "my-suite", tmp_path / "cache"
    for name, content in CONTENT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        source = folder / name
        if link is not None:
            source = cache / name
            source.parent.mkdir(parents=True, exist_ok=True)
        source.write_bytes(content)
        source.chmod(0o755 if name.endswith("run") else 0o644)
        if link is not None:
            link(source, folder / name)
    return folder


def _digest(folder: Path) -> str:
    return tree_manifest(str(folder), TreeHasher()).ref.digest


def test_files_of_their_own_are_used_where_they_are(tmp_path: Path) -> None:
    folder = _suite(tmp_path)
    assert without_links(folder) == folder


@pytest.mark.parametrize("link", [os.link, os.symlink], ids=["hard", "symbolic"])
def test_linked_files_are_copied_once(tmp_path: Path, link: Callable[[Path, Path], None]) -> None:
    folder = _suite(tmp_path / "linked", link)
    copied = without_links(folder)
    assert copied != folder
    assert copied.name == folder.name
    assert _digest(copied) == _digest(_suite(tmp_path / "plain"))
    assert copied.parent.stat().st_mode & 0o077 == 0
    assert without_links(folder) == copied


def test_what_the_interpreter_left_is_not_copied(tmp_path: Path) -> None:
    folder = _suite(tmp_path, os.link)
    (folder / "task/fixture/src/__pycache__").mkdir()
    (folder / "task/fixture/src/__pycache__/a.pyc").write_bytes(b"")
    assert not list(without_links(folder).rglob("__pycache__"))


def test_the_copy_goes_with_the_process_that_made_it(tmp_path: Path) -> None:
    folder, temporary = _suite(tmp_path, os.link), tmp_path / "temporary"
    temporary.mkdir()
    (folder / "task/fixture/src").chmod(0o555)
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from assay.shipped import without_links\n"
        "copied = without_links(Path(sys.argv[1]))\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    sys.exit()\n"
        "os.waitpid(child, 0)\n"
        "print(copied.is_dir())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, folder],
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=True,
    )
    (folder / "task/fixture/src").chmod(0o755)
    assert done.stdout == "True\n"
    assert list(temporary.iterdir()) == []

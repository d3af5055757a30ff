"""Trees for tests: made from data, drawn by hypothesis, counted for leaks."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
import tempfile
import textwrap
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias, Union

import pytest
from attrs import frozen
from hypothesis import strategies as st

from assay.api import Digest, Entry, EntryKind, RelPath, TreeManifest, crew
from assay.api.files import open_root, opened
from assay.builtin.hasher import TreeHasher

HASHER = TreeHasher()
ORDINARY_UID = 65532
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where trees are made and removed by the thousand; None is the usual temporary folder."""


@frozen
class File:
    content: bytes = b""
    executable: bool = False


Tree: TypeAlias = Mapping[str, Union[File, "Tree"]]


def make(folder: Path, tree: Tree) -> Path:
    """Make the tree in a folder (made when absent); order of the mapping is order of making."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, node in tree.items():
        if isinstance(node, File):
            (folder / name).write_bytes(node.content)
            (folder / name).chmod(0o755 if node.executable else 0o644)
        else:
            make(folder / name, node)
    return folder


def manifest_of(folder: Path) -> TreeManifest:
    with opened(open_root(folder)) as root:
        manifest = HASHER.scan(root).manifest
    assert manifest is not None
    return manifest


def digest_of(folder: Path) -> str:
    return manifest_of(folder).ref.digest


def deep(folder: Path, depth: int, *, leaf: str = "leaf") -> Path:
    """A chain of directories `d/d/d…`, longer than any path that the kernel takes."""
    folder.mkdir(exist_ok=True)
    current = open_root(folder)
    for _ in range(depth):
        os.mkdir("d", dir_fd=current)
        below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=current)
        os.close(current)
        current = below
    os.close(os.open(leaf, os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=current))
    os.close(current)
    return folder


def descriptors() -> set[str]:
    """What is open, but for the sockets of helper processes, which come and go with them."""
    sockets = {str(helper.peer.fileno()) for helper in crew._CREW.helpers}
    return set(os.listdir("/proc/self/fd")) - sockets


@contextmanager
def nothing_leaks(*folders: Path) -> Iterator[None]:
    """No descriptor and no entry of the folders is left that was not there before."""
    before = len(descriptors()), [sorted(os.listdir(folder)) for folder in folders]
    yield
    assert (len(descriptors()), [sorted(os.listdir(folder)) for folder in folders]) == before


def _name_alphabet() -> st.SearchStrategy[str]:
    return st.sampled_from("abcABC012-_ .éß😀")


names = (
    st.text(_name_alphabet(), min_size=1, max_size=4)
    .map(lambda name: unicodedata.normalize("NFC", name))
    .filter(lambda name: name[-1] not in ". ")
)
contents = st.binary(max_size=12)
files = st.builds(File, contents, st.booleans())


def folded(name: str) -> str:
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())


def _folders(children: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    pairs = st.lists(st.tuples(names, children), max_size=4, unique_by=lambda p: folded(p[0]))
    return pairs.map(dict)


trees = _folders(st.recursive(files, _folders, max_leaves=10))


def flat(tree: Tree, prefix: str = "") -> dict[str, File | None]:
    """Path to file, or None for a directory."""
    out: dict[str, File | None] = {}
    for name, node in tree.items():
        path = prefix + name
        if isinstance(node, File):
            out[path] = node
        else:
            out[path] = None
            out |= flat(node, path + "/")
    return out


@contextmanager
def ordinary_folder() -> Iterator[Path]:
    """A folder that an ordinary user owns and reaches, removed by path when it is empty."""
    with tempfile.TemporaryDirectory(prefix="assay-test-") as name:
        folder = Path(name)
        if os.geteuid() == 0:
            os.chown(folder, ORDINARY_UID, ORDINARY_UID)
        yield folder


def run_ordinary(code: str, folder: Path) -> str:
    """Output of Python code run as an ordinary user, with `folder` as its Path.

    Everything it imports is imported first: an interpreter beneath a private home can't be
    read any more after the user has changed.
    """
    lines = textwrap.dedent(code).strip().splitlines()
    imports = [line for line in lines if line.startswith(("import ", "from "))]
    drop = f"os.setgroups([]); os.setgid({ORDINARY_UID}); os.setuid({ORDINARY_UID})"
    prelude = ["import os, sys", "from pathlib import Path", *imports]
    if os.geteuid() == 0:
        prelude.append(drop)
    prelude += ["assert os.geteuid() != 0", "folder = Path(sys.argv[1])"]
    body = [line for line in lines if line not in imports]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join([*prelude, *body]), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def small_disk(folder: Path, options: str) -> Iterator[Path]:
    """A tmpfs of its own mounted on the folder: needs root, and says so when it is not there."""
    with _mounted(folder, "-t", "tmpfs", "-o", options, "tmpfs"):
        yield folder


@contextmanager
def mounted_folder(source: Path, folder: Path) -> Iterator[Path]:
    """A folder that is shown a second time, by a bind mount: needs root, as `small_disk`."""
    with _mounted(folder, "--bind", str(source)):
        yield folder


@contextmanager
def _mounted(folder: Path, *what: str) -> Iterator[None]:
    reason = "only root can mount something"
    if os.geteuid() != 0:
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    folder.mkdir(parents=True)
    target = folder
    subprocess.run(["mount", *what, str(folder)], check=True)
    try:
        with opened(open_root(folder)) as mounted:
            # The folder may be moved by then; the descriptor still leads to it.
            yield
            target = Path(f"/proc/self/fd/{mounted}").readlink()
    finally:
        subprocess.run(["umount", str(target)], check=True)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def rel(text: str) -> RelPath:
    return RelPath(text)


def manifest_from(tree: Tree) -> TreeManifest:
    """The manifest of a tree that is never made."""
    return HASHER.manifest(entry_of(path, node) for path, node in flat(tree).items())


def entry_of(path: str, node: File | None) -> Entry:
    if node is None:
        return Entry(rel(path), EntryKind.DIR)
    digest = Digest("sha256:" + hashlib.sha256(node.content).hexdigest())
    return Entry(rel(path), EntryKind.FILE, node.executable, len(node.content), digest)

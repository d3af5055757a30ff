"""One pass, or many joined: what is found of any tree is the same, of hostile ones too."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st
from support.helpers import none, used_for_everything
from support.reference import tree_digest
from support.trees import HASHER, IN_MEMORY, Tree, flat, make, manifest_of, nothing_leaks, trees

from assay.api import AssayError, Scan, TreeLimits
from assay.api.copies import Layout, copy_tree
from assay.api.files import open_root, opened, remove_tree

LAYOUT = Layout(0o755, 0o644, 0o755)
ODD_NAMES = (
    b"caf\xe9",
    "e\u0301".encode(),
    b"back\\slash",
    b"new\nline",
    b"\x1b[31m",
    b"dot.",
    b" ",
    b"README",
    b"readme",
    "Straße".encode(),
    b"STRASSE",
    b".git",
    b"__pycache__",
    b"build",
    b"x" * 255,
    "\u202e".encode(),
)


@frozen
class Odd:
    """Something to put into a directory of a tree; which directory is told by a number."""

    place: int
    name: bytes
    kind: str


odds = st.lists(
    st.builds(
        Odd,
        st.integers(0, 20),
        st.sampled_from(ODD_NAMES),
        st.sampled_from(("file", "empty", "dir", "link", "fifo", "setuid", "locked", "hard-link")),
    ),
    max_size=6,
)


def put(folder: Path, tree: Tree, odd: Odd) -> None:
    """Make it; what is in the way stays."""
    places = ["", *(path for path, node in flat(tree).items() if node is None)]
    path = os.path.join(os.fsencode(folder / places[odd.place % len(places)]), odd.name)
    if os.path.lexists(path):
        return
    if odd.kind == "dir":
        os.mkdir(path)
        Path(os.fsdecode(path), "inner").write_bytes(odd.name)
    elif odd.kind == "link":
        os.symlink(b"../..", path)
    elif odd.kind == "fifo":
        os.mkfifo(path)
    else:
        Path(os.fsdecode(path)).write_bytes(b"" if odd.kind == "empty" else odd.name)
        if odd.kind == "hard-link":
            os.link(path, os.fsencode(folder.parent / f"outside-{odd.place}-{os.urandom(4).hex()}"))
        mode = {"setuid": 0o4755, "locked": 0o044}.get(odd.kind, 0o644)
        os.chmod(path, mode)


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="assay-test-", dir=IN_MEMORY) as name:
        yield Path(name)


def found(tree: Path, limits: TreeLimits) -> Scan | tuple[type[AssayError], str]:
    with opened(open_root(tree)) as root, nothing_leaks():
        try:
            return HASHER.scan(root, limits=limits, collect_refused=True)
        except AssayError as error:
            return type(error), str(error)


limits = st.one_of(
    st.just(TreeLimits()),
    st.builds(TreeLimits, files=st.integers(0, 30)),
    st.builds(TreeLimits, bytes=st.integers(0, 200)),
    st.builds(TreeLimits, depth=st.integers(0, 4)),
)


@settings(max_examples=100, deadline=None)
@given(trees, odds, limits, st.integers(1, 5))
def test_helpers_find_what_one_pass_finds(
    tree: Tree, strange: list[Odd], bounds: TreeLimits, entries: int
) -> None:
    with folder() as top:
        made = make(top / "t", tree)
        for odd in strange:
            put(made, tree, odd)
        with none():
            expected = found(made, bounds)
        with used_for_everything(entries):
            assert found(made, bounds) == expected
        if isinstance(expected, Scan) and expected.manifest is not None:
            assert expected.manifest.ref.digest == tree_digest(str(made))
        with opened(open_root(top)) as parent:
            remove_tree(parent, "t")


@settings(max_examples=40, deadline=None)
@given(trees, st.integers(1, 4))
def test_helpers_copy_what_one_process_copies(tree: Tree, files: int) -> None:
    with folder() as top:
        source = make(top / "source", tree)
        expected = manifest_of(source)
        for name, how in (("alone", none()), ("together", used_for_everything(files=files))):
            (top / name).mkdir()
            with how, opened(open_root(source)) as root, opened(open_root(top / name)) as target:
                with nothing_leaks():
                    copied = copy_tree(root, target, expected.entries, LAYOUT)
                assert sorted(copied, key=lambda e: e.path) == list(expected.entries)
            assert manifest_of(top / name) == expected
            assert {path.stat().st_mode & 0o777 for path in (top / name).rglob("*")} <= {
                0o755,
                0o644,
            }


def test_refusals_are_raised_by_the_first_path_in_any_case(tmp_path: Path) -> None:
    make(tmp_path, {"a": {"b": {}}, "c": {}})
    for path in ("c/link", "a/b/link", "a/link"):
        (tmp_path / path).symlink_to("x")
    for how in (none(), used_for_everything()):
        with how, opened(open_root(tmp_path)) as root, pytest.raises(AssayError, match="a/b/link"):
            HASHER.scan(root)

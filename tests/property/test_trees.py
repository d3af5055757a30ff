"""Properties of trees: what must change a digest, what never may, and that all parts agree."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.reference import tree_digest
from support.trees import (
    HASHER,
    IN_MEMORY,
    File,
    Tree,
    contents,
    digest_of,
    entry_of,
    flat,
    folded,
    make,
    manifest_from,
    manifest_of,
    names,
    rel,
    trees,
)

from assay.api import (
    Edits,
    EntryKind,
    FileWrite,
    InvalidInput,
    RelPath,
    TreeManifest,
    TreeRefused,
    is_ignored,
    parent,
)
from assay.api.changes import compare, edited_manifest
from assay.api.files import open_root, opened, remove_tree
from assay.builtin.copier import CopyCopier
from assay.tree import scan_folder

few = settings(max_examples=60, deadline=None)


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="assay-test-", dir=IN_MEMORY) as name:
        yield Path(name)


@contextmanager
def listing_in_any_order(seed: int) -> Iterator[None]:
    """The kernel lists directories as it likes."""
    real = os.scandir

    class Shuffled:
        def __init__(self, fd: int) -> None:
            with real(fd) as entries:
                self._entries = list(entries)
            random.Random(seed).shuffle(self._entries)

        def __enter__(self) -> Iterator[os.DirEntry[str]]:
            return iter(self._entries)

        def __exit__(self, *exc: object) -> None: ...

    with patch.object(os, "scandir", Shuffled):
        yield


@few
@given(trees)
def test_both_implementations_and_the_pure_manifest_agree(tree: Tree) -> None:
    with folder() as top:
        made = make(top / "t", tree)
        assert manifest_of(made) == manifest_from(tree)
        assert digest_of(made) == tree_digest(str(made))


@few
@given(trees, st.randoms(use_true_random=False))
def test_order_never_enters(tree: Tree, chance: random.Random) -> None:
    entries = list(manifest_from(tree).entries)
    chance.shuffle(entries)
    assert HASHER.manifest(entries) == manifest_from(tree)
    with folder() as top:
        backwards = make(top / "t", dict(reversed(tree.items())))
        with listing_in_any_order(chance.randrange(1000)):
            assert manifest_of(backwards) == manifest_from(tree)


@few
@given(trees, st.integers(0, 1000))
def test_refusals_come_in_path_order_whatever_the_listing(tree: Tree, seed: int) -> None:
    with folder() as top:
        made = make(top / "t", tree)
        for path, node in flat(tree).items():
            if node is None:
                (made / path / "link").symlink_to("x")
                (made / path / "bad\\name").touch()
        (made / "zz").symlink_to("x")
        plain = scan_folder(made, HASHER, collect_refused=True).refused
        with listing_in_any_order(seed):
            assert scan_folder(made, HASHER, collect_refused=True).refused == plain
            with pytest.raises(TreeRefused) as error:
                scan_folder(made, HASHER)
        assert (error.value.path, error.value.kind) == (plain[0].path, plain[0].kind.value)


def variants(tree: Tree) -> Iterator[dict[str, File | None]]:
    """Trees, as path to node, that differ from `tree` in one thing."""
    paths = flat(tree)
    for path, node in paths.items():
        others = {p: n for p, n in paths.items() if p != path and not p.startswith(path + "/")}
        yield others
        if node is not None:
            yield paths | {path: File(node.content + b"\0", node.executable)}
            yield paths | {path: File(node.content, not node.executable)}
            yield paths | {path: None}
            yield others | {path + "x": node}
            if not node.content:
                continue
            yield others | {path + "x": File(node.content[1:], node.executable)}
        elif len(others) == len(paths) - 1:
            yield paths | {path: File()}
    yield paths | {"new": None}
    yield paths | {"new": File()}


@few
@given(trees)
def test_every_difference_changes_the_digest_and_is_a_change(tree: Tree) -> None:
    base = manifest_from(tree)
    for variant in variants(tree):
        if len({folded(path) for path in variant}) < len(variant):
            continue
        changed = HASHER.manifest(map(entry_of, variant, variant.values()))
        if changed.entries == base.entries:
            continue
        assert changed.ref.digest != base.ref.digest
        assert compare(base, changed, binary=never).changes
    assert compare(base, base, binary=never).changes == ()


def never(_: RelPath) -> bool:
    return False


@st.composite
def bases_and_edits(draw: st.DrawFn) -> tuple[Tree, Edits]:
    tree = draw(trees)
    known = sorted(flat(tree)) or ["a"]
    near = st.builds(lambda a, b: f"{a}/{b}", st.sampled_from(known), names)
    odd = st.sampled_from(["build/x", ".git", "../x", "a\\b", "d/__pycache__/x"])
    rare = st.integers(0, 19).flatmap(lambda n: odd if n == 0 else st.sampled_from(known))
    paths = st.one_of(st.sampled_from(known), near, names, rare).map(rel)
    writes = st.builds(FileWrite, contents, st.none() | st.booleans())
    return tree, Edits(
        writes=draw(st.dictionaries(paths, writes, max_size=4)),
        deletes=tuple(draw(st.lists(paths, max_size=3))),
    )


@settings(max_examples=150, deadline=None)
@given(bases_and_edits(), bases_and_edits())
def test_put_makes_exactly_the_edited_manifest(
    case: tuple[Tree, Edits], more: tuple[Tree, Edits]
) -> None:
    tree, edits = case
    with folder() as top:
        source = make(top / "source", tree)
        (top / "scratch").mkdir()
        copier = CopyCopier()
        prepared = copier.prepare(str(source), manifest_from(tree), None)
        expected = prepared.manifest
        with copier.open(prepared, str(top / "scratch"), hasher=HASHER) as workspace:
            made = Path(workspace.host_path)
            for wish in (edits, more[1]):
                expected = put_or_refuse(workspace, expected, wish)
                assert manifest_of(made) == expected
                frozen = workspace.freeze(HASHER)
                assert frozen.change_set == compare(
                    prepared.manifest, expected, binary=lambda p: b"\0" in (made / p).read_bytes()
                )
        assert manifest_of(source) == prepared.manifest


def put_or_refuse(workspace: Any, before: TreeManifest, edits: Edits) -> TreeManifest:
    """The pure function's result, after `put` did the same: both refuse, or neither does."""
    try:
        expected = edited_manifest(before, edits, HASHER)
    except InvalidInput as error:
        with pytest.raises(type(error)):
            workspace.put(edits)
        return before
    workspace.put(edits)
    return expected


@few
@given(trees, trees)
def test_changes_say_how_to_get_from_one_tree_to_the_other(first: Tree, second: Tree) -> None:
    base, result = manifest_from(first), manifest_from(second)
    found = compare(base, result, binary=never)
    assert (found.changes == ()) == (base.ref == result.ref)
    assert [change.path for change in found.changes] == sorted(c.path for c in found.changes)
    rebuilt = {entry.path: entry for entry in base.entries}
    for change in found.changes:
        assert change.before == rebuilt.get(change.path)
        rebuilt.pop(change.path, None)
    for change in found.changes:
        if change.after is not None:
            rebuilt[change.path] = change.after
    leaves = {path: entry for path, entry in rebuilt.items() if entry.kind is EntryKind.FILE}
    wanted = {entry.path: entry for entry in result.entries}
    assert leaves == {p: e for p, e in wanted.items() if e.kind is EntryKind.FILE}
    held = {parent(path) for path in wanted}
    empty = {path for path in wanted if wanted[path].kind is EntryKind.DIR and path not in held}
    assert empty <= rebuilt.keys()


@few
@given(trees, st.lists(st.sampled_from([0o000, 0o100, 0o500, 0o755]), min_size=1))
def test_any_tree_is_removed_whole(tree: Tree, modes: list[int]) -> None:
    with folder() as top:
        kept = make(top / "kept", {"f": File(b"x")})
        made = make(top / "t", tree)
        (made / "link").symlink_to(kept)
        for number, (path, _) in enumerate(sorted(flat(tree).items(), reverse=True)):
            (made / path).chmod(modes[number % len(modes)])
        with opened(open_root(top)) as parent_fd:
            remove_tree(parent_fd, "t")
        assert os.listdir(top) == ["kept"]
        assert (kept / "f").read_bytes() == b"x"


@few
@given(trees)
def test_ignored_entries_never_enter(tree: Tree) -> None:
    assume(not any(is_ignored(rel(path)) for path in flat(tree)))
    with folder() as top:
        made = make(top / "t", tree)
        before = digest_of(made)
        for path, node in [*flat(tree).items(), ("", None)]:
            if node is None:
                make(made / path, {"__pycache__": {"x": File(b"1")}, ".git": File()})
        make(made, {"build": {"x": File()}})
        assert digest_of(made) == before == tree_digest(str(made))

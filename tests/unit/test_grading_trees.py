"""Trees of one trial that lack some of it: verified, made once, closed with the trial."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from support.trees import HASHER, File, make, manifest_of, rel

from assay.api import Edits, FileWrite, Workspace
from assay.builtin.copier import CopyCopier
from assay.grading_trees import GradingTrees

TREE = {
    "src": {"a.py": File(b"1\n"), "pkg": {"b.py": File(b"2\n")}},
    "tests": {"t.py": File(b"3\n")},
}
EDITS = Edits(
    writes={
        rel("src/a.py"): FileWrite(b"changed\n"),
        rel("src/pkg/new.py"): FileWrite(b"new\n"),
    },
    deletes=(rel("tests/t.py"),),
)


@pytest.fixture
def trees(tmp_path: Path) -> Iterator[GradingTrees]:
    source = make(tmp_path / "source", TREE)
    (tmp_path / "scratch").mkdir()
    opened: list[Workspace] = []
    copier = CopyCopier()
    yield GradingTrees(
        copier=copier,
        prepared=copier.prepare(str(source), manifest_of(source), None),
        scratch=str(tmp_path / "scratch"),
        hasher=HASHER,
        ids=None,
        edits=EDITS,
        opened=opened,
        timed=lambda _: nullcontext(),
    )
    for workspace in opened:
        workspace.close()
    assert os.listdir(tmp_path / "scratch") == []


def files(workspace: Workspace) -> dict[str, bytes]:
    assert workspace.host_path is not None
    root = Path(workspace.host_path)
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_the_whole_tree_is_the_fixture_with_the_edits(trees: GradingTrees):
    manifest, changes = trees.whole()

    assert files(trees.variant(())) == {"src/a.py": b"changed\n", "src/pkg/b.py": b"2\n"} | {
        "src/pkg/new.py": b"new\n"
    }
    assert changes.result == manifest.ref
    assert len(trees.opened) == 1


def test_what_is_left_out_is_gone_with_all_beneath_it(trees: GradingTrees):
    trees.whole()

    assert files(trees.variant((rel("src/a.py"),))) == {
        "src/pkg/b.py": b"2\n",
        "src/pkg/new.py": b"new\n",
    }
    assert files(trees.variant((rel("src/pkg"),))) == {"src/a.py": b"changed\n"}
    assert files(trees.variant((rel("src"),))) == {}
    assert len(files(trees.variant((rel("absent"),)))) == 3


def test_the_same_paths_are_the_same_workspace(trees: GradingTrees):
    trees.whole()
    both = (rel("src/a.py"), rel("src/pkg/b.py"))

    assert trees.variant(both) is trees.variant(both[::-1])
    assert len(trees.opened) == 2


def test_restored_paths_are_as_in_the_fixture(trees: GradingTrees):
    trees.whole()

    assert files(trees.variant(restore=(rel("src/a.py"), rel("tests/t.py")))) == {
        "src/a.py": b"1\n",
        "src/pkg/b.py": b"2\n",
        "src/pkg/new.py": b"new\n",
        "tests/t.py": b"3\n",
    }
    everything = (rel("src/a.py"), rel("src/pkg/new.py"), rel("tests/t.py"))
    assert files(trees.variant(restore=everything)) == files(
        trees.of_trusted(trees.prepared).variant()
    )


def test_one_file_of_a_deleted_directory_is_restored(trees: GradingTrees):
    trees.edits = Edits(deletes=(rel("src"),))

    assert files(trees.variant(restore=(rel("src/pkg/b.py"),))) == {
        "src/pkg/b.py": b"2\n",
        "tests/t.py": b"3\n",
    }


def test_trusted_files_have_nothing_of_the_candidate_and_what_is_put(trees: GradingTrees):
    trees.whole()
    trusted = trees.of_trusted(trees.prepared)

    assert files(trusted.variant((rel("src"),), put={rel("tests/t.py"): b"other\n"})) == {
        "tests/t.py": b"other\n"
    }
    assert trusted.opened is trees.opened

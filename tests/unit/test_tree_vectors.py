"""The shipped vectors: the hasher, and the independent implementation, give what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.reference import tree_digest
from support.trees import HASHER
from support.vectors import build, load

from assay.api import InvalidInput, TreeRefused
from assay.tree import scan_folder, tree_manifest, tree_ref

DATA = load()


@pytest.mark.parametrize("vector", DATA["trees"], ids=lambda vector: vector["name"])
def test_digests(tmp_path: Path, vector: dict[str, Any]) -> None:
    folder = build(tmp_path / "tree", vector["entries"])
    ref = tree_ref(folder, HASHER)
    assert (ref.contract, ref.digest) == (DATA["contract"], vector["digest"])
    assert tree_digest(str(folder)) == vector["digest"]


@pytest.mark.parametrize("vector", DATA["refused"], ids=lambda vector: vector["name"])
def test_refusals(tmp_path: Path, vector: dict[str, Any]) -> None:
    folder = build(tmp_path / "tree", vector["entries"])
    found = scan_folder(folder, HASHER, collect_refused=True)
    assert found.manifest is None
    assert [{"path": r.path, "kind": r.kind.value} for r in found.refused] == vector["refused"]
    with pytest.raises(TreeRefused):
        tree_manifest(folder, HASHER)


def test_equal_digests_are_meant() -> None:
    by_digest: dict[str, set[str]] = {}
    for vector in DATA["trees"]:
        by_digest.setdefault(vector["digest"], set()).add(vector["name"])
    assert {frozenset(names) for names in by_digest.values() if len(names) > 1} == {
        frozenset({"one-file", "other-mode-bits"}),
        frozenset({"ignored", "ignored-absent"}),
    }


def test_a_folder_that_is_not_there_is_invalid_input(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("absent", "link"):
        with pytest.raises(InvalidInput) as error:
            tree_ref(tmp_path / name, HASHER)
        assert str(tmp_path) not in str(error.value)

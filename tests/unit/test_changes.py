"""Change sets and edited manifests: the operations, and what replaces what."""

from __future__ import annotations

import pytest
from support.trees import HASHER, File, Tree, flat, manifest_from, rel

from assay.api import (
    CandidateMalformed,
    ChangeSet,
    Edits,
    FileWrite,
    Op,
    Reason,
    Refused,
    RefusedKind,
    TreeManifest,
    UnsafePath,
)
from assay.api.changes import compare, edited_manifest

BASE: Tree = {
    "pkg": {"m.py": File(b"1"), "old.py": File(b"2"), "run": File(b"3", executable=True)},
    "only": {"one": {"f": File(b"4")}},
    "empty": {},
    "top": File(b"5"),
}


def edit(writes: dict[str, FileWrite] | None = None, *deletes: str) -> TreeManifest:
    written = {rel(path): write for path, write in (writes or {}).items()}
    edits = Edits(writes=written, deletes=tuple(map(rel, deletes)))
    return edited_manifest(manifest_from(BASE), edits, HASHER)


def changes(result: TreeManifest) -> list[tuple[str, Op, bool]]:
    found = compare(manifest_from(BASE), result, binary=lambda path: path.endswith("bin"))
    return [(change.path, change.op, change.binary) for change in found.changes]


@pytest.mark.parametrize(
    ("writes", "deletes", "expected"),
    [
        ({}, (), []),
        ({"top": FileWrite(b"5")}, (), []),
        ({"top": FileWrite(b"6")}, (), [("top", Op.MODIFIED, False)]),
        ({"x.bin": FileWrite(b"\0")}, (), [("x.bin", Op.ADDED, True)]),
        ({"top": FileWrite(b"5", True)}, (), [("top", Op.MODE, False)]),
        ({"top": FileWrite(b"6", True)}, (), [("top", Op.MODIFIED, False)]),
        ({"pkg/run": FileWrite(b"3")}, (), []),
        ({"new/deep/f": FileWrite(b"")}, (), [("new/deep/f", Op.ADDED, False)]),
        ({"empty/f": FileWrite(b"")}, (), [("empty/f", Op.ADDED, False)]),
        ({}, ("pkg/old.py",), [("pkg/old.py", Op.DELETED, False)]),
        ({}, ("empty",), [("empty", Op.DELETED, False)]),
        ({}, ("absent", "top/absent"), []),
        ({}, ("only",), [("only/one/f", Op.DELETED, False)]),
        ({"only/g": FileWrite(b"")}, ("only",), [
            ("only/g", Op.ADDED, False),
            ("only/one/f", Op.DELETED, False),
        ]),
        ({"top/f": FileWrite(b"")}, (), [("top", Op.KIND, False), ("top/f", Op.ADDED, False)]),
        ({"only": FileWrite(b"")}, (), [
            ("only", Op.KIND, False),
            ("only/one/f", Op.DELETED, False),
        ]),
        ({"empty": FileWrite(b"")}, (), [("empty", Op.KIND, False)]),
    ],
)  # fmt: skip
def test_operations(
    writes: dict[str, FileWrite], deletes: tuple[str, ...], expected: list[tuple[str, Op, bool]]
) -> None:
    assert changes(edit(writes, *deletes)) == expected


def test_b24_edit_add_and_delete_are_all_captured() -> None:
    result = edit({"pkg/m.py": FileWrite(b"x"), "pkg/new_mod.py": FileWrite(b"y")}, "pkg/old.py")
    assert changes(result) == [
        ("pkg/m.py", Op.MODIFIED, False),
        ("pkg/new_mod.py", Op.ADDED, False),
        ("pkg/old.py", Op.DELETED, False),
    ]


@pytest.mark.parametrize("deletes", [("only/one/f",), ("only/one",), ("only",)])
def test_directories_emptied_by_deletions_go_too(deletes: tuple[str, ...]) -> None:
    paths = {entry.path for entry in edit({}, *deletes).entries}
    assert paths == set(flat(BASE)) - {"only", "only/one", "only/one/f"}


def test_a_deleted_and_rewritten_file_keeps_its_execute_bit() -> None:
    (entry,) = (e for e in edit({"pkg/run": FileWrite(b"9")}, "pkg").entries if e.path == "pkg/run")
    assert entry.executable


def test_a_directory_left_empty_is_no_change_of_its_own() -> None:
    result = manifest_from({**BASE, "only": {}})
    assert changes(result) == [("only/one/f", Op.DELETED, False)]


def test_an_empty_directory_that_appears_is_a_change() -> None:
    assert changes(manifest_from({**BASE, "logs": {"x": {}}})) == [("logs/x", Op.ADDED, False)]


def test_a_refused_tree_has_no_result_and_no_changes() -> None:
    refused = (Refused("l", RefusedKind.SYMLINK),)
    base = manifest_from(BASE)
    found = compare(base, None, refused=refused, ignored=("build",), binary=lambda path: False)
    assert found == ChangeSet(base.ref, None, (), refused, ("build",))


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        ({"a": FileWrite(b""), "a/b": FileWrite(b"")}, Reason.CANDIDATE_MALFORMED),
        ({".git/config": FileWrite(b"")}, Reason.IGNORED_PATH_CHANGED),
        ({"build": FileWrite(b"")}, Reason.IGNORED_PATH_CHANGED),
    ],
)
def test_edits_that_no_tree_can_satisfy(edits: dict[str, FileWrite], reason: Reason) -> None:
    with pytest.raises(CandidateMalformed) as error:
        edit(edits)
    assert error.value.reason is reason


def test_unsafe_paths_and_collisions_are_refused() -> None:
    with pytest.raises(UnsafePath):
        edit({"../x": FileWrite(b"")})
    with pytest.raises(UnsafePath):
        edit({}, "/etc")
    with pytest.raises(CandidateMalformed, match="TOP: case-fold") as error:
        edit({"TOP": FileWrite(b"")})
    assert error.value.reason is Reason.UNSAFE_PATH

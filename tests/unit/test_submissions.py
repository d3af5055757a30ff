"""What users hand in: bytes preserved, nothing lost, nothing silently replaced."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.suites import encoded, write

from assay.api import Candidate, CandidateKind, InvalidInput, ManifestError, UsageError
from assay.submissions import Submissions, load_candidates

TASKS = ("add-1", "add-2")

NO_NEWLINE = b"--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"
BLANK_CONTEXT = b"--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n a\n-b\n+B\n \n \n"
CR_INSIDE = b"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\rc\n+b\rd\n"
NOT_TEXT = b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-\xe9\n+\xff\x00\n"


def lines(tmp_path: Path, *rows: object) -> Submissions:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n".join(encoded(row) for row in rows))
    return load_candidates(str(path), TASKS)


def summary(found: Submissions) -> list[tuple[str, str]]:
    return [(candidate.task, candidate.id) for candidate in found.candidates]


@pytest.mark.parametrize("patch", [NO_NEWLINE, BLANK_CONTEXT, CR_INSIDE, NOT_TEXT, b""])
def test_b16_b17_b19_a_patch_file_keeps_every_byte(tmp_path: Path, patch: bytes) -> None:
    (tmp_path / "My Fix.patch").write_bytes(patch)
    found = load_candidates(str(tmp_path / "My Fix.patch"), TASKS)
    assert summary(found) == [("add-1", "my-fix"), ("add-2", "my-fix")]
    assert {candidate.patch for candidate in found.candidates} == {patch}


@pytest.mark.parametrize("patch", [NO_NEWLINE, BLANK_CONTEXT, CR_INSIDE])
def test_b16_b17_b19_a_row_keeps_every_byte(tmp_path: Path, patch: bytes) -> None:
    (candidate,) = lines(tmp_path, {"task": "add-1", "patch": patch.decode()}).candidates
    assert (candidate.id, candidate.patch) == ("candidate", patch)


def test_b36_rows_of_one_task_and_model_are_kept_apart(tmp_path: Path) -> None:
    rows = [
        {"instance_id": "add-1", "model_name_or_path": "m", "model_patch": f"diff {name}"}
        for name in "ABC"
    ]
    found = lines(tmp_path, *rows, {"instance_id": "add-2", "id": "m", "patch": "diff D"})
    assert [(c.task, c.id, c.patch) for c in found.candidates] == [
        ("add-1", "m", b"diff A"),
        ("add-1", "m-2", b"diff B"),
        ("add-1", "m-3", b"diff C"),
        ("add-2", "m", b"diff D"),
    ]


def test_b36_a_suffix_never_takes_the_place_of_an_id_that_is_there(tmp_path: Path) -> None:
    rows = [{"task": "add-1", "id": name, "patch": name} for name in ("m", "m-2", "m", "M")]
    found = lines(tmp_path, *rows)
    assert sorted(c.id for c in found.candidates) == ["m", "m-2", "m-3", "m-4"]
    long = [{"task": "add-1", "id": "x" * 64, "patch": str(number)} for number in range(2)]
    assert len({c.id for c in lines(tmp_path, *long).candidates}) == 2


def test_b37_unknown_tasks_are_problems_and_the_others_are_kept(tmp_path: Path) -> None:
    found = lines(
        tmp_path,
        {"instance_id": "no__such-9", "model_name_or_path": "m", "model_patch": "x"},
        {"instance_id": "add-1", "model_name_or_path": "m", "model_patch": None},
        {"instance_id": "add-2", "model_name_or_path": "m", "model_patch": ""},
    )
    assert found.problems == ("rows.jsonl: line 1: unknown task no__such-9",)
    assert [c.patch for c in found.candidates] == [b"", b""]


def test_rows_with_files_deletes_and_a_claim(tmp_path: Path) -> None:
    claim = {"schema": 1, "completed": True}
    row = {"task": "add-1", "files": {"../x": "é\r\n"}, "deletes": ["y"], "claim": claim}
    first, second = lines(tmp_path, row, {**row, "claim": '{"schema":  1}'}).candidates
    assert first.kind is CandidateKind.FILES
    assert (first.files, first.deletes) == ({"../x": "é\r\n".encode()}, ("y",))
    assert json.loads(first.claim or b"") == claim
    assert second.claim == b'{"schema":  1}'


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"patch": "x"}, "line 2: must hold exactly one of the keys task, instance_id"),
        ({"task": "add-1", "instance_id": "add-1", "patch": ""}, "line 2: must hold exactly one"),
        ({"task": "add-1"}, "line 2: must hold exactly one of the keys patch, model_patch, files"),
        ({"task": "add-1", "patch": "", "files": {}}, "line 2: must hold exactly one"),
        ({"task": "add-1", "patch": 5}, "line 2: patch: must be text or null"),
        ({"task": None, "patch": ""}, "line 2: task: must be text"),
        ({"task": "add-1", "files": {"a": 1}}, "line 2: files.a: must be text"),
        ({"task": "add-1", "patch": "", "deletes": ["a"]}, "line 2: deletes: is only for rows"),
        ({"task": "add-1", "patch": "", "score": 1}, "line 2: score: is not a known key"),
        (["add-1"], "line 2: must be an object"),
    ],
)
def test_a_row_that_breaks_a_rule_is_refused_with_its_line(
    tmp_path: Path, row: object, problem: str
) -> None:
    with pytest.raises(ManifestError) as caught:
        lines(tmp_path, {"task": "add-1", "patch": ""}, row)
    assert problem in str(caught.value)


def test_a_folder_is_its_files(tmp_path: Path) -> None:
    root = write(tmp_path / "work", {"src/a.py": b"x\r\n\x00", "run": "#!"})
    (root / "run").chmod(0o755)
    found = load_candidates(str(root), TASKS)
    assert summary(found) == [("add-1", "work"), ("add-2", "work")]
    (candidate, _) = found.candidates
    assert candidate.files == {"src/a.py": b"x\r\n\x00", "run": b"#!"}
    assert candidate.executables == {"run"}


def test_a_folder_of_task_folders_is_one_candidate_per_task(tmp_path: Path) -> None:
    root = write(tmp_path / "m", {"add-1/src/a": "1", "add-2/src/a": "2"})
    found = load_candidates(str(root), TASKS)
    assert [(c.task, c.files) for c in found.candidates] == [
        ("add-1", {"src/a": b"1"}),
        ("add-2", {"src/a": b"2"}),
    ]
    write(root, {"other/src/a": "3"})
    assert len(load_candidates(str(root), TASKS).candidates[0].files) == 3


def test_a_folder_with_a_manifest_is_a_candidate_folder(tmp_path: Path) -> None:
    manifest: dict[str, object] = {"schema": 1, "id": "gold", "kind": "patch", "patch": "x.diff"}
    manifest |= {"expect": {"verdict": "rejected", "required": ["no-changes"]}}
    root = write(tmp_path / "any", {"candidate.json": encoded(manifest), "x.diff": CR_INSIDE})
    found = load_candidates(str(root), ("add-1",))
    assert [(c.id, c.patch, c.expect) for c in found.candidates] == [("gold", CR_INSIDE, None)]


def malformed(root: Path) -> Candidate:
    return load_candidates(str(root), ("add-1",)).candidates[0]


def test_links_and_special_files_make_a_folder_malformed_without_reading_them(
    tmp_path: Path,
) -> None:
    for name, make in (
        ("link", lambda path: path.symlink_to("/etc/hostname")),
        ("dirlink", lambda path: path.symlink_to("/etc")),
        ("pipe", os.mkfifo),
    ):
        root = write(tmp_path / f"c-{name}", {"a": "x"})
        make(root / name)
        candidate = malformed(root)
        assert candidate.files == {}
        assert candidate.malformed == f"{name}: holds something that is neither a file nor a folder"


def test_names_that_are_no_text_are_kept_for_the_boundary(tmp_path: Path) -> None:
    root = tmp_path / "c"
    root.mkdir()
    name = os.fsdecode(b"caf\xe9\n")
    (root / name).write_bytes(b"x")
    candidate = malformed(root)
    assert candidate.files == {name: b"x"}
    assert candidate.digest.startswith("sha256:")


@pytest.mark.parametrize("name", ["none", "a\0b", "none.patch", "x" * 5000])
def test_nothing_there_is_named_without_its_place(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_candidates(f"{tmp_path}/{name}", TASKS)
    assert str(tmp_path) not in str(caught.value)


def test_other_files_are_a_usage_error(tmp_path: Path) -> None:
    write(tmp_path, {"x.zip": ""})
    with pytest.raises(UsageError, match=r"x\.zip: must be a folder or one of \.patch"):
        load_candidates(str(tmp_path / "x.zip"), TASKS)

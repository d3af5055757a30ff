"""Calibration candidates: their bytes as they stand, their expectations checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from support.suites import StubRegistry, encoded, task_document, write, write_task

from assay.api import (
    Candidate,
    CandidateKind,
    Digest,
    ManifestError,
    Reason,
    TreeRefused,
    VerdictStatus,
)
from assay.candidate_manifest import candidate_digest
from assay.suites import open_suite

FAILED = {"verdict": "rejected", "required": ["hidden-tests-failed"]}


def read(tmp_path: Path, contents: dict[str, str | bytes], **manifest: Any) -> Candidate:
    document = {"schema": 1, "id": "gold", "kind": "files", **manifest}
    write_task(tmp_path, task_document())
    folder = tmp_path / "task-1/candidates/gold"
    write(folder, {"candidate.json": encoded(document), **contents})
    return open_suite(str(tmp_path), StubRegistry()).candidates("task-1")[0]


def refused(tmp_path: Path, contents: dict[str, str | bytes], **manifest: Any) -> str:
    with pytest.raises(ManifestError) as caught:
        read(tmp_path, contents, **manifest)
    assert caught.value.file.startswith("task-1/candidates/gold")
    return str(caught.value)


def test_files_keep_their_bytes(tmp_path: Path) -> None:
    content = b"a\r\nb\x00\xff no newline"
    candidate = read(
        tmp_path,
        {"files/src/a.py": content, "files/run": "x", "claim.json": b'{"schema":1'},
        files=["src/a.py", "run"],
        executables=["run"],
        deletes=["old.py"],
        claim="claim.json",
        expect={"verdict": "accepted"},
        subject={"model": "m"},
    )
    assert candidate.files == {"src/a.py": content, "run": b"x"}
    assert candidate.executables == {"run"}
    assert candidate.deletes == ("old.py",)
    assert candidate.claim == b'{"schema":1'
    assert candidate.expect is not None
    assert candidate.expect.verdict is VerdictStatus.ACCEPTED
    assert candidate.digest == candidate_digest(candidate)


def test_patch_keeps_its_bytes(tmp_path: Path) -> None:
    patch = b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\rb\n+a\rc"
    candidate = read(tmp_path, {"x.diff": patch}, kind="patch", patch="x.diff", expect=FAILED)
    assert (candidate.kind, candidate.patch) == (CandidateKind.PATCH, patch)
    assert candidate.expect is not None
    assert candidate.expect.required == {Reason.HIDDEN_TESTS_FAILED}


def test_compiled_files_that_an_installer_leaves_are_no_error(tmp_path: Path) -> None:
    left = {"files/src/a.py": "x", "files/src/__pycache__/a.cpython-311.pyc": b"\0"}
    assert read(tmp_path, left, files=["src/a.py"]).files == {"src/a.py": b"x"}


def test_hostile_paths_are_kept_as_text_for_the_boundary(tmp_path: Path) -> None:
    candidate = read(
        tmp_path,
        {"files/evil": "stolen"},
        files=["../../outside", {"path": "/etc/passwd", "source": "evil"}, "a\u0000b"],
        deletes=["../x"],
    )
    assert candidate.files == {"../../outside": b"", "/etc/passwd": b"stolen", "a\0b": b""}
    assert candidate.deletes == ("../x",)


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        ({"id": "other"}, "id: must equal the name of the candidate's folder"),
        ({"kind": "agent"}, "kind: not supported yet"),
        ({"kind": "patch"}, "patch: is required for kind patch"),
        ({"kind": "patch", "patch": "x", "files": ["a"]}, "files: is only for kind files"),
        ({"patch": "x"}, "patch: is only for kind patch"),
        ({"files": ["a.py"]}, "files[0]: has no content below the folder files"),
        ({"files": ["f", "f"]}, "files[1]: is given more than once"),
        ({"files": [""]}, "files[0]: must have 1 to 4096 characters"),
        ({"files": [{"path": "a", "source": "../b"}]}, "files[0].source: path holds a . or .."),
        ({"files": []}, "files: does not list f"),
        ({"files": ["f"], "executables": ["g"]}, "executables[0]: must be one of the files"),
        ({"files": ["f"], "claim": "none.json"}, "claim: names a file that does not exist"),
        ({"files": ["f"], "claim": "/claim"}, "claim: path is absolute"),
        ({"files": ["f"], "subject": {"Model": "x"}}, "subject.Model: is not a legal key"),
        ({"files": ["f"], "expect": {"verdict": "rejected"}}, "expect.required: must name"),
        (
            {"files": ["f"], "expect": {"verdict": "accepted", "required": ["no-changes"]}},
            "expect.required: must be empty",
        ),
        (
            {"files": ["f"], "expect": {"verdict": "rejected", "required": ["no-space"]}},
            "expect.required[0]: does not belong to the expected verdict",
        ),
        (
            {"files": ["f"], "expect": {"verdict": "rejected", "required": ["wrong"]}},
            "expect.required[0]: must be one of: no-changes",
        ),
    ],
)
def test_refused_with_field_and_rule(
    tmp_path: Path, manifest: dict[str, Any], problem: str
) -> None:
    assert problem in refused(tmp_path, {"files/f": "x"}, **manifest)


def test_a_folder_without_manifest_is_an_error(tmp_path: Path) -> None:
    read(tmp_path, {})
    write(tmp_path, {"task-1/candidates/second/notes": "x"})
    with pytest.raises(ManifestError, match=r"second/candidate\.json: no such file"):
        open_suite(str(tmp_path), StubRegistry()).candidates("task-1")


def test_an_illegal_folder_name_is_an_error(tmp_path: Path) -> None:
    read(tmp_path, {})
    write(tmp_path, {"task-1/candidates/Second/candidate.json": "{}"})
    with pytest.raises(ManifestError, match="folder name is not a legal id"):
        open_suite(str(tmp_path), StubRegistry()).candidates("task-1")


def test_links_among_the_contents_are_refused(tmp_path: Path) -> None:
    read(tmp_path, {"files/f": "x"}, files=["f"])
    (tmp_path / "task-1/candidates/gold/files/f").unlink()
    (tmp_path / "task-1/candidates/gold/files/f").symlink_to("/etc/hostname")
    with pytest.raises(TreeRefused, match="symbolic link"):
        open_suite(str(tmp_path), StubRegistry()).candidates("task-1")


def test_digest_sees_each_part_and_nothing_else() -> None:
    base = Candidate("a", "t", CandidateKind.FILES, digest=Digest(""))
    base = evolve(base, digest=candidate_digest(base))
    variants = [
        base,
        evolve(base, files={"f": b"x"}),
        evolve(base, files={"f": b"y"}),
        evolve(base, files={"g": b"x"}),
        evolve(base, files={"f": b"x"}, executables=frozenset({"f"})),
        evolve(base, deletes=("f",)),
        evolve(base, kind=CandidateKind.PATCH, patch=b""),
        evolve(base, kind=CandidateKind.PATCH, patch=b"x"),
        evolve(base, claim=b""),
        evolve(base, subject={"model": "m"}),
    ]
    assert len({candidate_digest(variant) for variant in variants}) == len(variants)
    assert candidate_digest(evolve(base, id="b", task="u", expect=None)) == base.digest

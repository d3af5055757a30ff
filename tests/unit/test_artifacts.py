"""Artifacts: only what a task names, bounded, redacted, never through a link; the rest is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.trees import HASHER, File, make, manifest_of

from assay.api import (
    AssayError,
    BlobRef,
    Edits,
    FileWrite,
    InvalidInput,
    LeftOut,
    RelPath,
    TrialRecord,
)
from assay.artifacts import (
    ArtifactLimits,
    GraderArtifacts,
    ShownArtifacts,
    TrialArtifacts,
    export,
)
from assay.builtin.copier import CopyCopier
from assay.builtin.workspace import CopyWorkspace
from assay.ledger import ArtifactFolder
from assay.redaction import Redactor, host_redactor

SECRET = "known-" + "secret-1"


def sink(folder: Path, **limits: int) -> TrialArtifacts:
    kept = folder / "artifacts"
    kept.mkdir(exist_ok=True)
    redactor = Redactor.of([SECRET], ["/srv/assay-place"])
    return TrialArtifacts(ArtifactFolder(kept), redactor, ArtifactLimits(**limits))


@pytest.fixture
def workspace(tmp_path: Path) -> CopyWorkspace:
    source = make(tmp_path / "source", {"a.txt": File(b"old"), "out": {}})
    prepared = CopyCopier().prepare(str(source), manifest_of(source), None)
    (tmp_path / "scratch").mkdir()
    return CopyCopier().open(prepared, str(tmp_path / "scratch"), hasher=HASHER)


def left_out(artifacts: TrialArtifacts) -> dict[str, LeftOut | None]:
    return {note.name: note.left_out for note in artifacts.notes()}


def test_what_a_grader_puts_is_redacted_and_can_be_read(tmp_path: Path) -> None:
    artifacts = sink(tmp_path)
    put = GraderArtifacts(artifacts, "hidden")
    ref = put.put("log", f"a {SECRET} at /srv/assay-place/x \x1b[31mred\n".encode())
    assert artifacts.folder.get(ref) == b"a <key> at <path>/x red\n"
    assert left_out(artifacts) == {"hidden/log": None}
    assert artifacts.kept({"log": ref, "other": BlobRef(ref.digest[:-1] + "x", 1)}) == {"log": ref}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"x" * 101, LeftOut.TOO_LARGE),
        (b"\0", LeftOut.BINARY),
        (b"\xff", LeftOut.BINARY),
        (b"x" * 100, None),
    ],
)
def test_big_and_binary_content_is_listed_by_its_digest_only(
    tmp_path: Path, content: bytes, reason: LeftOut | None
) -> None:
    artifacts = sink(tmp_path, file=100)
    ref = artifacts.put("g/x", content)
    (note,) = artifacts.notes()
    assert (note.digest, note.size, note.left_out) == (ref.digest, len(content), reason)
    assert len(os.listdir(tmp_path / "artifacts")) == (reason is None)
    if reason is not None:
        with pytest.raises(InvalidInput, match="is missing"):
            artifacts.folder.get(ref)


def test_a_trial_keeps_so_many_artifacts_and_bytes_and_lists_the_others(tmp_path: Path) -> None:
    counted, weighed = sink(tmp_path, count=2), sink(tmp_path, trial=10)
    for artifacts in (counted, weighed):
        for name in ("c", "b", "a"):
            artifacts.put(name, name.encode() * 5)
    assert left_out(counted) == {"a": LeftOut.TOO_MANY, "b": None, "c": None}
    assert left_out(weighed) == {"a": LeftOut.NO_ROOM, "b": None, "c": None}


@pytest.mark.parametrize("trials", [0, 1, 7, 64, 1000, 10**9])
def test_all_trials_of_a_run_stay_below_its_bound(trials: int) -> None:
    limits = ArtifactLimits.of_run(trials, run=10**9)
    assert limits.trial * trials <= 10**9
    assert limits.file <= limits.trial <= ArtifactLimits().trial


def test_only_changed_files_that_a_pattern_names_are_exported(
    workspace: CopyWorkspace, tmp_path: Path
) -> None:
    with workspace:
        writes = {
            "a.txt": SECRET.encode(),
            "out/big": b"y" * 200,
            "out/bin": b"\0\1",
            "out/deep/log.txt": b"fine",
            "other.txt": b"not asked for",
        }
        edits = {RelPath(path): FileWrite(content) for path, content in writes.items()}
        workspace.put(Edits(writes=edits))
        artifacts = sink(tmp_path, file=100)
        export(workspace.freeze(HASHER), ("a.txt", "out/**"), artifacts)
    assert left_out(artifacts) == {
        "workspace/a.txt": None,
        "workspace/out/big": LeftOut.TOO_LARGE,
        "workspace/out/bin": LeftOut.BINARY,
        "workspace/out/deep/log.txt": None,
    }
    assert [note.name for note in artifacts.notes()] == sorted(left_out(artifacts))
    kept = {
        (tmp_path / "artifacts" / name).read_bytes() for name in os.listdir(tmp_path / "artifacts")
    }
    assert kept == {b"<key>", b"fine"}


def test_links_and_fifos_are_listed_and_never_followed(
    workspace: CopyWorkspace, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("private")
    with workspace:
        out = Path(workspace.host_path or "") / "out"
        (out / "link").symlink_to(outside)
        os.mkfifo(out / "fifo")
        os.link(outside, out / "hard")
        artifacts = sink(tmp_path)
        export(workspace.freeze(HASHER), ("out/**",), artifacts)
    refused = {f"workspace/out/{name}": LeftOut.REFUSED for name in ("fifo", "hard", "link")}
    assert left_out(artifacts) == refused
    assert os.listdir(tmp_path / "artifacts") == []


def test_a_file_that_can_not_be_read_any_more_is_told(
    workspace: CopyWorkspace, tmp_path: Path
) -> None:
    with workspace:
        workspace.put(Edits(writes={RelPath("a.txt"): FileWrite(b"new")}))
        at_rest = workspace.freeze(HASHER)
        file = Path(workspace.host_path or "") / "a.txt"
        file.unlink()
        file.symlink_to("/etc/passwd")
        artifacts = sink(tmp_path)
        export(at_rest, ("**",), artifacts)
    assert left_out(artifacts) == {"workspace/a.txt": LeftOut.UNREADABLE}


def test_artifacts_of_others_are_redacted_when_they_are_shown(tmp_path: Path) -> None:
    folder = ArtifactFolder(tmp_path)
    shown = ShownArtifacts(folder, Redactor.of([SECRET]))
    assert shown.get(folder.put("x", f"{SECRET}\x1b]0;title\x07!".encode())) == b"<key>!"


def test_a_record_loses_known_values_in_names_and_more_in_prose(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from support.records import record

    token = "ghp_" + "b" * 36
    redactor = Redactor.of([SECRET], ["/home/jo/x"])
    made: TrialRecord = record(
        candidate=SECRET, error=f"at /opt/place/x {token}", leaks=(token,), artifacts=()
    )
    redacted = redactor.record(made)
    assert redacted.spec.candidate == "<key>"
    assert redacted.error == "at <path> <key>"
    assert redacted.leaks == (token,)
    assert redactor.record(record()) is not None
    assert redactor.name("src/home/jo/x") == "src/home/jo/x"
    clean = record()
    assert redactor.record(clean) is clean


def test_the_host_s_keys_are_those_of_named_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "  openai-value-1 ")
    monkeypatch.setenv("MY_KEY", "my-own-value")
    monkeypatch.setenv("GH_TOKEN", "short")
    monkeypatch.setenv("UNNAMED", "an-unnamed-value")
    monkeypatch.setenv("ASSAY_SECRETS", "MY_KEY, ABSENT")
    host_redactor.cache_clear()
    try:
        text = "openai-value-1 my-own-value short an-unnamed-value"
        assert host_redactor().text(text) == "<key> <key> short an-unnamed-value"
    finally:
        host_redactor.cache_clear()


def test_a_value_that_is_too_short_is_refused_without_being_told() -> None:
    with pytest.raises(AssayError, match="at least 8") as caught:
        Redactor.of(["sesame"])
    assert "sesame" not in str(caught.value)

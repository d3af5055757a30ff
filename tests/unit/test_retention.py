"""Artifacts go by age and size from finished runs; everything else of a run stays."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.cli import assay
from support.json_schema import problems

from assay.api import UsageError
from assay.ledger import ArtifactFolder, create_run_folder, write_json
from assay.retention import Pruned, prune_artifacts
from assay.schemas import schema

NOW = 1_000_000.0


def make_run(folder: Path, ages: dict[str, float], **about: object) -> Path:
    """A run whose artifacts have these texts and ages in seconds."""
    create_run_folder(folder)
    write_json(folder, "run.json", {"schema": "assay-run-1", "finished": 1, **about})
    for text, age in ages.items():
        ref = ArtifactFolder(folder / "artifacts").put("x", text.encode())
        file = folder / "artifacts" / ref.digest.removeprefix("sha256:")
        os.utime(file, (NOW - age, NOW - age))
    return folder


def texts(run: Path) -> list[str]:
    return sorted(path.read_text() for path in (run / "artifacts").iterdir() if path.is_file())


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    make_run(tmp_path / "runs" / "a", {"old": 200, "newer": 50})
    make_run(tmp_path / "runs" / "b", {"oldest": 300})
    return tmp_path / "runs"


def test_old_artifacts_go_and_records_stay(runs: Path) -> None:
    assert prune_artifacts(runs, now=NOW, max_age=100) == Pruned(2, 2, 9)
    assert (texts(runs / "a"), texts(runs / "b")) == (["newer"], [])
    assert (runs / "a" / "run.json").exists()
    assert prune_artifacts(runs, now=NOW, max_age=100) == Pruned(2, 0, 0)


@pytest.mark.parametrize(
    ("keep", "left"), [(14, ["newer", "old", "oldest"]), (13, ["newer", "old"]), (7, ["newer"])]
)
def test_the_oldest_of_all_runs_go_first_until_the_rest_fits(
    runs: Path, keep: int, left: list[str]
) -> None:
    prune_artifacts(runs, now=NOW, max_bytes=keep)
    assert sorted([*texts(runs / "a"), *texts(runs / "b")]) == left


def test_a_dry_run_tells_and_removes_nothing(runs: Path) -> None:
    told = prune_artifacts(runs / "a", now=NOW, max_bytes=0, dry_run=True)
    assert told == Pruned(1, 2, 8)
    assert texts(runs / "a") == ["newer", "old"]


def test_only_files_with_a_digest_s_name_of_finished_runs_go(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    run = make_run(runs / "done", {"text": 500})
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (run / "artifacts" / "notes.txt").write_text("mine")
    (run / "artifacts" / ("0" * 64)).symlink_to(outside)
    (run / "artifacts" / ("1" * 64)).mkdir()
    os.mkfifo(run / "artifacts" / ("2" * 64))
    broken_off = make_run(runs / "running", {"text": 500}, schema="assay-run-1")
    about = json.loads((broken_off / "run.json").read_text())
    del about["finished"]
    write_json(broken_off, "run.json", about)
    (runs / "link").symlink_to(run)
    assert prune_artifacts(runs, now=NOW, max_age=0) == Pruned(1, 1, 4)
    assert outside.read_text() == "mine"
    assert sorted(os.listdir(run / "artifacts")) == ["0" * 64, "1" * 64, "2" * 64, "notes.txt"]
    assert texts(broken_off) == ["text"]


def test_an_artifacts_folder_that_is_a_link_is_left_alone(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", {})
    other = make_run(tmp_path / "other", {"text": 500})
    (run / "artifacts").rmdir()
    (run / "artifacts").symlink_to(other / "artifacts")
    assert prune_artifacts(run, now=NOW, max_age=0) == Pruned(1, 0, 0)
    assert texts(other) == ["text"]


@pytest.mark.parametrize("name", ["", "nowhere", "file"])
def test_a_place_without_a_finished_run_is_a_mistake(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError):
        prune_artifacts(tmp_path / name, now=NOW, max_age=0)


def test_somebody_else_may_prune_the_same_run_at_once(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = os.unlink

    def after_another(name: str, *, dir_fd: int) -> None:
        unlink(name, dir_fd=dir_fd)
        unlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", after_another)
    assert prune_artifacts(runs / "a", now=NOW, max_bytes=0) == Pruned(1, 2, 8)
    assert texts(runs / "a") == []


def test_the_command_prunes_on_request_only(runs: Path, tmp_path: Path) -> None:
    env = {"ASSAY_STORE": str(tmp_path / "store")}
    assert assay("clean", "--keep", "1", env=env).code == 2
    told = assay("clean", "--artifacts", runs, "--keep", "0", "--dry-run", "--json", env=env)
    document = json.loads(told.out)
    assert problems(schema("clean-output"), document) == []
    assert document["artifacts"] == {"runs": 2, "files": 3, "bytes": 14}
    done = assay("clean", "--artifacts", runs, "--older-than", "1d", env=env)
    assert "3 artifacts" in done.out
    assert texts(runs / "a") == []

"""A run folder may come from anybody: reading it never hangs and never shows raw text."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.records import facts, record

from assay.api import BlobRef, Digest, GraderRole, InvalidInput, LedgerBroken, UsageError
from assay.ledger import ArtifactFolder, Ledger, create_run_folder, open_run, write_json

DEEP = b"[" * 200_000


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = create_run_folder(tmp_path / "run")
    with Ledger(folder) as ledger:
        ledger.append(record(facts=(facts(GraderRole.VISIBLE),)))
    write_json(folder, "run.json", {"schema": "assay-run-1"})
    write_json(folder, "report.json", {"schema": "assay-report-1"})
    return folder


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.mkdir()


def _link(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _deep(path: Path) -> None:
    path.write_bytes(DEEP + b"\n")


KINDS = [_fifo, _folder, _link, _deep]


@pytest.mark.parametrize("put", KINDS)
def test_a_strange_run_file_makes_it_no_run_folder(run: Path, put: Callable[[Path], None]) -> None:
    (run / "run.json").unlink()
    put(run / "run.json")
    with pytest.raises(UsageError, match="run is not a run folder"):
        open_run(run)


@pytest.mark.parametrize("put", KINDS)
def test_a_strange_report_is_named(run: Path, put: Callable[[Path], None]) -> None:
    (run / "report.json").unlink()
    put(run / "report.json")
    with pytest.raises(InvalidInput, match=r"^report\.json: "):
        open_run(run)


@pytest.mark.parametrize("put", [_fifo, _folder, _link])
def test_strange_records_are_named(run: Path, put: Callable[[Path], None]) -> None:
    (run / "trials.jsonl").unlink()
    put(run / "trials.jsonl")
    with pytest.raises(InvalidInput, match=r"^trials\.jsonl: "):
        list(open_run(run).records())


def test_no_records_are_named(run: Path) -> None:
    (run / "trials.jsonl").unlink()
    with pytest.raises(InvalidInput, match=r"^trials\.jsonl: No such file"):
        list(open_run(run).records())


def test_a_deep_record_breaks_the_chain(run: Path) -> None:
    _deep(run / "trials.jsonl")
    with pytest.raises(LedgerBroken):
        list(open_run(run).records())


@pytest.mark.parametrize("put", [_fifo, _folder, _link])
def test_a_strange_artifact_is_refused(run: Path, put: Callable[[Path], None]) -> None:
    ref = BlobRef(Digest("sha256:" + "0" * 64), 10)
    put(run / "artifacts" / ("0" * 64))
    with pytest.raises(InvalidInput, match="is missing"):
        ArtifactFolder(run / "artifacts").get(ref)


@pytest.mark.parametrize("digest", ["sha256:../run.json", "../run.json", "/etc/passwd", ""])
def test_an_artifact_is_never_read_from_elsewhere(run: Path, digest: str) -> None:
    size = (run / "run.json").stat().st_size
    with pytest.raises(InvalidInput):
        ArtifactFolder(run / "artifacts").get(BlobRef(Digest(digest), size))


def test_an_artifact_is_read_no_further_than_it_says(run: Path) -> None:
    folder = ArtifactFolder(run / "artifacts")
    ref = folder.put("stdout", b"x" * 100)
    assert folder.get(ref) == b"x" * 100
    with pytest.raises(InvalidInput, match="was changed"):
        folder.get(BlobRef(ref.digest, 50))


def test_a_report_must_be_an_object(run: Path) -> None:
    (run / "report.json").write_text(json.dumps([]))
    with pytest.raises(InvalidInput, match="must be an object"):
        open_run(run)

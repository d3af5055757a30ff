"""The run folder: never overwritten, chained, artifacts checked by digest."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.records import facts, invalid, record, rejected

from assay.api import (
    CopyFailed,
    GraderRole,
    InvalidInput,
    LedgerBroken,
    Reason,
    TestOutcome,
    TrialRecord,
    UsageError,
)
from assay.ledger import ArtifactFolder, Ledger, RunView, create_run_folder, open_run, write_json
from assay.record_json import record_from_json, record_to_json


@pytest.fixture
def run(tmp_path: Path) -> RunView:
    folder = create_run_folder(tmp_path / "run")
    with Ledger(folder) as ledger:
        for candidate in ("a", "b", "c"):
            ledger.append(record(candidate=candidate))
    write_json(folder, "run.json", {"schema": "assay-run-1"})
    return open_run(folder)


def test_records_come_back_in_order_and_chained(run: RunView) -> None:
    records = list(run.records())
    assert [found.spec.candidate for found in records] == ["a", "b", "c"]
    assert [found.seq for found in records] == [0, 1, 2]
    assert records[0].prev is None
    assert len({found.prev for found in records}) == 3


def test_a_run_folder_is_made_anew_or_not_at_all(tmp_path: Path) -> None:
    create_run_folder(tmp_path / "run")
    with pytest.raises(UsageError, match="never overwritten"):
        create_run_folder(tmp_path / "run")


def test_a_run_folder_below_a_file_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in ("file/run", "file/below/run"):
        with pytest.raises(UsageError, match=r"^run folder run: (?!.*overwritten)"):
            create_run_folder(tmp_path / place)


@pytest.mark.parametrize("broken", [0, 1, 2])
def test_a_changed_line_breaks_the_chain_behind_it(run: RunView, broken: int) -> None:
    file = run.folder / "trials.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[broken] = lines[broken].replace(b'"attempt": 1', b'"attempt": 2')
    file.write_bytes(b"".join(lines))
    if broken == 2:
        assert [found.spec.attempt for found in run.records()] == [1, 1, 2]
    else:
        with pytest.raises(LedgerBroken) as caught:
            list(run.records())
        assert caught.value.seq == broken + 1


@pytest.mark.parametrize("cut", [1, 40])
def test_a_torn_last_line_is_recognised(run: RunView, cut: int) -> None:
    file = run.folder / "trials.jsonl"
    file.write_bytes(file.read_bytes()[:-cut])
    with pytest.raises(LedgerBroken) as caught:
        list(run.records())
    assert caught.value.seq == 2


def test_a_lost_or_doubled_line_is_recognised(run: RunView) -> None:
    file = run.folder / "trials.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    for changed in (lines[1:], [lines[0], *lines], [lines[0], lines[2]]):
        file.write_bytes(b"".join(changed))
        with pytest.raises(LedgerBroken):
            list(run.records())


def test_private_messages_never_reach_the_ledger(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path / "run")
    failing = facts(GraderRole.HIDDEN, TestOutcome.FAILED)
    with Ledger(folder) as ledger:
        ledger.append(record(facts=(failing,), verdict=rejected(Reason.HIDDEN_TESTS_FAILED)))
    assert b"private" not in (folder / "trials.jsonl").read_bytes()


def test_artifacts_are_kept_once_and_checked(tmp_path: Path) -> None:
    artifacts = ArtifactFolder(tmp_path)
    ref = artifacts.put("stdout", b"output")
    assert artifacts.put("again", b"output") == ref
    assert artifacts.get(ref) == b"output"
    assert len(list(tmp_path.iterdir())) == 1
    next(tmp_path.iterdir()).write_bytes(b"changed")
    with pytest.raises(InvalidInput, match="was changed"):
        artifacts.get(ref)
    next(tmp_path.iterdir()).unlink()
    with pytest.raises(InvalidInput, match="is missing"):
        artifacts.get(ref)


def test_something_else_is_no_run_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a run folder"):
        open_run(tmp_path)
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(UsageError, match="not a run folder"):
        open_run(tmp_path)


_RECORDS = st.builds(
    record,
    task=st.sampled_from(["add", "sum"]),
    verdict=st.one_of(
        st.lists(st.sampled_from(Reason), max_size=3).map(lambda found: rejected(*found)),
        st.just(invalid(Reason.CANCELLED)),
    ),
    error=st.text(max_size=20),
    leaks=st.lists(st.text(max_size=9)).map(tuple),
    timings=st.dictionaries(st.text(max_size=5), st.floats(0, 100), max_size=2),
)


@given(_RECORDS)
def test_a_record_survives_its_json_form(made: TrialRecord) -> None:
    plain = record_to_json(made)
    again = record_from_json(json.loads(json.dumps(plain)))
    assert record_to_json(again) == plain
    assert again.verdict == made.verdict
    assert again.spec == made.spec


@pytest.mark.parametrize("data", [{}, {"spec": 1}, {"spec": {}, "verdict": {"status": "fine"}}])
def test_something_else_is_no_record(data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not a trial record"):
        record_from_json(data)


@contextmanager
def _no_room() -> Iterator[None]:
    """No file can grow beyond 16 bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_run_folder_without_room_is_one_clear_fault(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path / "run")
    told = "the run folder could not be written: EFBIG"
    ledger = Ledger(folder)
    with _no_room():
        with pytest.raises(CopyFailed, match=told):
            ArtifactFolder(folder / "artifacts").put("stdout", b"x" * 100)
        with pytest.raises(CopyFailed, match=told):
            write_json(folder, "run.json", {"schema": "x" * 100})
        with pytest.raises(CopyFailed, match=told), ledger:
            ledger.append(record())
    assert not (folder / "run.json").exists()

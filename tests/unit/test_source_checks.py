"""How a source is looked at: digests, a witness where it is large, and what was touched."""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from support.records import invalid, plan, record
from support.trees import HASHER, IN_MEMORY, File, digest_of, make, manifest_of, nothing_leaks

from assay.api import (
    Contaminated,
    Reason,
    Scan,
    SourceCheck,
    TaskPins,
    TrialRecord,
    VerdictStatus,
)
from assay.fixtures import Source, SourceGuard
from assay.rechecks import recheck
from assay.witness import take_witness

TREE = {"a.py": File(b"original"), "d": {"b": File(b"2"), "e": {}}, "a": {"c": File(b"3")}}


class Counting:
    """The hasher, and how often it was asked."""

    contract = HASHER.contract
    api = HASHER.api
    manifest = HASHER.manifest

    def __init__(self) -> None:
        self.scans = 0

    def scan(self, root_fd: int, **options: Any) -> Scan:
        self.scans += 1
        return HASHER.scan(root_fd, **options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make(tmp_path / "fixture", TREE)


@pytest.fixture
def hasher() -> Counting:
    return Counting()


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tree is large, and was left alone for long."""
    monkeypatch.setattr("assay.fixtures.FULL_FILES", 0)
    now = __import__("time").time_ns()
    monkeypatch.setattr("assay.witness.time.time_ns", lambda: now + 60 * 10**9)


def guarded(folder: Path, hasher: Counting) -> SourceGuard:
    return SourceGuard("task-1", str(folder), hasher, Source("task-1", str(folder), hasher))


def test_a_small_source_is_digested_each_time(folder: Path, hasher: Counting) -> None:
    guard = guarded(folder, hasher)
    assert guard.check() == guard.before == digest_of(folder)
    assert guard.source_check is SourceCheck.FULL
    assert hasher.scans == 3
    assert guard.touched == ()


@pytest.mark.usefixtures("large")
def test_a_large_source_is_digested_once_while_it_is_left_alone(
    folder: Path, hasher: Counting
) -> None:
    source = Source("task-1", str(folder), hasher)
    with nothing_leaks():
        for _ in range(3):
            guard = SourceGuard("task-1", str(folder), hasher, source)
            assert guard.check() == guard.before == digest_of(folder)
            assert guard.source_check is SourceCheck.WITNESS
    assert hasher.scans == 1
    assert guard.check(digest=True) == guard.before
    assert hasher.scans == 2


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("limit", ["FULL_FILES", "FULL_BYTES"])
def test_files_and_bytes_make_a_source_large(
    folder: Path, hasher: Counting, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = manifest_of(folder)
    most = {"FULL_FILES": manifest.files, "FULL_BYTES": manifest.bytes}
    for name, value in most.items():
        monkeypatch.setattr(f"assay.fixtures.{name}", value)
    assert guarded(folder, hasher).source_check is SourceCheck.FULL
    monkeypatch.setattr(f"assay.fixtures.{limit}", most[limit] - 1)
    assert guarded(folder, hasher).source_check is SourceCheck.WITNESS


def write(folder: Path) -> None:
    (folder / "a.py").write_bytes(b"ORIGINAL")


def write_and_set_the_time_back(folder: Path) -> None:
    before = (folder / "d/b").stat()
    (folder / "d/b").write_bytes(b"9")
    os.utime(folder / "d/b", ns=(before.st_atime_ns, before.st_mtime_ns))


def add(folder: Path) -> None:
    (folder / "d/e/new").write_bytes(b"")


def delete(folder: Path) -> None:
    (folder / "a/c").unlink()


def delete_a_folder(folder: Path) -> None:
    (folder / "d/e").rmdir()


def make_executable(folder: Path) -> None:
    (folder / "a.py").chmod(0o755)


def replace_by_a_link(folder: Path) -> None:
    (folder / "a.py").unlink()
    (folder / "a.py").symlink_to("d/b")


def replace_a_folder_by_a_link(folder: Path) -> None:
    (folder / "d").rename(folder.parent / "moved")
    (folder / "d").symlink_to(folder.parent / "moved")


def replace_the_whole(folder: Path) -> None:
    folder.rename(folder.with_name("old"))
    make(folder, {"a.py": File(b"another")})


def remove_the_whole(folder: Path) -> None:
    shutil.rmtree(folder)


CHANGES = [
    write,
    write_and_set_the_time_back,
    add,
    delete,
    delete_a_folder,
    make_executable,
    replace_by_a_link,
    replace_a_folder_by_a_link,
    replace_the_whole,
    remove_the_whole,
]


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_every_change_of_a_large_source_shows(
    folder: Path, hasher: Counting, change: Callable[[Path], None]
) -> None:
    guard = guarded(folder, hasher)
    with nothing_leaks():
        change(folder)
        with pytest.raises(Contaminated):
            guard.check()


def restore(folder: Path) -> None:
    before = (folder / "a.py").stat()
    (folder / "a.py").write_bytes(b"changed")
    (folder / "a.py").write_bytes(b"original")
    os.utime(folder / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_by_an_equal_one(folder: Path) -> None:
    (folder / "new").write_bytes(b"original")
    (folder / "new").rename(folder / "a.py")


@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize("change", [restore, replace_by_an_equal_one])
def test_what_was_touched_and_restored_is_told_and_accuses_nobody(
    folder: Path,
    hasher: Counting,
    size: str,
    change: Callable[[Path], None],
    request: pytest.FixtureRequest,
) -> None:
    if size == "large":
        request.getfixturevalue("large")
    guard = guarded(folder, hasher)
    change(folder)
    assert guard.check() == guard.before
    assert guard.touched == ("a.py",)
    # What was told once is known from then on.
    assert guard.check() == guard.before
    assert SourceGuard("task-1", str(folder), hasher, guard._source).touched == ()


@pytest.mark.usefixtures("large")
def test_what_is_no_part_of_the_tree_only_costs_a_digest(folder: Path, hasher: Counting) -> None:
    guard = guarded(folder, hasher)
    (folder / "d/__pycache__").mkdir()
    assert guard.check() == guard.before
    assert hasher.scans == 2
    assert guard.touched == ()
    assert guard.check() == guard.before
    assert hasher.scans == 2


def test_a_source_that_has_just_been_changed_has_no_witness_yet(
    folder: Path, hasher: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.fixtures.FULL_FILES", 0)
    witness = take_witness(folder, manifest_of(folder))
    assert witness is not None
    assert not witness.settled
    guard = guarded(folder, hasher)
    guard.check()
    assert hasher.scans == 3
    assert guard.source_check is SourceCheck.WITNESS


@pytest.mark.usefixtures("large")
def test_a_mapped_write_may_be_seen_by_no_witness_but_by_a_digest(hasher: Counting) -> None:
    """On tmpfs the content of a mapped file changes and its times stay."""
    with tempfile.TemporaryDirectory(prefix="assay-test-", dir=IN_MEMORY) as name:
        folder = make(Path(name) / "fixture", TREE)
        with (folder / "a.py").open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
            assert mapped[0] == ord("o")
            guard = guarded(folder, hasher)
            mapped[0] = ord("O")
            with pytest.raises(Contaminated):
                guard.check(digest=True)


def large_records(folder: Path) -> tuple[list[TrialRecord], Any]:
    records = [
        record("add", "one", source_check=SourceCheck.WITNESS),
        record("add", "two", source_check=SourceCheck.WITNESS),
        record("add", "cancelled", invalid(Reason.CANCELLED)),
        record("other", "one"),
    ]
    made = plan(records)
    ref = manifest_of(folder).ref
    return records, evolve(
        made,
        tasks={task: evolve(found, fixture=str(folder)) for task, found in made.tasks.items()},
        revisions={task: TaskPins(ref, None, pins.task) for task, pins in made.revisions.items()},
    )


def test_trials_of_a_large_source_stand_if_it_is_unchanged_at_the_end(folder: Path) -> None:
    records, made = large_records(folder)
    assert list(recheck(made, records, [], HASHER)) == []


@pytest.mark.parametrize("change", [write, remove_the_whole])
def test_a_change_found_at_the_end_makes_them_all_invalid(
    folder: Path, change: Callable[[Path], None]
) -> None:
    records, made = large_records(folder)
    before = digest_of(folder)
    change(folder)
    late = list(recheck(made, records, [], HASHER))
    assert [found.spec for found in late] == [found.spec for found in records[:3]]
    assert {found.verdict.status for found in late} == {VerdictStatus.INVALID}
    assert late[0].verdict.reasons == (Reason.SOURCE_CONTAMINATED,)
    assert late[2].verdict.reasons == (Reason.CANCELLED, Reason.SOURCE_CONTAMINATED)
    after = digest_of(folder) if folder.exists() else "unreadable"
    assert {found.source_after for found in late} == {after}
    assert before in late[0].error
    assert str(folder) not in late[0].error


def test_trials_also_rest_on_what_was_probed_before_them(folder: Path) -> None:
    records, made = large_records(folder)
    probe = evolve(records[3], source_check=SourceCheck.WITNESS)
    write(folder)
    late = list(recheck(made, [records[3]], [probe], HASHER))
    assert [found.spec.task for found in late] == ["other"]

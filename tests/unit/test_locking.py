"""Pins are computed from content, written as one piece, and compared when asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.suites import StubHasher, StubRegistry, encoded, task_document, write, write_task

from assay.api import IdentityMismatch, InvalidInput, RevisionMismatch
from assay.locking import LockResult, lock_suite
from assay.suites import open_suite

HEADER = {"schema": 1, "id": "s", "categories": {"version": 1, "ids": ["text"]}, "tasks": {}}


def lock(root: Path, *, check: bool = False) -> LockResult:
    return lock_suite(root, StubRegistry(), check=check, hasher=StubHasher())


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    write_task(tmp_path, task_document("task-1", hidden="hidden"))
    write_task(tmp_path, task_document("task-10"))
    return write(tmp_path, {"suite.json": encoded(HEADER), "task-1/hidden/t.py": "assert 1\n"})


def test_locking_pins_every_task_and_keeps_the_other_keys(suite: Path) -> None:
    (suite / "suite.json").chmod(0o640)
    result = lock(suite)
    assert result.drift == ("task task-1: is not pinned", "task task-10: is not pinned")
    document = json.loads((suite / "suite.json").read_text())
    assert list(document) == list(HEADER)
    assert document["categories"] == HEADER["categories"]
    assert sorted(document["tasks"]) == ["task-1", "task-10"]
    assert document["tasks"]["task-10"]["hidden"] is None
    assert (suite / "suite.json").stat().st_mode & 0o777 == 0o640
    pins = open_suite(str(suite), StubRegistry()).task("task-1").pins
    assert pins == result.pins["task-1"]


def test_locking_again_changes_no_byte(suite: Path) -> None:
    lock(suite)
    before = (suite / "suite.json").read_bytes()
    again = lock(suite)
    assert (again.drift, again.written) == ((), False)
    assert (suite / "suite.json").read_bytes() == before
    assert sorted(path.name for path in suite.iterdir()) == ["suite.json", "task-1", "task-10"]


@pytest.mark.parametrize(
    ("path", "content", "keys"),
    [
        ("task-1/fixture/main.py", "x = 2\n", ["fixture"]),
        ("task-1/hidden/t.py", "assert 0\n", ["hidden", "task"]),
        ("task-1/task.json", encoded(task_document("task-1", hidden="hidden", seed=1)), ["task"]),
        ("task-1/task.json", encoded(task_document("task-1", hidden="hidden", title="T")), []),
    ],
)
def test_check_reports_what_drifted_and_writes_nothing(
    suite: Path, path: str, content: str | bytes, keys: list[str]
) -> None:
    lock(suite)
    before = (suite / "suite.json").read_bytes()
    write(suite, {path: content})
    result = lock(suite, check=True)
    assert [text.partition(": pinned")[0] for text in result.drift] == [
        f"task task-1: {key}" for key in keys
    ]
    assert not result.written
    assert (suite / "suite.json").read_bytes() == before


def test_a_changed_manifest_does_not_load_until_it_is_locked_again(suite: Path) -> None:
    lock(suite)
    write_task(suite, task_document("task-10", prompt="Other."))
    with pytest.raises(RevisionMismatch, match="task task-10"):
        open_suite(str(suite), StubRegistry()).task("task-10")
    lock(suite)
    assert open_suite(str(suite), StubRegistry()).task("task-10").task.prompt == "Other."


def test_a_task_that_is_gone_is_drift_and_loses_its_pin(suite: Path) -> None:
    lock(suite)
    (suite / "task-10").rename(suite.parent / f"{suite.name}-gone")
    assert lock(suite, check=True).drift == ("task task-10: is pinned but has no folder",)
    lock(suite)
    assert list(json.loads((suite / "suite.json").read_text())["tasks"]) == ["task-1"]


def test_a_folder_without_suite_json_has_no_place_for_pins(tmp_path: Path) -> None:
    write_task(tmp_path, task_document())
    with pytest.raises(InvalidInput, match=r"has no suite\.json"):
        lock(tmp_path)


def test_named_plugins_are_pinned_too_and_guard_the_suite(suite: Path) -> None:
    stale = {"attrs": {"version": "0", "digest": "sha256:" + "0" * 64}}
    write(suite, {"suite.json": encoded({**HEADER, "plugins": stale})})
    with pytest.raises(IdentityMismatch, match="plugin attrs"):
        open_suite(str(suite), StubRegistry())
    assert lock(suite, check=True).drift[-1] == "plugin attrs: differs from its pin"
    lock(suite)
    assert open_suite(str(suite), StubRegistry()).task_ids() == ("task-1", "task-10")
    assert lock(suite, check=True).drift == ()

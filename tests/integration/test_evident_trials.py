"""Mode `tamper-evident` in a whole trial: the trees that its runs need."""

from __future__ import annotations

import json
from pathlib import Path

from assay import load_benchmark_task
from assay.api import Trust, VerdictStatus
from assay.evaluation import grade_trial
from assay.scaffold import EXAMPLE_TASK, new_suite

RIGHT = "def count_words(text):\n    return len(text.split())\n"


def evident_suite(folder: Path) -> Path:
    """A new suite whose hidden tests alone decide, in this mode."""
    new_suite(folder)
    manifest = folder / EXAMPLE_TASK / "task.json"
    task = json.loads(manifest.read_text())
    task["graders"] = task["graders"][1:]
    task["graders"][0]["options"]["mode"] = "tamper-evident"
    task["baseline"] = {"hidden": "fail"}
    manifest.write_text(json.dumps(task))
    return folder


def test_a_trial_has_all_the_trees_that_its_runs_need(tmp_path: Path) -> None:
    task = load_benchmark_task(evident_suite(tmp_path / "suite"), EXAMPLE_TASK)

    record = grade_trial(task, {"src/words.py": RIGHT})

    assert record.verdict.status is VerdictStatus.ACCEPTED
    assert record.verdict.trust is Trust.TAMPER_EVIDENT
    assert not record.leaks

"""Mode `tamper-evident` in whole trials: the trees that its runs need, and equal results."""

from __future__ import annotations

import json
from pathlib import Path

from assay import grade, load_benchmark_task
from assay.api import Reason, Trust, VerdictStatus
from assay.evaluation import grade_trial
from assay.record_json import to_plain
from assay.scaffold import EXAMPLE_TASK, new_suite

RIGHT = "def count_words(text):\n    return len(text.split())\n"
FORGED = """
class Equal:
    def __eq__(self, other): return True
def count_words(text): return Equal()
"""


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


def test_verdicts_and_facts_are_the_same_each_time(tmp_path: Path) -> None:
    task = load_benchmark_task(evident_suite(tmp_path / "suite"), EXAMPLE_TASK)

    first, second = (grade_trial(task, {"src/words.py": RIGHT}) for _ in range(2))

    assert first.verdict.status is VerdictStatus.ACCEPTED
    assert first.verdict.trust is Trust.TAMPER_EVIDENT
    for found, again in zip(first.facts, second.facts, strict=True):
        assert (found.layers_held, found.codes) == (again.layers_held, again.codes)
        assert to_plain(found.tests) == to_plain(again.tests)
    assert not first.leaks


def test_a_forged_pass_is_rejected(tmp_path: Path) -> None:
    task = load_benchmark_task(evident_suite(tmp_path / "suite"), EXAMPLE_TASK)

    verdict = grade(task, {"src/words.py": FORGED})

    assert verdict.status is VerdictStatus.REJECTED
    assert verdict.reasons == (Reason.TAMPERING_DETECTED,)

"""The shipped suite whose verdicts are isolated: its table, its trust, its published results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.cli import assay
from support.repository import ROOT
from support.tiny import make_suite, write_json, write_tree

from assay.results import PROTOCOL

FAILED = ["hidden-tests-failed", "reported-evidence-mismatch", "visible-tests-failed"]
REASONS = {
    "always-equal": FAILED,
    "early-exit": FAILED,
    "fabricated-evidence": FAILED,
    "reference-minimal": [],
    "scope-creep": ["protected-path-changed"],
    "visible-only": ["hidden-tests-failed"],
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("runs") / "run"
    done = assay("run", "builtin:call-eval", "--output", folder)
    assert done.code == 0, done.err
    return json.loads((folder / "report.json").read_bytes())


def test_every_candidate_gets_its_verdict_with_isolated_trust(report: Any) -> None:
    verdicts = {trial["candidate"]: trial["verdict"] for trial in report["results"]["trials"]}

    assert {name: verdict["reasons"] for name, verdict in verdicts.items()} == REASONS
    assert {verdict["trust"] for verdict in verdicts.values()} == {"isolated"}
    assert [name for name, verdict in verdicts.items() if verdict["status"] == "accepted"] == [
        "reference-minimal"
    ]


def test_the_published_results_are_reproduced(report: Any) -> None:
    results = ROOT / "fixtures" / "call-eval" / "results" / f"v{PROTOCOL}.json"
    published = json.loads(results.read_bytes())

    assert {key: value for key, value in report.items() if key != "identity"} == published["report"]


def test_no_expected_value_is_in_the_report(report: Any) -> None:
    text = json.dumps(report)

    assert "like the reference" in text
    assert "100000000000000000000" not in text
    assert "oracle" not in text


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({}, "no hidden file of this name"),
        ({"cases.json": "{}"}, "schema is missing"),
        ({"cases.json": " " * (17 * 1024**2)}, "larger than"),
    ],
)
def test_a_case_file_that_can_not_be_read_makes_trials_invalid(
    files: dict[str, str], problem: str, tmp_path: Path
) -> None:
    grader = {
        "id": "cases",
        "use": "call",
        "role": "hidden",
        "options": {"cases": "cases.json", "roots": ["src"]},
    }
    suite = make_suite(tmp_path / "suite", graders=[grader])
    write_tree(suite / "add" / "hidden", files)
    write_json(tmp_path / "work" / "src" / "calc.py", 1)
    run = tmp_path / "run"
    done = assay("run", suite, "--candidate", tmp_path / "work", "--output", run)

    assert done.code == 3
    assert "grader-unfit" in done.out
    assert problem in (run / "trials.jsonl").read_text("utf-8")

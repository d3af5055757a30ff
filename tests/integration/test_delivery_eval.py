"""The shipped delivery suite gives exactly its table, and its published results."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.cli import assay

from assay.results import PROTOCOL

REPOSITORY = Path(__file__).parents[2]

TABLE = {
    "reference-minimal": ("3/3", "100%", "100%", "100%", "100%"),
    "visible-only": ("0/3", "100%", "0%", "100%", "100%"),
    "scope-creep": ("0/3", "100%", "100%", "0%", "100%"),
    "fabricated-evidence": ("0/3", "0%", "0%", "100%", "0%"),
}
REASONS = {
    "visible-only": ["hidden-tests-failed"],
    "scope-creep": ["protected-path-changed"],
    "fabricated-evidence": [
        "hidden-tests-failed",
        "reported-evidence-mismatch",
        "visible-tests-failed",
    ],
}


# Which copier makes no difference to what is published.
COPIERS = {"delivery-eval": "overlay", "delivery-eval-node": "copy"}


@pytest.fixture(scope="module", params=COPIERS)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("runs") / "run"
    words = ("--output", folder, "--copier", COPIERS[request.param])
    done = assay("run", f"builtin:{request.param}", *words)
    assert done.code == 0, done.err
    assert json.loads((folder / "run.json").read_bytes())["copier"] == COPIERS[request.param]
    return request.param, folder, done


def test_the_table_is_exact(ran: Any) -> None:
    _, _, done = ran
    rows = {line.split()[0]: tuple(line.split()[1:]) for line in done.out.splitlines() if line}
    assert {name: rows[name] for name in TABLE} == TABLE


def test_every_failure_has_exactly_its_reasons(ran: Any) -> None:
    _, folder, _ = ran
    failures = json.loads((folder / "report.json").read_bytes())["summary"]["failures"]
    assert Counter(failure["candidate"] for failure in failures) == {
        "visible-only": 3,
        "scope-creep": 3,
        "fabricated-evidence": 3,
    }
    for failure in failures:
        assert failure["reasons"] == REASONS[failure["candidate"]]


def test_the_published_results_are_reproduced(ran: Any) -> None:
    suite, folder, done = ran
    results = REPOSITORY / "fixtures" / suite / "results" / f"v{PROTOCOL}.json"
    published = json.loads(results.read_bytes())
    report = json.loads((folder / "report.json").read_bytes())
    assert {key: value for key, value in report.items() if key != "identity"} == published["report"]
    assert f"results {published['results_digest']}" in done.out.splitlines()


def test_show_explains_a_rejected_trial(ran: Any) -> None:
    _, folder, _ = ran
    shown = assay("show", folder, "slug-normalizer/visible-only")
    assert shown.code == 0
    assert "rejected" in shown.out
    assert "hidden-tests-failed" in shown.out
    assert "failed" in shown.out
    report = assay("show", folder)
    assert report.code == 0
    assert "reference-minimal" in report.out


def test_a_protected_change_is_never_written(ran: Any) -> None:
    _, folder, _ = ran
    trials = json.loads((folder / "report.json").read_bytes())["results"]["trials"]
    for trial in trials:
        if trial["candidate"] == "scope-creep":
            assert [v["reason"] for v in trial["boundary"]["violations"]] == [
                "protected-path-changed"
            ]
            assert all(grader["passed"] for grader in trial["graders"])

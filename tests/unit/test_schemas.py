"""Schemas exist for every document, and the skeleton's own manifests obey them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.json_schema import problems

from assay.api import (
    Digest,
    ManifestError,
    Reason,
    TrialRecord,
    TrialSpec,
    Trust,
    UsageError,
    Verdict,
    VerdictStatus,
)
from assay.claims import load_claim
from assay.record_json import record_to_json
from assay.scaffold import new_suite
from assay.schemas import schema, schema_names


def test_every_name_gives_a_json_document() -> None:
    assert schema_names() == (
        "candidate",
        "check-output",
        "claim",
        "clean-output",
        "doctor-output",
        "error-output",
        "lint-output",
        "lock-output",
        "new-output",
        "plugins-output",
        "probe-output",
        "report",
        "run",
        "run-output",
        "schema-output",
        "suite",
        "task",
        "trial",
        "trial-output",
    )
    for name in schema_names():
        document = schema(name)
        assert json.loads(json.dumps(document)) == document
        assert document["type"] == "object"


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(
        UsageError, match="unknown schema tasks; known: candidate, check-output, claim"
    ):
        schema("tasks")


def test_a_new_suite_obeys_the_schemas(tmp_path: Path) -> None:
    new_suite(tmp_path / "s")
    seen = set()
    for path in sorted(tmp_path.rglob("*.json")):
        name = path.stem
        assert problems(schema(name), json.loads(path.read_text())) == []
        seen.add(name)
    assert seen == {"suite", "task", "candidate", "claim"}


def test_the_four_key_task_obeys_the_schema() -> None:
    task = {"id": "a", "category": "c", "prompt": "p", "fixture": "fixture"}
    assert problems(schema("task"), task) == []


@pytest.mark.parametrize(
    "claim",
    [
        {},
        {"schema": 1, "visible": {"exit_code": 3}, "completed": True, "summary": "s"},
        {"visible": {}},
        {"schema": 2},
        {"visible": {"exit_code": 256}},
        {"visible": {"exit_code": -1}},
        {"visible": {"exit_code": True}},
        {"visible": {"exit": 0}},
        {"completed": 1},
        {"summary": None},
        {"more": 1},
        [],
    ],
)
def test_claims_are_judged_alike_by_loader_and_schema(claim: object) -> None:
    try:
        load_claim(json.dumps(claim).encode())
    except ManifestError:
        assert problems(schema("claim"), claim)
    else:
        assert problems(schema("claim"), claim) == []


def test_a_record_as_it_is_written_obeys_the_schema() -> None:
    digest = Digest("sha256:" + "0" * 64)
    spec = TrialSpec("s", "t", "c", 1, digest, digest, None, digest)
    verdict = Verdict(VerdictStatus.REJECTED, (Reason.NO_CHANGES,), Trust.UNGUARDED, "1")
    plain = json.loads(json.dumps(record_to_json(TrialRecord(spec, verdict))))
    assert problems(schema("trial"), plain) == []
    plain["verdict"]["reasons"] = ["because"]
    assert problems(schema("trial"), plain) != []

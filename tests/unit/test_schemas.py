"""Schemas exist for every document, and the skeleton's own manifests obey them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.json_schema import problems

from assay.api import UsageError
from assay.scaffold import new_suite
from assay.schemas import schema, schema_names


def test_every_name_gives_a_json_document() -> None:
    assert schema_names() == ("candidate", "claim", "report", "suite", "task", "trial")
    for name in schema_names():
        document = schema(name)
        assert json.loads(json.dumps(document)) == document
        assert document["type"] == "object"


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="unknown schema tasks; known: candidate, claim"):
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

"""The shipped suites load with the real graders and obey the published schemas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.json_schema import problems

from assay.schemas import schema
from assay.shipped import builtin_folder, builtin_names
from assay.suites import open_suite


@pytest.mark.parametrize("name", builtin_names())
def test_every_task_and_candidate_loads(name: str) -> None:
    suite = open_suite(f"builtin:{name}")
    assert suite.header.id == name
    assert suite.task_ids()
    for task_id in suite.task_ids():
        assert suite.task(task_id).task.graders
        candidates = suite.candidates(task_id)
        assert candidates
        assert all(candidate.expect is not None for candidate in candidates)


@pytest.mark.parametrize("name", builtin_names())
def test_manifests_obey_the_schemas(name: str) -> None:
    folder = builtin_folder(name)
    manifests = [folder / "suite.json", *folder.glob("*/task.json")]
    manifests += folder.glob("*/candidates/*/candidate.json")
    manifests += folder.glob("*/candidates/*/claim.json")
    for path in manifests:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        assert problems(schema(path.stem), document) == [], path.relative_to(folder)

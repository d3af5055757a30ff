"""The grader that the how-to page shows is short, correct, and fits the API."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.grading import grade
from support.repository import ROOT

from assay.api import Facts, GraderRole, Reason, Trust

_PAGE = (ROOT / "docs/how-to/write-a-grader.md").read_text("utf-8")
_BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", _PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def grader(tmp_path: Path) -> Any:
    (text,) = (text for language, text in _BLOCKS if language == "python")
    (tmp_path / "my_graders.py").write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location("my_graders", tmp_path / "my_graders.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Parses()


def measured(grader: Any, tree: Mapping[str, str], changed: tuple[str, ...]) -> Facts:
    return grade(grader, grader.Options(), tree, role=GraderRole.STRUCTURE, modified=changed)


def test_it_measures_what_changed(grader: Any):
    tree = {"good.py": "x = 1\n", "bad.py": "def (:\n", "bad.txt": "def (:\n"}

    good = measured(grader, tree, ("good.py", "bad.txt"))
    bad = measured(grader, tree, ("good.py", "bad.py"))

    assert good.passed
    assert good.trust is Trust.ISOLATED
    assert bad.completed
    assert bad.reasons == {Reason.STRUCTURE_FAILED}


def test_it_runs_nothing_that_it_reads(grader: Any):
    facts = measured(grader, {"a.py": "raise SystemExit(3)\n"}, ("a.py",))

    assert facts.passed


def test_it_names_its_problems_and_tools(grader: Any):
    assert grader.check(grader.Options(suffix="py"), None)
    assert not grader.check(grader.Options(), None)
    assert grader.needs(grader.Options(), None).tools == ("python",)


def test_its_entry_point_and_task_name_it(grader: Any):
    (entry_point,) = (text for language, text in _BLOCKS if language == "toml")
    (in_task,) = (json.loads(text) for language, text in _BLOCKS if language == "json")

    points = tomllib.loads(entry_point)["project"]["entry-points"]["assay.graders"]
    assert points == {grader.name: f"my_graders:{type(grader).__name__}"}
    assert in_task["use"] == grader.name
    assert grader.check(grader.Options(**in_task["options"]), None) == ()

"""The format pages name every key, value and default that the loader knows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import attrs
import pytest

from assay.api import CandidateKind, GraderRole, Limits
from assay.candidate_manifest import CandidateDocument
from assay.limits import FLOORS, LimitsDocument
from assay.manifests import TaskDocument
from assay.policies import OP_NAMES, RuntimeDocument
from assay.suite_manifest import SuiteDocument

PAGES = Path(__file__).parents[2] / "docs/formats"


def rows(page: str) -> dict[str, str]:
    """First cells of all table rows, with the whole row."""
    found = {}
    for line in (PAGES / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            for name in re.findall(r"`([^`]+)`", line.split("|")[1]):
                found[name] = line
    return found


@pytest.mark.parametrize(
    ("page", "cls"),
    [
        ("suite.md", SuiteDocument),
        ("task.md", TaskDocument),
        ("task.md", RuntimeDocument),
        ("task.md", LimitsDocument),
        ("candidate.md", CandidateDocument),
    ],
)
def test_every_key_has_a_row(page: str, cls: type) -> None:
    assert {field.name for field in attrs.fields(cls)} <= rows(page).keys()


def test_limits_are_documented_with_their_defaults() -> None:
    for field in attrs.fields(Limits):
        assert f"| {field.default:.0f} |" in rows("task.md")[field.name]


def test_values_are_documented() -> None:
    task = rows("task.md")
    assert {*OP_NAMES, "binary"} <= task.keys()
    assert all(f"`{role.value}`" in task["role"] for role in GraderRole)
    kinds = rows("candidate.md")["kind"]
    assert all(f"`{kind.value}`" in kinds for kind in CandidateKind)


@pytest.mark.parametrize("page", ["suite.md", "task.md", "candidate.md"])
def test_complete_examples_are_json(page: str) -> None:
    text = (PAGES / page).read_text(encoding="utf-8")
    for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL):
        if block.startswith("{") and "{…}" not in block:
            for line in [block] if block.startswith("{\n") else block.splitlines():
                json.loads(line)


def test_scaled_limits_are_documented_with_their_floors() -> None:
    found = rows("task.md")
    for name, floor in FLOORS.items():
        assert found[f"limits.{name}"].endswith(f"| {floor} |")
    assert {name for name in found if name.startswith("limits.")} == {
        f"limits.{name}" for name in FLOORS
    }

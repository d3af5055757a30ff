"""suite.json: header and pins."""

from __future__ import annotations

from typing import Any

import pytest
from support.suites import encoded

from assay.api import ManifestError, Trust
from assay.suite_manifest import parse_suite

DIGEST = "sha256:" + "0" * 64
PINS = {"fixture": DIGEST, "task": DIGEST}


def parse(**more: Any) -> Any:
    return parse_suite(encoded({"schema": 1, "id": "s", **more}))


def test_the_smallest_suite() -> None:
    header = parse()
    assert (header.id, header.categories, header.tasks) == ("s", (), {})
    assert header.require_trust is Trust.UNGUARDED


def test_pins_come_in_order_of_task_ids() -> None:
    header = parse(
        tasks={"b": {**PINS, "hidden": DIGEST}, "a": PINS},
        categories={"version": 3, "ids": ["y", "x"]},
        require_trust="isolated",
    )
    assert list(header.tasks) == ["a", "b"]
    assert header.tasks["a"].hidden is None
    assert header.tasks["b"].hidden.contract == "assay-tree-v1"
    assert (header.categories, header.categories_version) == (("y", "x"), 3)
    assert header.require_trust is Trust.ISOLATED


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"task": {}}, "suite.json: task: is not a known key"),
        ({"schema": 9}, "suite.json: schema: must be 1"),
        ({"id": "S"}, "suite.json: id: must be 1 to 64"),
        ({"categories": ["x"]}, "suite.json: categories: must be an object"),
        ({"categories": {"version": 1, "ids": []}}, "categories.ids: must name at least one"),
        ({"categories": {"version": 1, "ids": ["a", "a"]}}, "categories.ids: must not repeat"),
        ({"categories": {"version": 1, "ids": ["A"]}}, "categories.ids[0]: must be 1 to 64"),
        ({"categories": {"version": 0, "ids": ["a"]}}, "categories.version: must be at least 1"),
        ({"tasks": {"A b": PINS}}, "suite.json: tasks: names a task with an illegal id"),
        ({"tasks": {"a": {"fixture": DIGEST}}}, "suite.json: tasks.a.task: is required"),
        ({"tasks": {"a": {**PINS, "task": "sha256:0"}}}, "tasks.a.task: must be sha256:"),
        ({"tasks": {"a": {**PINS, "hidden": DIGEST.upper()}}}, "tasks.a.hidden: must be sha256:"),
        ({"require_trust": "total"}, "require_trust: must be one of: unguarded"),
        ({"plugins": {"x": {"version": "1"}}}, "plugins.x.digest: is required"),
    ],
)
def test_refused_with_field_and_rule(more: dict[str, Any], problem: str) -> None:
    with pytest.raises(ManifestError) as caught:
        parse(**more)
    assert problem in str(caught.value)


def test_a_suite_says_its_schema() -> None:
    with pytest.raises(ManifestError, match="schema: is required"):
        parse_suite(b'{"id": "s"}')

"""Hidden tests over one candidate module, graded in mode `isolated`."""

from __future__ import annotations

import json
from typing import Any

from support.grading import GRADERS, grade
from support.jail import store

from assay.api import Facts, GraderRole, Limits, Runtime


def isolated(
    tests: str,
    source: str,
    *,
    expect: tuple[str, ...],
    module: str = "cand",
    limits: Limits | None = None,
    tree: dict[str, str] | None = None,
    added: tuple[str, ...] = (),
    runtime: Runtime | None = None,
    requirements: tuple[str, ...] = (),
    fixture: dict[str, str] | None = None,
    **options: Any,
) -> Facts:
    """Facts of one hidden file of tests, `test_h.py`, over `src/MODULE.py`."""
    grader = GRADERS["pytest"]
    made = grader.Options(
        tests=("test_h.py",),
        expect=tuple(f"test_h.py::{test}" for test in expect),
        hidden=True,
        roots=("src",),
        mode="isolated",
        **options,
    )
    files = {f"src/{module}.py": source, "README.md": "a tree", **(tree or {})}
    bounds = {} if limits is None else {"limits": limits}
    return grade(
        grader,
        made,
        files,
        hidden={"test_h.py": tests},
        role=GraderRole.HIDDEN,
        added=added,
        runtime_changes=runtime,
        requirements=requirements,
        fixture=fixture,
        **bounds,
    )


def found(facts: Facts) -> dict[str, str]:
    """Outcome by the name of the test."""
    return {test.id.partition("::")[2]: test.outcome.value for test in facts.tests}


def uses(facts: Facts) -> dict[str, dict[str, Any]]:
    """How each test used the wire, by its name, as the artifact says."""
    content = store().blob(facts.artifacts["isolation.json"])
    assert content is not None
    table = json.loads(content)
    return {test["id"].partition("::")[2]: test for test in table["tests"]}

"""Hidden Node tests over one candidate module, graded in mode `isolated`."""

from __future__ import annotations

from typing import Any

from support.grading import GRADERS, grade

from assay.api import Facts, GraderRole, Limits

TESTS = "h.test.mjs"
HEAD = 'import assert from "node:assert/strict";\nimport { it, describe, test } from "node:test";\n'


def isolated_node(
    tests: str,
    source: str,
    *,
    expect: tuple[str, ...],
    module: str = "cand.mjs",
    file: str = TESTS,
    limits: Limits | None = None,
    tree: dict[str, str] | None = None,
    hidden: dict[str, str] | None = None,
    added: tuple[str, ...] = (),
    **options: Any,
) -> Facts:
    """Facts of one hidden file of tests over `src/MODULE`; the usual imports stand before."""
    grader = GRADERS["node-test"]
    made = grader.Options(
        tests=(file,),
        expect=tuple(f"{file} > {test}" for test in expect),
        hidden=True,
        roots=("src",),
        mode="isolated",
        **options,
    )
    files = {f"src/{module}": source, "README.md": "a tree", **(tree or {})}
    bounds = {} if limits is None else {"limits": limits}
    text = HEAD + tests if file == TESTS else tests
    return grade(
        grader,
        made,
        files,
        hidden={file: text, **(hidden or {})},
        role=GraderRole.HIDDEN,
        added=added,
        **bounds,
    )


def found(facts: Facts) -> dict[str, str]:
    """Outcome by the names of the test."""
    return {test.id.partition(" > ")[2]: test.outcome.value for test in facts.tests}

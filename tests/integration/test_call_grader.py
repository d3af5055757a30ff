"""The `call` grader on honest and wrong code, in real jails."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from support.grading import GENEROUS, GRADERS, grade, outcomes

from assay.api import Facts, GraderRole, Limits, TestOutcome, Trust
from assay_graders.call import CallOptions

CASES: list[dict[str, Any]] = [
    {"id": "small", "call": "calc:add", "args": [2, 3], "expect": 5},
    {"id": "big", "call": "calc:add", "args": [10**20, 1], "expect": 10**20 + 1},
]
GOLD = "def add(a, b):\n    return a + b\n"


def grade_calls(
    calc: str,
    cases: list[dict[str, Any]] | None = None,
    *,
    hidden: Mapping[str, str] | None = None,
    limits: Limits = GENEROUS,
    seed: int = 0,
    **options: Any,
) -> Facts:
    document = {"schema": 1, "cases": CASES if cases is None else cases}
    return grade(
        GRADERS["call"],
        CallOptions("cases.json", roots=("src",), **options),
        {"src/calc.py": calc, "tests/test_calc.py": "EXPECTED = 5\n"},
        hidden={"cases.json": json.dumps(document), **(hidden or {})},
        role=GraderRole.HIDDEN,
        limits=limits,
    )


def test_the_honest_control_passes():
    facts = grade_calls(GOLD)

    assert facts.passed
    assert facts.trust is Trust.ISOLATED
    assert list(outcomes(facts)) == ["small", "big"]
    assert facts.measures == {"calls": 2, "seed": 0, "workers": 2}


def test_a_wrong_candidate_fails_without_telling_why():
    facts = grade_calls("def add(a, b):\n    return a - b\n")

    assert set(outcomes(facts).values()) == {TestOutcome.FAILED}
    assert "expected 5" in facts.tests[0].message_private
    assert "returned -1" in facts.tests[0].message_private
    assert facts.tests[0].message_public == "failed: small"

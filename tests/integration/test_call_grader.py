"""The `call` grader on honest and wrong code, in real jails."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from support.grading import GENEROUS, GRADERS, grade, outcomes

from assay.api import Facts, GraderRole, GraderUnfit, Limits, Reason, TestOutcome, Trust
from assay_graders.call import CallOptions
from assay_graders.calls import oracle

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
        seed=seed,
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


def test_tests_and_hidden_files_are_not_in_the_workers_tree():
    facts = grade_calls(
        "import os\n\ndef seen(folder):\n    return sorted(os.listdir(folder))\n",
        [
            {"id": "tree", "call": "calc:seen", "args": ["/workspace"], "expect": ["src"]},
            {"id": "root", "call": "calc:seen", "args": ["/hidden"], "raises": "FileNotFoundError"},
        ],
    )

    assert facts.passed


@pytest.mark.parametrize(
    ("case", "passes"),
    [
        ({"args": [{"t": [1, 2]}], "expect": {"t": [1, 2]}}, True),
        ({"args": [[1, 2]], "expect": {"t": [1, 2]}}, False),
        ({"args": [1], "expect": True}, False),
        ({"args": [1.0], "expect": 1}, False),
        ({"args": [-0.0], "expect": 0.0}, False),
        ({"args": [{"d": [["a", 1], ["b", 2]]}], "expect": {"d": [["b", 2], ["a", 1]]}}, True),
        ({"args": [{"d": [[1, "x"]]}], "expect": {"d": [[True, "x"]]}}, False),
        ({"args": [{"set": [1, 2]}], "expect": {"set": [2, 1]}}, True),
        ({"args": [{"set": [1]}], "expect": {"set": [True]}}, False),
        ({"args": [{"decimal": ["1.10"]}], "expect": {"decimal": ["1.10"]}}, True),
        ({"args": [0.1], "expect": 0.2, "tolerance": {"abs": 0.2}}, True),
        ({"args": [[0.1]], "expect": [0.2], "tolerance": {"rel": 0.1}}, False),
        ({"args": ["é"], "expect": "é"}, True),
        ({"args": ["e\u0301"], "expect": "é"}, False),
        ({"kwargs": {"value": None}, "expect": None}, True),
        ({"args": [], "raises": "TypeError"}, True),
        ({"args": [], "raises": {"type": "Exception"}}, True),
        ({"args": [], "raises": {"type": "TypeError", "message": "no"}}, False),
        ({"args": [1], "raises": "TypeError"}, False),
    ],
)
def test_types_and_values_are_exact(case: dict[str, Any], passes: bool):
    facts = grade_calls(
        "def same(value):\n    return value\n", [{"id": "c", "call": "calc:same", **case}]
    )

    assert facts.passed is passes
    assert facts.tests[0].outcome is (TestOutcome.PASSED if passes else TestOutcome.FAILED)


def test_dotted_names_exceptions_of_the_candidate_and_changed_arguments():
    code = (
        "class Full(ValueError):\n    pass\n"
        "class Box:\n"
        "    @staticmethod\n"
        "    def put(items, more):\n"
        "        if len(items) > 1:\n            raise Full('no room')\n"
        "        items.append(more)\n"
    )
    box = {"call": "calc:Box.put", "expect": None}
    facts = grade_calls(
        code,
        [
            {"id": "put", **box, "args": [[1], 2], "after": {"args": [[1, 2], 2]}},
            {"id": "unchanged", **box, "args": [[1], 2], "after": {"args": [[1], 2]}},
            {
                "id": "full",
                "call": "calc:Box.put",
                "args": [[1, 2], 3],
                "raises": {"type": "calc:Full", "message": "no room"},
            },
            {"id": "base", "call": "calc:Box.put", "args": [[1, 2], 3], "raises": "ValueError"},
            {"id": "absent", "call": "calc:Box.take", "args": [], "raises": "AttributeError"},
        ],
    )

    passed, failed = TestOutcome.PASSED, TestOutcome.FAILED
    assert list(outcomes(facts).values()) == [passed, failed, passed, passed, failed]
    assert "[1, 2]" in facts.tests[1].message_private


def test_awaitables_are_awaited_where_the_case_says_so():
    facts = grade_calls(
        "import asyncio\n\n"
        "async def add(a, b):\n    await asyncio.sleep(0)\n    return a + b\n\n"
        "async def fails():\n    raise KeyError('x')\n\n"
        "async def ends():\n    raise SystemExit(0)\n\n"
        "class Later:\n    def __await__(self):\n        yield from add(1, 1).__await__()\n"
        "        return 'late'\n\n"
        "async def items():\n    yield 1\n\ndef plain():\n    return 1\n",
        [
            {"id": "value", "call": "calc:add", "args": [2, 3], "await": True, "expect": 5},
            {"id": "raises", "call": "calc:fails", "await": True, "raises": "KeyError"},
            {"id": "exit", "call": "calc:ends", "await": True, "raises": "SystemExit"},
            {"id": "own", "call": "calc:Later", "await": True, "expect": "late"},
            {"id": "plain", "call": "calc:plain", "await": True, "raises": "TypeError"},
            {"id": "generator", "call": "calc:items", "await": True, "expect": [1]},
            {"id": "not asked for", "call": "calc:add", "args": [2, 3], "expect": 5},
        ],
    )

    assert outcomes(facts) == {
        **dict.fromkeys(("value", "raises", "exit", "own"), TestOutcome.PASSED),
        **dict.fromkeys(("plain", "generator", "not asked for"), TestOutcome.FAILED),
    }
    assert "can't be awaited" in facts.tests[4].message_private


def test_an_answer_that_is_too_large_is_a_failed_test_and_no_breach():
    code = "def add(a, b):\n    return 'x' * 5_000_000\n"
    facts = grade_calls(code)

    assert not facts.reasons
    assert set(outcomes(facts).values()) == {TestOutcome.FAILED}
    assert "larger than" in facts.tests[0].message_private


def test_arguments_are_compared_beside_every_demand():
    code = (
        "def f(items):\n    items.append(1)\n    raise ValueError\ndef g(items): items.append(1)\n"
    )
    after = {"after": {"args": [[1]]}}
    kept = {"after": {"args": [[]]}}
    cases = [
        {"id": "raises", "call": "calc:f", "args": [[]], "raises": "ValueError", **after},
        {"id": "raises-kept", "call": "calc:f", "args": [[]], "raises": "ValueError", **kept},
        {"id": "holds", "call": "calc:g", "args": [[]], "property": "p.py:p", **after},
        {"id": "holds-kept", "call": "calc:g", "args": [[]], "property": "p.py:p", **kept},
    ]
    facts = grade_calls(code, cases, hidden={"p.py": "def p(*_):\n    return True\n"})

    passed, failed = TestOutcome.PASSED, TestOutcome.FAILED
    assert list(outcomes(facts).values()) == [passed, failed, passed, failed]


def test_a_trusted_process_is_replaced_before_its_time_is_over(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(oracle, "FRESH_SECONDS", 0.0)
    counts = "calls = []\ndef first(*_):\n    calls.append(1)\n    return len(calls) == 1\n"
    case = {"call": "calc:add", "args": [1, 2], "property": "p.py:first"}
    cases = [{"id": name, **case} for name in ("a", "b")]

    assert grade_calls(GOLD, cases, hidden={"p.py": counts}).passed


@pytest.mark.parametrize("target", ["json:dumps", "pytest:main", "_assay:x", "sys:exit", "no:f"])
def test_only_modules_below_the_roots_are_graded(target: str):
    case = {"id": "c", "call": target, "args": [1], "raises": "BaseException"}
    facts = grade_calls(GOLD, [case])

    assert outcomes(facts) == {"c": TestOutcome.FAILED}


def test_packages_and_folders_without_an_init_are_found():
    tree = {
        "src/shop/cart.py": "def one(): return 1\n",
        "lib/deep/__init__.py": "two = lambda: 2\n",
    }
    cases = [
        {"id": "one", "call": "shop.cart:one", "expect": 1},
        {"id": "two", "call": "deep:two", "expect": 2},
    ]
    facts = grade(
        GRADERS["call"],
        CallOptions("cases.json", roots=("src", "lib")),
        tree,
        hidden={"cases.json": json.dumps({"schema": 1, "cases": cases})},
    )

    assert facts.passed


COUNTER = "calls = []\n\ndef count():\n    calls.append(1)\n    return len(calls)\n"


@pytest.mark.parametrize(("workers", "highest"), [("case", 1), ("group", 2)])
def test_a_fresh_worker_for_each_case_or_group(workers: str, highest: int):
    entry = {"call": "calc:count", "args": [], "property": "props.py:at_most"}
    cases = [{"id": name, "group": "g", **entry} for name in ("a", "b")]
    facts = grade_calls(
        COUNTER,
        [*cases, {"id": "c", "group": "h", **entry}],
        hidden={"props.py": f"def at_most(n):\n    return n <= {highest}\n"},
        workers=workers,
    )
    lower = grade_calls(
        COUNTER,
        cases,
        hidden={"props.py": f"def at_most(n):\n    return n < {highest}\n"},
        workers=workers,
    )

    assert facts.passed
    assert not lower.passed


SLOW_SUM = (
    "def total(items, *, start=0):\n    for i in items:\n        start += i\n    return start\n"
)
REFERENCE = "def total(items, *, start=0):\n    return sum(items, start)\n"
GENERATED = {
    "id": "sums",
    "call": "calc:total",
    "reference": "oracles/sums.py:total",
    "generate": {
        "count": 2000,
        "args": [{"list": {"of": {"integer": {"min": -9, "max": 9}}, "max": 6}}],
        "kwargs": {"start": {"integer": {"min": 0, "max": 3}}},
    },
}


def test_thousands_of_generated_inputs_against_a_reference():
    hidden = {"oracles/sums.py": REFERENCE}
    good = grade_calls(SLOW_SUM, [GENERATED], hidden=hidden, seed=7)
    rare = SLOW_SUM.replace("    return start", "    return start if start != 31 else 0")
    bad = grade_calls(rare, [GENERATED], hidden=hidden, seed=7)

    assert good.passed
    assert good.measures["calls"] == 2000
    assert outcomes(bad) == {"sums": TestOutcome.FAILED}
    assert "expected 31" in bad.tests[0].message_private


def test_a_hidden_function_may_draw_the_inputs():
    draw = "import random\ndef draw(seed):\n    return [[random.Random(seed).random()] * 3]\n"
    case = {"id": "c", "call": "calc:total", "reference": "sums.py:total"}
    case["generate"] = {"count": 20, "function": "draw.py:draw"}
    hidden = {"sums.py": REFERENCE, "draw.py": draw}

    assert grade_calls(SLOW_SUM, [case], hidden=hidden).measures["calls"] == 20
    with pytest.raises(GraderUnfit, match=r"draw\.py:draw"):
        grade_calls(SLOW_SUM, [case], hidden={**hidden, "draw.py": "def draw(seed): return 1\n"})


def test_a_reference_that_raises_demands_the_same_exception():
    case = {"call": "calc:first", "reference": "r.py:first", "args": [[]]}
    hidden = {"r.py": "def first(items):\n    return items[0]\n"}
    same = grade_calls(
        "def first(items):\n    return items[0]\n", [{"id": "c", **case}], hidden=hidden
    )
    other = grade_calls(
        "def first(items):\n    return next(iter(items), None)\n",
        [{"id": "c", **case}],
        hidden=hidden,
    )

    assert same.passed
    assert not other.passed


def test_changed_arguments_are_compared_with_those_of_the_reference():
    case = {"id": "c", "call": "calc:sort", "reference": "r.py:sort", "after": True}
    case["generate"] = {"count": 20, "args": [{"list": {"of": {"integer": {"min": 0, "max": 9}}}}]}
    hidden = {"r.py": "def sort(items):\n    items.sort()\n"}

    assert grade_calls("def sort(items):\n    items.sort()\n", [case], hidden=hidden).passed
    assert not grade_calls("def sort(items):\n    items = 1\n", [case], hidden=hidden).passed


@pytest.mark.parametrize(
    "reference",
    [
        "def add(a, b):\n    return object()\n",
        "def add(a, b):\n    raise type('Own', (Exception,), {})\n",
        "import os\ndef add(a, b):\n    os._exit(0)\n",
        "def sub(a, b):\n    return 1\n",
        "raise ValueError\n",
    ],
)
def test_a_reference_that_fails_is_never_the_candidates_fault(reference: str):
    case = {"id": "c", "call": "calc:add", "args": [1, 2], "reference": "r.py:add"}

    with pytest.raises(GraderUnfit, match=r"r\.py:add"):
        grade_calls(GOLD, [case], hidden={"r.py": reference})


@pytest.mark.parametrize(
    "text",
    [
        "def p(value):\n    return 1\n",
        "def p(value):\n    raise ValueError\n",
        "import os\ndef p(value):\n    os._exit(0)\n",
        "def p(value):\n    return value.no_such_method()\n",
    ],
)
def test_a_property_that_does_not_return_true_is_no_pass(text: str):
    case = {"id": "c", "call": "calc:one", "args": [], "property": "p.py:p"}
    facts = grade_calls("def one():\n    return 1\n", [case], hidden={"p.py": text})

    assert outcomes(facts) == {"c": TestOutcome.FAILED}


def test_trusted_functions_see_nothing_of_the_candidate():
    text = (
        "import os, sys\n"
        "def p(value, *args):\n"
        "    return os.listdir('/workspace') == [] and '/workspace/src' not in sys.path\n"
    )
    case = {"id": "c", "call": "calc:add", "args": [1, 2], "property": "p.py:p"}

    assert grade_calls(GOLD, [case], hidden={"p.py": text}).passed


@pytest.mark.parametrize(
    ("options", "cases", "rule"),
    [
        ({"ids": ("small", "nope")}, CASES, r"ids\[1\] is no case"),
        ({}, [], "is empty"),
        ({}, [{"id": "a", "call": "calc:add"}], "exactly one of"),
        ({}, [{"id": "a", "call": "calc:add", "expect": 1, "raises": "E"}], "exactly one of"),
        ({}, [{"id": "a", "call": "calc:add", "expect": 1, "argv": []}], "unknown key"),
        ({}, [{"id": "a", "call": "add", "expect": 1}], r"cases\[0\]\.call"),
        ({}, [{"id": "a", "call": "calc:add", "expect": {"nope": 1}}], "unknown tag"),
        ({}, [*CASES, CASES[0]], "earlier case"),
        ({}, [{"id": "a", "call": "calc:add", "property": "no.py:f"}], "names no hidden file"),
    ],
)
def test_a_case_file_that_means_nothing_makes_the_grader_unfit(
    options: dict[str, Any], cases: list[dict[str, Any]], rule: str
):
    with pytest.raises(GraderUnfit, match=rule):
        grade_calls(GOLD, cases, **options)


def test_ids_choose_cases():
    assert list(outcomes(grade_calls(GOLD, ids=("big",)))) == ["big"]


def test_limits_are_the_candidates_fault():
    facts = grade_calls("def add(a, b):\n    while True: pass\n", limits=Limits(wall=1.0))

    assert not facts.completed
    assert not facts.passed
    assert facts.outcome is not None
    assert facts.outcome.enforced_by


def test_a_breach_is_a_protocol_fault():
    code = (
        "import os, stat\n"
        "def add(a, b):\n"
        "    for fd in range(3, 64):\n"
        "        try:\n"
        "            if stat.S_ISSOCK(os.fstat(fd).st_mode):\n"
        "                os.write(fd, b'\\xff\\xff\\xff\\xff')\n"
        "        except OSError:\n"
        "            pass\n"
        "    return a + b\n"
    )
    facts = grade_calls(code)

    assert facts.reasons == {Reason.PROTOCOL_FAULT}
    assert not facts.passed
    assert {test.outcome for test in facts.tests} <= {TestOutcome.FAILED, TestOutcome.MISSING}

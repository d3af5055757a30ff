"""Case files and generators: every rule, and the same inputs from the same seed everywhere."""

from __future__ import annotations

import json
import random
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from assay_graders.calls.cases import Case, Raises, Tolerance, read_cases
from assay_graders.calls.document import DataFault
from assay_graders.calls.functions import Function
from assay_graders.calls.generate import read_generator
from assay_graders.calls.running import groups_of
from assay_graders.wire.values import Codec

CODEC = Codec()


def read(*cases: Any, **changes: Any) -> tuple[Case, ...]:
    return read_cases(json.dumps({"schema": 1, "cases": cases, **changes}).encode(), CODEC)


def one(**changes: Any) -> Case:
    (case,) = read({"id": "a", "call": "m:f", **changes})
    return case


def test_values_have_the_written_form_of_the_wire():
    case = one(
        args=[{"t": [1, [2]]}, {"d": [["k", {"b": "AP8="}]]}, 10**30],
        kwargs={"day": {"date": [2026, 1, 31]}},
        expect={"decimal": ["1.10"]},
    )

    assert case.args == [(1, [2]), {"k": b"\0\xff"}, 10**30]
    assert case.kwargs == {"day": date(2026, 1, 31)}
    assert case.expect == (Decimal("1.10"),)


def test_an_expected_none_is_a_demand():
    assert one(expect=None).expect == (None,)
    assert one(property="p.py:f").expect == ()


def test_the_forms_of_demands():
    assert one(raises="ValueError").raises == Raises("ValueError")
    assert one(raises={"type": "m.n:E", "message": ""}).raises == Raises("m.n:E", "")
    assert one(property="a/b.py:f").property == Function("a/b.py", "f")
    assert one(expect=1.0, tolerance={"abs": 1}).tolerance == Tolerance(abs=1.0)
    assert one(args=[[1]], expect=0, after={"args": [[]]}).after == ([[]], {})
    assert one(args=[1], reference="r.py:f", after=True).compare_after


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({}, "exactly one of"),
        ({"expect": 1, "property": "p.py:f"}, "exactly one of"),
        ({"expect": {"a": 1, "b": 2}}, r"cases\[0\]\.expect: an object in a value"),
        ({"expect": {"ref": 1}}, "reference where only plain"),
        ({"expect": {"f": "nan"}}, "not a number"),
        ({"expect": {"t": 1}}, "not a list"),
        ({"expect": 1, "args": {}}, r"args: must be a list"),
        ({"expect": 1, "kwargs": []}, "named arguments"),
        ({"expect": 1, "call": "f"}, "call: is not written"),
        ({"expect": 1, "call": "m:f()"}, "call: is not written"),
        ({"expect": 1, "call": "../m:f"}, "call: is not written"),
        ({"expect": 1, "id": "a\nb"}, "id: is not written"),
        ({"expect": 1, "id": ""}, "must be text"),
        ({"expect": 1, "id": 7}, "must be text"),
        ({"raises": "a b"}, "raises.type: is not written"),
        ({"raises": {"message": "x"}}, "type is missing"),
        ({"property": "p.py"}, "file.py:name"),
        ({"property": "../p.py:f"}, "file.py:name"),
        ({"property": "random.py:f"}, "name of a module of Python"),
        ({"expect": 1, "tolerance": {}}, "needs abs or rel"),
        ({"expect": 1, "tolerance": {"abs": -1}}, "above 0"),
        ({"expect": 1, "tolerance": {"abs": True}}, "above 0"),
        ({"raises": "E", "tolerance": {"abs": 1}}, "nothing that tolerance applies to"),
        ({"expect": 1, "after": {}}, "needs args or kwargs"),
        ({"expect": 1, "after": True}, "must be an object"),
        ({"expect": 1, "await": 1}, "true or false"),
        ({"reference": "r.py:f", "after": 1}, "true or false"),
        ({"reference": "r.py:f", "after": {"args": []}}, "true or false"),
        ({"expect": 1, "generate": {"count": 1}}, "need a reference or a property"),
        ({"reference": "r.py:f", "args": [], "generate": {"count": 1}}, "takes the place"),
        ({"property": "r.py:f", "after": {"args": []}, "generate": {"count": 1}}, "needs a ref"),
        ({"expect": 1, "expected": 1}, "unknown key"),
    ],
)
def test_a_case_that_breaks_a_rule_is_refused(changes: dict[str, Any], rule: str):
    with pytest.raises(DataFault, match=rule):
        one(**changes)


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "not JSON"),
        (b"[]", "must be an object"),
        (b'{"schema": 1, "schema": 1, "cases": []}', "a key twice"),
        (b'{"schema": 1, "cases": [NaN]}', "a number that JSON"),
        (b'{"schema": true, "cases": []}', "must be 1"),
        (b'{"schema": 1, "cases": []}', "is empty"),
        (b'{"schema": 1, "cases": {}}', "must be a list"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_file_that_breaks_a_rule_is_refused(data: bytes, rule: str):
    with pytest.raises(DataFault, match=rule):
        read_cases(data, CODEC)


STRATEGIES = [
    {"integer": {"min": -5, "max": 5}},
    {"float": {"min": 0, "max": 1}},
    {"boolean": {}},
    {"text": {"alphabet": "ab", "min": 1, "max": 3}},
    {"bytes": {"max": 3}},
    {"list": {"of": {"integer": {"min": 0, "max": 1}}, "max": 3}},
    {"tuple": [{"boolean": {}}, {"text": {}}]},
    {"dict": {"keys": {"text": {"max": 2}}, "values": {"boolean": {}}, "max": 3}},
    {"one_of": [{"boolean": {}}, {"sampled": [None]}]},
    {"sampled": [{"t": []}, 7]},
]
KINDS: list[Any] = [
    int,
    float,
    bool,
    str,
    bytes,
    list,
    tuple,
    dict,
    (bool, type(None)),
    (tuple, int),
]


def test_every_strategy_draws_its_kind_within_its_bounds():
    generator = read_generator({"count": 5, "args": STRATEGIES}, "g", CODEC)

    for seed in range(50):
        args, kwargs = generator.draw(random.Random(seed))
        assert kwargs == {}
        assert all(isinstance(arg, kind) for arg, kind in zip(args, KINDS, strict=True))
        assert -5 <= args[0] <= 5
        assert 0 <= args[1] <= 1
        assert set(args[3]) <= {"a", "b"}
        assert 1 <= len(args[3]) <= 3
        assert len(args[5]) <= 3
        CODEC.dumps(args)


def test_the_same_seed_gives_the_same_inputs():
    generator = read_generator({"count": 1, "args": STRATEGIES}, "g", CODEC)
    first = generator.draw(random.Random("0:sums"))

    assert generator.draw(random.Random("0:sums")) == first
    assert generator.draw(random.Random("1:sums")) != first
    # Recorded: a verdict must not depend on the host or on the version of Python.
    integers = read_generator({"count": 1, "args": STRATEGIES[:1] * 5}, "g", CODEC)
    assert integers.draw(random.Random("0:sums"))[0] == [1, -5, -1, -1, 3]


@pytest.mark.parametrize(
    ("generator", "rule"),
    [
        ({}, "count is missing"),
        ({"count": 0}, "whole number"),
        ({"count": 1, "args": [{"nope": {}}]}, "unknown kind of value; known: boolean"),
        ({"count": 1, "args": [1]}, "one key, the kind"),
        ({"count": 1, "args": [{"integer": {"min": 2, "max": 1}}]}, "whole number"),
        ({"count": 1, "args": [{"float": {"min": 2, "max": 1}}]}, "below min"),
        ({"count": 1, "args": [{"float": {"min": "0", "max": 1}}]}, "must be a number"),
        ({"count": 1, "args": [{"sampled": []}]}, "is empty"),
        ({"count": 1, "args": [{"one_of": []}]}, "is empty"),
        ({"count": 1, "args": [{"text": {"alphabet": ""}}]}, "must be text"),
        ({"count": 1, "kwargs": []}, "object of strategies"),
        ({"count": 1, "args": [], "function": "f.py:g"}, "takes the place"),
    ],
)
def test_a_generator_that_breaks_a_rule_is_refused(generator: dict[str, Any], rule: str):
    with pytest.raises(DataFault, match=rule):
        read_generator(generator, "g", CODEC)


def test_strategies_are_not_nested_without_end():
    item: Any = {"boolean": {}}
    for _ in range(20):
        item = {"list": {"of": item}}

    with pytest.raises(DataFault, match="too deep"):
        read_generator({"count": 1, "args": [item]}, "g", CODEC)


def test_groups_and_their_order_come_from_the_seed():
    cases = [Case(str(n), "m:f", group="ab"[n % 2], expect=(1,)) for n in range(8)]
    single = groups_of(cases, "7", by_group=False)
    grouped = groups_of(cases, "7", by_group=True)

    assert sorted(len(group) for group in single) == [1] * 8
    assert sorted(len(group) for group in grouped) == [4, 4]
    assert all(len({case.group for case in group}) == 1 for group in grouped)
    assert grouped == groups_of(cases, "7", by_group=True)
    assert {str(groups_of(cases, str(seed), by_group=True)) for seed in range(9)} != {str(grouped)}

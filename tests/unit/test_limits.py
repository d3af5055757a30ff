"""Limits that follow a reference run: what is legal, what follows from what was measured."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.suites import encoded, task_document

from assay.api import Limits, ManifestError, Task
from assay.api.tasks import LimitScale
from assay.limits import FLOORS, derived_limits
from assay.manifests import parse_task
from assay.revisions import task_digest
from assay.revisions import task_document as canonical

MIB = 1024**2


def parse(**limits: Any) -> Task:
    return parse_task(encoded(task_document(limits=limits)))


def test_a_scale_leaves_the_defaults_and_what_is_said_as_the_most() -> None:
    task = parse(scale="gold", factor=3, wall=60)
    assert task.scale == LimitScale(3.0)
    assert task.limits == Limits(wall=60.0)


@pytest.mark.parametrize("absent", [{}, {"scale": None}, {"scale": None, "factor": None}])
def test_without_a_scale_nothing_changes(absent: dict[str, Any]) -> None:
    task = parse(wall=3, **absent)
    assert (task.scale, task.limits) == (None, Limits(wall=3.0))
    assert task_digest(task, None) == task_digest(parse(wall=3), None)
    assert canonical(task)["limits"] == attrs.asdict(Limits(wall=3.0))


def test_scale_and_factor_are_part_of_the_revision() -> None:
    digests = {
        task_digest(parse(**limits), None)
        for limits in ({}, {"scale": "gold", "factor": 2}, {"scale": "gold", "factor": 3})
    }
    assert len(digests) == 3
    task = parse(scale="gold", factor=2, wall=60)
    assert parse_task(encoded(canonical(task))) == task


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ({"scale": "gold"}, "limits.factor: is required beside scale"),
        ({"factor": 2}, "limits.factor: means nothing without scale"),
        ({"scale": "silver", "factor": 2}, "limits.scale: must be gold"),
        ({"scale": True, "factor": 2}, "limits.scale: must be text"),
        ({"scale": "gold", "factor": "2"}, "limits.factor: must be a number"),
        ({"scale": "gold", "factor": 0.5}, "limits.factor: must be between 1 and 1000"),
        ({"scale": "gold", "factor": 2, "wall": 1}, "limits.wall: must be at least 2 beside scale"),
        (
            {"scale": "gold", "factor": 2, "memory": 200 * MIB},
            "limits.memory: must be at least 268435456 beside scale",
        ),
        ({"scale": "gold", "factor": 2, "wall": 1e9}, "limits.wall: must be more than 0 and"),
    ],
)
def test_what_is_refused_says_where_and_why(limits: dict[str, Any], problem: str) -> None:
    with pytest.raises(ManifestError) as caught:
        parse(**limits)
    assert f"task.json: {problem}" in str(caught.value)


def test_what_was_measured_times_the_factor_rounded_up() -> None:
    measured = {
        "wall": 1.2345,
        "cpu": 1.2,
        "memory": 150.5 * MIB,
        "processes": 15,
        "output": 50_000,
    }
    assert derived_limits(Limits(), 3.0, measured) == Limits(
        wall=3.8, cpu=4, memory=452 * MIB, processes=45, output=150_000
    )


def test_what_was_not_measured_stays() -> None:
    assert derived_limits(Limits(), 2.0, {}) == Limits()
    assert derived_limits(Limits(), 2.0, {"processes": 0, "wall": 3}) == Limits(wall=6.0)


AMOUNTS = st.dictionaries(st.sampled_from(sorted(FLOORS)), st.floats(0, 1e13))


@given(AMOUNTS, st.floats(1, 1000), st.integers(256, 4096), st.floats(2, 86_400))
def test_never_below_a_floor_and_never_above_the_most(
    measured: dict[str, float], factor: float, mebibytes: int, wall: float
) -> None:
    most = Limits(wall=wall, memory=mebibytes * MIB)
    limits = derived_limits(most, factor, measured)
    for name, value in attrs.asdict(limits).items():
        assert type(value) is type(getattr(most, name))
        assert FLOORS.get(name, 0) <= value <= getattr(most, name)
        if name in measured and measured[name] <= getattr(most, name):
            assert value >= measured[name] * (1 - 1e-9)

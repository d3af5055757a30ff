"""Limits in a manifest: what a task may ask for, and limits that follow a reference run.

A slow machine must not change a verdict. So a task may have its limits derived from what its own
gold candidates take on the same host: that much times a factor, never below a floor that any
interpreter needs to start, never above what the task says, or else the defaults.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs
from attrs import evolve, frozen

from assay.api.jail import Limits
from assay.api.tasks import LimitScale
from assay.structuring import FieldError

__all__ = ["FLOORS", "LimitsDocument", "check_limits", "check_scale", "derived_limits"]

MIB = 1024**2
_GOLD = "gold"
_LEAST_FACTOR, _MOST_FACTOR = 1.0, 1000.0
_MOST = Limits(
    wall=86_400.0,
    cpu=86_400,
    memory=1024**4,
    address_space=16 * 1024**4,
    processes=32_768,
    file_size=1024**4,
    open_files=65_536,
    output=1024**3,
    tmp=1024**4,
)
"""The largest limits that a task may ask for."""

FLOORS: Mapping[str, int] = {
    "wall": 2,
    "cpu": 2,
    "memory": 256 * MIB,
    "processes": 32,
    "output": 64 * 1024,
}
"""The limits that are scaled, and the least that each becomes."""

_STEPS: Mapping[str, float] = {"wall": 0.1, "memory": MIB}
"""To what a scaled limit is rounded up; whole numbers where nothing is said."""


@frozen
class LimitsDocument(Limits):
    """`limits` as they stand in a manifest."""

    scale: str | None = None
    factor: float | None = None


def check_limits(document: LimitsDocument) -> Limits:
    """Limits that are positive and not absurd; `address_space` 0 means no bound.

    With a scale they are the most that it may give, so they leave room for its floors.
    """
    limits = Limits(**{name: getattr(document, name) for name in attrs.fields_dict(Limits)})
    for name, value in attrs.asdict(limits).items():
        if name == "address_space" and value == 0:
            continue
        most = getattr(_MOST, name)
        if not 0 < value <= most:
            raise FieldError(f"must be more than 0 and at most {most:.0f}", (name,))
        if document.scale is not None and value < FLOORS.get(name, 0):
            raise FieldError(f"must be at least {FLOORS[name]} beside scale", (name,))
    return limits


def check_scale(document: LimitsDocument) -> LimitScale | None:
    """By what limits are scaled, if they are."""
    if document.scale is None:
        if document.factor is not None:
            raise FieldError("means nothing without scale", ("factor",))
        return None
    if document.scale != _GOLD:
        raise FieldError(f"must be {_GOLD}", ("scale",))
    if document.factor is None:
        raise FieldError("is required beside scale", ("factor",))
    if not _LEAST_FACTOR <= document.factor <= _MOST_FACTOR:
        rule = f"must be between {_LEAST_FACTOR:.0f} and {_MOST_FACTOR:.0f}"
        raise FieldError(rule, ("factor",))
    return LimitScale(document.factor)


def derived_limits(most: Limits, factor: float, measured: Mapping[str, float]) -> Limits:
    """The limits that follow from what was measured, by the names of `FLOORS`.

    What was not measured, or is not scaled at all, stays as it is in `most`.
    """
    scaled = {
        name: _scaled(name, measured[name] * factor, getattr(most, name))
        for name in FLOORS
        if measured.get(name)
    }
    return evolve(most, **scaled)


def _scaled(name: str, wanted: float, most: float) -> Any:
    step = _STEPS.get(name, 1)
    rounded = math.ceil(max(wanted, FLOORS[name]) / step) * step
    return min(round(rounded, 1), most) if name == "wall" else int(min(rounded, most))

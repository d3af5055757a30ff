"""Whether an answer is what a case demands: exact types, exact values, nothing delegated.

Both sides are plain values by now: exactly the known types, decoded by the strict codec. Their
own `==` is never asked for a container, because it calls 1, 1.0 and True the same.
"""

from __future__ import annotations

import math
from typing import Any

from assay_graders.calls.cases import Raises, Tolerance
from assay_graders.calls.conversation import Answer, AnswerKind
from assay_graders.wire import stdlib

__all__ = ["EXACT", "matches", "raised", "shown"]

EXACT = Tolerance()
_SHOWN = 2_000


def matches(expected: Any, found: Any, tolerance: Tolerance = EXACT) -> bool:
    """Equal in type and value at every depth; floats within the tolerance.

    -0.0 is not 0.0, a NaN equals a NaN where a task allows them at all, and sets and the keys
    of dicts are compared exactly, in any order.
    """
    if type(expected) is not type(found):
        return False
    if type(expected) is float:
        return _same_float(expected, found) or _near(expected, found, tolerance)
    if isinstance(expected, list | tuple):
        return len(expected) == len(found) and all(
            matches(one, other, tolerance) for one, other in zip(expected, found, strict=True)
        )
    if type(expected) is dict:
        keys = {_canonical(key): item for key, item in found.items()}
        return len(expected) == len(found) and all(
            (name := _canonical(key)) in keys and matches(item, keys[name], tolerance)
            for key, item in expected.items()
        )
    if isinstance(expected, set | frozenset):
        return {_canonical(item) for item in expected} == {_canonical(item) for item in found}
    known = stdlib.of(type(expected))
    if known is None:
        return bool(expected == found)
    if known.tag == "odict":
        return matches(list(expected.items()), list(found.items()), tolerance)
    return matches(known.parts(expected), known.parts(found), tolerance)


def _same_float(one: float, other: float) -> bool:
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return one == other and math.copysign(1, one) == math.copysign(1, other)


def _near(expected: float, found: float, tolerance: Tolerance) -> bool:
    bound = max(tolerance.abs, tolerance.rel * abs(expected))
    if not bound or not (math.isfinite(expected) and math.isfinite(found)):
        return False
    return abs(expected - found) <= bound


def _canonical(value: Any) -> Any:
    """A stand-in that is equal for exactly the same values, of a hashable value."""
    kind = type(value)
    if kind is float:
        return float, "nan" if math.isnan(value) else value.hex()
    if kind is tuple:
        return tuple, tuple(_canonical(item) for item in value)
    if kind is frozenset:
        return frozenset, frozenset(_canonical(item) for item in value)
    known = stdlib.of(kind)
    if known is None:
        return kind, value
    parts = known.parts(value)
    return kind, value if parts is None else tuple(_canonical(part) for part in parts)


def raised(demand: Raises, answer: Answer) -> bool:
    """Whether the call raised what is demanded."""
    return (
        answer.kind is AnswerKind.RAISED
        and demand.type in answer.classes
        and demand.message in (None, answer.text)
    )


def shown(value: Any) -> str:
    """A value for the owner's eyes, cut; some values can't be written out at all."""
    try:
        text = repr(value)
    except (ValueError, RecursionError, MemoryError):
        return f"a {type(value).__name__} that is too long to write out"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} [cut]"

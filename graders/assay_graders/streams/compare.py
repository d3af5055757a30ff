"""Whether a program's output is what it must be: bytes against bytes.

`exact` compares every byte. `whitespace` compares the words of each line, however many spaces are
around them, and forgives empty lines at the end, so that no program fails for a last line feed.
With a tolerance the words are compared one by one, and two that are written as decimal numbers
may be apart. Bytes stay bytes: output that is not text is never repaired.
"""

from __future__ import annotations

import math
import re

from assay_graders.calls.cases import Tolerance
from assay_graders.streams.cases import Comparison

__all__ = ["same_output"]

# No NaN, no infinity, no underscores: float() itself would take them.
_NUMBER = re.compile(
    rb"[+-]?(?:[0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?"
)


def same_output(expected: bytes, found: bytes, compare: Comparison) -> bool:
    """Whether output is what it must be; for comparisons that need no checker."""
    if compare.tolerance is not None:
        return _near(expected.split(), found.split(), compare.tolerance)
    if compare.word == "whitespace":
        return _lines(expected) == _lines(found)
    return expected == found


def _lines(output: bytes) -> list[list[bytes]]:
    lines = [line.split() for line in output.split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _near(expected: list[bytes], found: list[bytes], tolerance: Tolerance) -> bool:
    return len(expected) == len(found) and all(
        one == other or _near_numbers(one, other, tolerance)
        for one, other in zip(expected, found, strict=True)
    )


def _near_numbers(expected: bytes, found: bytes, tolerance: Tolerance) -> bool:
    if _NUMBER.fullmatch(expected) is None or _NUMBER.fullmatch(found) is None:
        return False
    demanded, given = float(expected), float(found)
    if not (math.isfinite(demanded) and math.isfinite(given)):
        return False
    return abs(demanded - given) <= max(tolerance.abs, tolerance.rel * abs(demanded))

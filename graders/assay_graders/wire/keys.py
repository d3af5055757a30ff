"""What may be the key of a dict or an element of a set."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from .faults import WireFault

__all__ = ["hashable", "require_spread"]

_MAX_COLLIDING = 64


def hashable(value: Any) -> Hashable:
    try:
        hash(value)
    except Exception:
        raise WireFault("a key or element is not hashable") from None
    return value  # type: ignore[no-any-return]


def require_spread(keys: list[Hashable]) -> None:
    """Refuse keys that were chosen to collide: putting n of them together takes n * n steps."""
    if len(keys) <= _MAX_COLLIDING:
        return
    counts: dict[int, int] = {}
    for key in keys:
        found = hash(key)
        counts[found] = counts.get(found, 0) + 1
    if max(counts.values()) > _MAX_COLLIDING:
        raise WireFault("too many keys or elements share one hash")

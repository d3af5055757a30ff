"""How comparisons with the candidate's objects are decided: here, on what they hold.

The candidate may only object to an equality that was found here. Between two of its objects
both sides are its own word, so that is done on request only, and marked.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .bound import exchange, refused
from .described import CONTENTS, MUTABLE_CONTENTS
from .stand_ins import StandIn, stand_in_of
from .structure import is_same, is_stateless

__all__ = ["SELF_COMPARED", "TYPES", "contains", "equal", "hash_of", "not_equal", "ordered"]

TYPES = {kind.__name__: kind for kind in (*CONTENTS, *MUTABLE_CONTENTS)}
SELF_COMPARED = 6
"""The level that comparing two objects of the candidate's needs."""

_ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    f"__{name}__": getattr(operator, name) for name in ("lt", "le", "gt", "ge")
}


def equal(self: Any, other: Any) -> Any:
    """Equal by what both hold, and not objected to."""
    stand_in = stand_in_of(type(self))
    if exchange().known.is_candidates(other):
        return _equal_to_candidates(self, other, stand_in)
    adapted = exchange().adapters.key_of(self)
    if adapted is not None:
        # Decided by the key alone where it differs: asking would tell what is expected.
        return bool(adapted[0] == other) and _agreed(self, other, stand_in)
    content = TYPES.get(stand_in.content)
    if content is None:
        if stand_in.compared_by == "object":
            return NotImplemented
        raise refused("equality")
    if content in CONTENTS and not isinstance(self, content):
        raise refused("equality")
    own = self if content in CONTENTS else exchange().ask("content", self)
    compare: Any = content.__eq__
    found = compare(own, other)
    if stand_in.compared_by != "own":
        exchange().client.noted.is_anchored |= found is True
        return found
    if found is not True:
        raise refused("equality")
    return _agreed(self, other, stand_in)


def _agreed(self: Any, other: Any, stand_in: StandIn) -> bool:
    """What was found equal here, unless the candidate's own `==` says otherwise."""
    if stand_in.compared_by == "own" and exchange().ask("eq", self, other) is not True:
        raise refused("equality-disagrees")
    exchange().client.noted.is_anchored = True
    return True


def _equal_to_candidates(self: Any, other: Any, stand_in: StandIn) -> bool:
    _require_self_compared()
    if self is other:
        found = True
    elif stand_in.compared_by == "object":
        found = False
    else:
        found = _same(self, other)
    if stand_in.compared_by == "own" and (exchange().ask("eq", self, other) is True) != found:
        raise refused("equality-disagrees")
    exchange().client.noted.is_anchored |= not found
    return found


def _same(self: Any, other: Any) -> bool:
    adapted = exchange().adapters.key_of(self), exchange().adapters.key_of(other)
    if adapted[0] is not None and adapted[1] is not None:
        return bool(adapted[0][0] == adapted[1][0])
    if is_stateless(self) and is_stateless(other):
        raise refused("equality-empty")
    return is_same(self, other)


def _require_self_compared() -> None:
    client = exchange().client
    if client.max_level < SELF_COMPARED or not client.is_in_test:
        raise refused("self-compare")
    client.uses("self-compared")


def not_equal(self: Any, other: Any) -> Any:
    """The opposite of `equal`."""
    found = equal(self, other)
    return found if found is NotImplemented else not found


def ordered(name: str) -> Callable[[Any, Any], Any]:
    """An order by the keys of the task's adapters; without one it is refused."""
    compare = _ORDERS[name]

    def decide(self: Any, other: Any) -> Any:
        adapters = exchange().adapters
        adapted = adapters.key_of(self)
        if adapted is None:
            raise refused("order")
        if not exchange().known.is_candidates(other):
            return compare(adapted[0], other)
        others = adapters.key_of(other)
        if others is None:
            raise refused("order")
        _require_self_compared()
        return compare(adapted[0], others[0])

    return decide


def hash_of(stand_in: StandIn) -> Any:
    """`__hash__` of a class: by the task's key, by the candidate, by content, or by identity."""
    if stand_in.hashed_by == "none":
        return None
    content = TYPES.get(stand_in.content)
    plain: Any = object.__hash__ if content is None else content.__hash__

    def decide(self: Any) -> Any:
        adapted = exchange().adapters.key_of(self)
        if adapted is not None:
            return hash(adapted[0])
        return exchange().ask("hash", self) if stand_in.hashed_by == "own" else plain(self)

    return decide


def contains(self: Any, item: Any) -> bool:
    """Found by looking at each element here; a class with an `in` of its own has to agree."""
    adapted = exchange().adapters.key_of(self)
    if adapted is not None:
        return item in adapted[0]
    stand_in = stand_in_of(type(self))
    if "__iter__" not in stand_in.specials:
        raise refused("contains")
    found = any(element is item or element == item for element in self)
    if stand_in.contains_by == "own":
        if not found:
            raise refused("contains")
        if exchange().ask("contains", self, item) is not True:
            raise refused("contains-disagrees")
    return found

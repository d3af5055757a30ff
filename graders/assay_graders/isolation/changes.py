"""Containers that crossed the wire and may change: arguments written back, results watched.

A result is a copy, so what a test changes in it can't be seen where it came from: a check
that "the original did not change" would pass whatever the candidate does.
"""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

__all__ = ["Watched", "write_back"]

_SIMPLE = (list, dict, set, bytearray)
_CHANGEABLE = (*_SIMPLE, deque, OrderedDict, Counter, defaultdict)
_WATCHED_AT_MOST = 100_000


class Watched:
    """Results of one test, each with a digest of what it held when it arrived."""

    def __init__(self, written: Callable[[Any], bytes]) -> None:
        self._written = written
        self._results: list[tuple[Any, bytes]] = []

    def add(self, value: Any) -> None:
        """Watch a result if it can change at all."""
        if _can_change(value) and len(self._results) < _WATCHED_AT_MOST:
            self._results.append((value, self._digest(value)))

    def changed(self) -> bool:
        """Whether the test changed a result; they are forgotten."""
        results, self._results = self._results, []
        return any(self._digest(value) != before for value, before in results)

    def _digest(self, value: Any) -> bytes:
        return hashlib.blake2b(self._written(value), digest_size=16).digest()


def _can_change(value: Any) -> bool:
    if type(value) in _CHANGEABLE:
        return True
    return type(value) is tuple and any(map(_can_change, value))


def write_back(before: Any, after: Any) -> bool:
    """Give a container the content of another one; False when they are of different types.

    Inner containers that are still in their place stay the same objects.
    """
    kind = type(before)
    if kind is not type(after) or kind not in _SIMPLE:
        return False
    if kind is list:
        before[:] = [
            _merged(before[at], new) if at < len(before) else new for at, new in enumerate(after)
        ]
    elif kind is dict:
        fresh = {
            key: _merged(before[key], new) if key in before else new for key, new in after.items()
        }
        before.clear()
        before.update(fresh)
    elif kind is set:
        before.clear()
        before.update(after)
    else:
        before[:] = after
    return True


def _merged(old: Any, new: Any) -> Any:
    return old if write_back(old, new) else new

"""Containers that crossed the wire and may change.

Both are copies, so what a test changes in one can't be seen on the other side: a check that
"the original did not change" would pass whatever the candidate does.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Watched"]

_CHANGEABLE = (list, dict, set, bytearray, deque, OrderedDict, Counter, defaultdict)
_NEVER_CHANGE = frozenset({int, str, float, bool, bytes, type(None)})
_WATCHED_AT_MOST = 100_000


class Watched:
    """Containers of one test that crossed the wire, each with a digest of what it held then."""

    def __init__(self, written: Callable[[Any], bytes]) -> None:
        self._written = written
        self._results: dict[int, tuple[Any, bytes]] = {}
        self._arguments: dict[int, tuple[Any, bytes]] = {}
        self._is_argument_changed = False

    def add_result(self, value: Any) -> None:
        """Watch what the candidate returned, if it can change at all."""
        self._add(self._results, value)

    def add_argument(self, value: Any) -> None:
        """Watch what was handed to the candidate, who may keep it."""
        if type(value) in _NEVER_CHANGE:
            return
        if id(value) in self._arguments:
            self._is_argument_changed |= self._differs(*self._arguments[id(value)])
        self._add(self._arguments, value)

    @contextlib.contextmanager
    def taking_over(self) -> Iterator[None]:
        """While arguments change because the candidate changed them."""
        self._is_argument_changed |= any(self._differs(*kept) for kept in self._arguments.values())
        yield
        for value, _ in list(self._arguments.values()):
            self._add(self._arguments, value)

    def end(self) -> tuple[bool, bool]:
        """Whether the test changed a result, and whether an argument; they are forgotten."""
        results, self._results = self._results, {}
        arguments, self._arguments = self._arguments, {}
        is_changed, self._is_argument_changed = self._is_argument_changed, False
        return (
            any(self._differs(*kept) for kept in results.values()),
            is_changed or any(self._differs(*kept) for kept in arguments.values()),
        )

    def _add(self, kept: dict[int, tuple[Any, bytes]], value: Any) -> None:
        if type(value) not in _NEVER_CHANGE and _can_change(value) and len(kept) < _WATCHED_AT_MOST:
            kept[id(value)] = value, self._digest(value)

    def _differs(self, value: Any, before: bytes) -> bool:
        return self._digest(value) != before

    def _digest(self, value: Any) -> bytes:
        return hashlib.blake2b(self._written(value), digest_size=16).digest()


def _can_change(value: Any) -> bool:
    if type(value) in _CHANGEABLE:
        return True
    return type(value) is tuple and any(map(_can_change, value))

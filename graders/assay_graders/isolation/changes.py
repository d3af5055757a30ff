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
    """Containers that crossed the wire, each with a digest of what it held then.

    Those of a test are forgotten at its end; those of a fixture or a module outlast it.
    """

    def __init__(self, written: Callable[[Any], bytes]) -> None:
        self._written = written
        self._results = _Kept(self._digest)
        self._arguments = _Kept(self._digest)
        self._lasting_results = _Kept(self._digest)
        self._lasting_arguments = _Kept(self._digest)
        self._is_argument_changed = False

    def add_result(self, value: Any) -> None:
        """Watch what the candidate returned, if it can change at all."""
        self._results.add(value)

    def add_argument(self, value: Any) -> None:
        """Watch what was handed to the candidate, who may keep it."""
        if type(value) in _NEVER_CHANGE:
            return
        for kept in (self._arguments, self._lasting_arguments):
            self._is_argument_changed |= kept.has_changed(value)
        self._arguments.add(value)

    @contextlib.contextmanager
    def taking_over(self) -> Iterator[None]:
        """While arguments change because the candidate changed them."""
        both = (self._arguments, self._lasting_arguments)
        for kept in both:
            self._is_argument_changed |= kept.changed()
        try:
            yield
        finally:
            # Also where it was broken off: what changed is not the test's doing.
            for kept in both:
                kept.changed()

    def outlast(self) -> None:
        """More than one test has what crossed until now: watch it from test to test."""
        self._lasting_results.take(self._results)
        self._lasting_arguments.take(self._arguments)

    def end(self) -> tuple[bool, bool]:
        """Whether the test changed a result, and whether an argument."""
        results = [kept.changed() for kept in (self._results, self._lasting_results)]
        arguments = [kept.changed() for kept in (self._arguments, self._lasting_arguments)]
        is_changed, self._is_argument_changed = self._is_argument_changed, False
        self._results.clear()
        self._arguments.clear()
        return any(results), is_changed or any(arguments)

    def _digest(self, value: Any) -> bytes:
        return hashlib.blake2b(self._written(value), digest_size=16).digest()


class _Kept:
    """Containers by identity, which holds as long as they are kept."""

    def __init__(self, digest: Callable[[Any], bytes]) -> None:
        self._digest = digest
        self._values: dict[int, tuple[Any, bytes]] = {}

    def add(self, value: Any) -> None:
        """Keep a value that can change, as it is now."""
        if type(value) in _NEVER_CHANGE or not _can_change(value):
            return
        if len(self._values) < _WATCHED_AT_MOST:
            self._values[id(value)] = value, self._digest(value)

    def take(self, other: _Kept) -> None:
        """Keep what another one has, as it was there; the other one forgets it."""
        self._values |= other._values
        other.clear()

    def has_changed(self, value: Any) -> bool:
        """Whether a value is kept and has changed since."""
        kept = self._values.get(id(value))
        return kept is not None and self._digest(value) != kept[1]

    def changed(self) -> bool:
        """Whether any value has changed since the last time; it is kept as it is now."""
        now = {key: (value, self._digest(value)) for key, (value, _) in self._values.items()}
        is_changed = any(now[key][1] != before for key, (_, before) in self._values.items())
        self._values = now
        return is_changed

    def clear(self) -> None:
        """Forget everything."""
        self._values = {}


def _can_change(value: Any) -> bool:
    if type(value) in _CHANGEABLE:
        return True
    return type(value) is tuple and any(map(_can_change, value))

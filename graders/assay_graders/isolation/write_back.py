"""One container takes over the content of another, and stays the same object."""

from __future__ import annotations

from typing import Any

__all__ = ["write_back"]

_SIMPLE = (list, dict, set, bytearray)


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

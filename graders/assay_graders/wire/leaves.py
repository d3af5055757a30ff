"""Single values in their written forms."""

from __future__ import annotations

import binascii
from collections.abc import Hashable
from typing import Any

from . import stdlib
from .faults import WireFault

__all__ = [
    "bytes_of",
    "hashable",
    "hex_of",
    "is_built_in",
    "is_unicode",
    "require_spread",
    "text_of",
    "type_of",
]

_MAX_COLLIDING = 64


def is_unicode(text: str) -> bool:
    """Whether text can be written in UTF-8."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def hex_of(text: str) -> str:
    """Text that can't, as hexadecimal."""
    return text.encode("utf-32-be", "surrogatepass").hex()


def text_of(payload: Any) -> str:
    """Text from its hexadecimal form; raises WireFault."""
    try:
        return bytes.fromhex(payload).decode("utf-32-be", "surrogatepass")
    except (TypeError, ValueError):
        raise WireFault("text is not written in hexadecimal") from None


def bytes_of(payload: Any) -> bytes:
    """Bytes from base 64; raises WireFault."""
    if type(payload) is not str:
        raise WireFault("bytes are not text in base 64")
    try:
        return binascii.a2b_base64(payload, strict_mode=True)
    except ValueError:
        raise WireFault("bytes are not text in base 64") from None


def hashable(value: Any) -> Hashable:
    """The value, if it can be a key; raises WireFault."""
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


def is_built_in(value: type) -> bool:
    """Whether a type is one of those that go by name."""
    return stdlib.BUILTIN_TYPES.get(value.__name__) is value


def type_of(payload: Any) -> type:
    """The built-in type of a name; raises WireFault."""
    found = stdlib.BUILTIN_TYPES.get(payload) if type(payload) is str else None
    if found is None:
        raise WireFault("a type that is not built in")
    return found

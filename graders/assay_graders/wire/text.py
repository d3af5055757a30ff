"""Strict JSON of the wire: a tree of lists, scalars and tags.

A tag is an object with exactly one key; in memory it is the tuple `(key, payload)`, which no
other JSON value becomes. Duplicate keys can't occur therefore, and neither can constants
that JSON does not have, numbers out of range or text that is not Unicode.
"""

from __future__ import annotations

import json.encoder
import math
from typing import Any, NoReturn

from .faults import WireFault

__all__ = ["MAX_SAFE_INTEGER", "pack", "unpack"]

MAX_SAFE_INTEGER = 2**53 - 1
_LONGEST_INTEGER = 17
_LONGEST_FLOAT = 32


def pack(tree: Any) -> bytes:
    """A tree as one frame's bytes, ASCII only; raises WireFault when it is no tree."""
    try:
        return "".join(_ENCODE(_objects(tree), 0)).encode("ascii")
    except (ValueError, TypeError, RecursionError):
        raise WireFault("a message is not a tree of the wire") from None


def unpack(frame: bytes) -> Any:
    """The tree in one frame's bytes; raises WireFault."""
    try:
        text = frame.decode("ascii")
        tree, end = _DECODE(text, 0)
    except WireFault:
        raise
    except (ValueError, StopIteration, RecursionError):
        raise WireFault("a frame is not JSON in ASCII") from None
    if end != len(text):
        raise WireFault("a frame holds more than one value")
    return tree


def _objects(tree: Any) -> Any:
    kind = type(tree)
    if kind is tuple:
        key, payload = tree
        return {key: _objects(payload)}
    if kind is list and not _SCALARS.issuperset(map(type, tree)):
        return [_objects(item) for item in tree]
    return tree


def _tag(pairs: list[tuple[str, Any]]) -> tuple[str, Any]:
    if len(pairs) != 1:
        raise WireFault("an object does not have exactly one key")
    return pairs[0]


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_INTEGER:
        raise WireFault("an integer is out of range")
    number = int(digits)
    if not -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER:
        raise WireFault("an integer is out of range")
    return number


def _float(digits: str) -> float:
    if len(digits) > _LONGEST_FLOAT:
        raise WireFault("a number is too long")
    number = float(digits)
    if not math.isfinite(number):
        raise WireFault("a number is out of range")
    return number


def _constant(_: str) -> NoReturn:
    raise WireFault("a number that JSON does not have")


_SCALARS = frozenset({int, str, bool, float, type(None)})
_LIBRARY: Any = json.encoder
# Made once: JSONEncoder.encode makes such an object for each call, and JSONDecoder.decode also
# takes white space around a value, which has no place here.
_ENCODE = _LIBRARY.c_make_encoder(
    None, None, _LIBRARY.encode_basestring_ascii, None, ":", ",", False, False, False
)
_DECODER: Any = json.JSONDecoder(
    object_pairs_hook=_tag,
    parse_int=_integer,
    parse_float=_float,
    parse_constant=_constant,
)
_DECODE = _DECODER.scan_once

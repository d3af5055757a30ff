"""Plain values as trees, and back: exact built-in types and the standard library's.

A value is plain when its type is exactly one of the known ones and all that it holds is
plain. Subclasses are never plain: what they are is the business of their own process.
Whatever is not plain is given to `refer`, and comes back through `resolve`.
"""

from __future__ import annotations

import binascii
import math
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from . import stdlib
from .faults import WireFault
from .leaves import (
    bytes_of,
    hashable,
    hex_of,
    is_built_in,
    is_unicode,
    require_spread,
    text_of,
    type_of,
)
from .text import MAX_SAFE_INTEGER, pack, unpack

__all__ = ["MAX_DEPTH", "MAX_INT_BITS", "MAX_NODES", "Codec"]

MAX_DEPTH = 64
MAX_NODES = 1_000_000
MAX_INT_BITS = 1 << 18

_SMALL = 1 << 52
_SHORT = 100
_OWN_VALUES = frozenset({int, bool, float, type(None)})
"""Types of trees that are the values themselves."""

REFERENCE = "ref"

Encode = Callable[[Any], Any]
Decode = Callable[[Any], Any]
Refer = Callable[[Any], Any]


class Codec:
    """Encodes and decodes within bounds; NaN is refused unless `nan`.

    One codec may be used again and again, also from within `refer` and `resolve`.
    """

    def __init__(
        self,
        *,
        nan: bool = False,
        max_depth: int = MAX_DEPTH,
        max_nodes: int = MAX_NODES,
        max_int_bits: int = MAX_INT_BITS,
    ) -> None:
        self.nan = nan
        self.max_depth = max_depth
        self.max_nodes = max_nodes
        self.max_int_bits = max_int_bits
        # How many parts a list of scalars may nearly have; none at all where no list may be.
        self._short = max_nodes if max_depth else 0

    def encode(self, value: Any, refer: Refer | None = None) -> Any:
        """The tree of a value.

        `refer` gives the payload of a reference to a value that is not plain; without it, and
        for what is too deep, too large or a NaN, WireFault is raised.
        """
        # Most values are small numbers and short texts, and most lists short ones of these.
        if _is_its_own_tree(value):
            return value
        if type(value) is list and len(value) < min(self._short, _SHORT):
            items = list(value)
            if all(map(_is_its_own_tree, items)):
                return items
        return _Encoder(self, refer)(value, 0)

    def decode(self, tree: Any, resolve: Refer | None = None) -> Any:
        """The value of a tree; `resolve` turns a reference's payload, any tree, into a value.

        Raises WireFault; then nothing of the tree was kept.
        """
        kind = type(tree)
        if kind in _OWN_VALUES or (kind is str and tree.isascii()):
            return tree
        if kind is list and len(tree) < self._short and _OWN_VALUES.issuperset(map(type, tree)):
            return list(tree)
        return _Decoder(self, resolve)(tree, 0)

    def dumps(self, value: Any) -> bytes:
        """A plain value as one frame's bytes; raises WireFault."""
        return pack(self.encode(value))

    def loads(self, frame: bytes) -> Any:
        """The plain value in one frame's bytes; raises WireFault."""
        return self.decode(unpack(frame))


class _Encoder:
    def __init__(self, codec: Codec, refer: Refer | None) -> None:
        self._codec = codec
        self._refer = refer
        self._left = codec.max_nodes

    def __call__(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise WireFault("a value has too many parts")
        if depth > self._codec.max_depth:
            raise WireFault("a value is too deep")
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return self._int(value)
        if kind is str:
            return value if is_unicode(value) else ("u", hex_of(value))
        if kind is float:
            return value if math.isfinite(value) else ("f", self._special(value))
        if kind is list:
            return [self(item, depth + 1) for item in value]
        return self._other(kind, value, depth + 1)

    def _int(self, value: int) -> Any:
        if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            return value
        if value.bit_length() > self._codec.max_int_bits:
            raise WireFault("an integer is too long")
        return ("i", f"{value:x}")

    def _special(self, value: float) -> str:
        if math.isnan(value) and not self._codec.nan:
            raise WireFault("a number is not a number")
        return repr(value)

    def _other(self, kind: type, value: Any, depth: int) -> Any:
        if kind is tuple:
            return ("t", [self(item, depth) for item in value])
        if kind is dict:
            return ("d", self._pairs(value.items(), depth))
        if kind is set or kind is frozenset:
            return (_SETS[kind], [self(item, depth) for item in value])
        if kind is bytes or kind is bytearray:
            return (_BYTES[kind], binascii.b2a_base64(value, newline=False).decode("ascii"))
        if kind is type and is_built_in(value):
            return ("type", value.__name__)
        known = stdlib.of(kind)
        if known is not None:
            if not self._codec.nan and stdlib.is_nan(value):
                raise WireFault("a number is not a number")
            parts = known.parts(value)
            if parts is not None:
                tree = self._known(parts, depth)
                if tree is not None:
                    return (known.tag, tree)
        if self._refer is None:
            raise WireFault("a value is not plain")
        return (REFERENCE, self._refer(value))

    def _known(self, parts: list[Any], depth: int) -> Any:
        """The parts' trees; None when one of them is not plain, so the whole is not."""
        refer, self._refer = self._refer, None
        try:
            return [self(part, depth) for part in parts]
        except WireFault:
            if refer is None:
                raise
            return None
        finally:
            self._refer = refer

    def _pairs(self, pairs: Iterable[tuple[Any, Any]], depth: int) -> list[Any]:
        return [[self(key, depth), self(value, depth)] for key, value in pairs]


class _Decoder:
    def __init__(self, codec: Codec, resolve: Refer | None) -> None:
        self._codec = codec
        self._resolve = resolve
        self._left = codec.max_nodes

    def __call__(self, tree: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise WireFault("a value has too many parts")
        if depth > self._codec.max_depth:
            raise WireFault("a value is too deep")
        kind = type(tree)
        if tree is None or kind is int or kind is bool or kind is float:
            return tree
        if kind is str:
            if not is_unicode(tree):
                raise WireFault("text is not Unicode")
            return tree
        if kind is list:
            return [self(item, depth + 1) for item in tree]
        if kind is tuple:
            return self._tagged(tree[0], tree[1], depth + 1)
        raise WireFault("a tree holds something else than JSON has")

    def _tagged(self, tag: str, payload: Any, depth: int) -> Any:
        if tag == REFERENCE:
            if self._resolve is None:
                raise WireFault("a reference where only plain values are allowed")
            return self._resolve(payload)
        decode = self._TAGS.get(tag)
        if decode is not None:
            return decode(self, payload, depth)
        known = stdlib.tagged(tag)
        if known is None:
            raise WireFault("an unknown tag")
        resolve, self._resolve = self._resolve, None
        try:
            parts = self._items(payload, depth)
        finally:
            self._resolve = resolve
        try:
            value = known.build(parts)
        except Exception:
            raise WireFault("a tag's content is not of its kind") from None
        if not self._codec.nan and stdlib.is_nan(value):
            raise WireFault("a number is not a number")
        return value

    def _items(self, payload: Any, depth: int) -> list[Any]:
        if type(payload) is not list:
            raise WireFault("a tag's content is not a list")
        return [self(item, depth) for item in payload]

    def _dict(self, payload: Any, depth: int) -> dict[Any, Any]:
        if type(payload) is not list:
            raise WireFault("a tag's content is not a list")
        pairs = []
        for pair in payload:
            if type(pair) is not list or len(pair) != 2:
                raise WireFault("a dict's entry is not a pair")
            pairs.append((hashable(self(pair[0], depth)), self(pair[1], depth)))
        require_spread([key for key, _ in pairs])
        found = dict(pairs)
        if len(found) != len(payload):
            raise WireFault("a dict has a key twice")
        return found

    def _set(self, kind: type, payload: Any, depth: int) -> Any:
        items = [hashable(item) for item in self._items(payload, depth)]
        require_spread(items)
        found = kind(items)
        if len(found) != len(items):
            raise WireFault("a set has an element twice")
        return found

    def _int(self, payload: Any) -> int:
        if type(payload) is not str or len(payload) > self._codec.max_int_bits // 4 + 2:
            raise WireFault("an integer is too long, or none")
        try:
            value = int(payload, 16)
        except ValueError:
            raise WireFault("an integer is none") from None
        if f"{value:x}" != payload or value.bit_length() > self._codec.max_int_bits:
            raise WireFault("an integer is too long, or written in another way")
        return value

    def _special(self, payload: Any) -> float:
        if payload not in ("inf", "-inf", "nan") or type(payload) is not str:
            raise WireFault("a number has an unknown name")
        if payload == "nan" and not self._codec.nan:
            raise WireFault("a number is not a number")
        return float(payload)

    _TAGS: ClassVar[dict[str, Callable[[_Decoder, Any, int], Any]]] = {
        "u": lambda self, payload, depth: text_of(payload),
        "f": lambda self, payload, depth: self._special(payload),
        "i": lambda self, payload, depth: self._int(payload),
        "t": lambda self, payload, depth: tuple(self._items(payload, depth)),
        "d": lambda self, payload, depth: self._dict(payload, depth),
        "set": lambda self, payload, depth: self._set(set, payload, depth),
        "fset": lambda self, payload, depth: self._set(frozenset, payload, depth),
        "b": lambda self, payload, depth: bytes_of(payload),
        "ba": lambda self, payload, depth: bytearray(bytes_of(payload)),
        "type": lambda self, payload, depth: type_of(payload),
    }


def _is_its_own_tree(value: Any) -> bool:
    kind = type(value)
    if kind is int:
        return bool(-_SMALL < value < _SMALL)
    return value is None or kind is bool or (kind is str and value.isascii() is True)


_SETS: dict[type, str] = {set: "set", frozenset: "fset"}
_BYTES: dict[type, str] = {bytes: "b", bytearray: "ba"}

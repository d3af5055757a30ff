"""What a worker tells of a class: enough for the driver to make one that behaves like it."""

from __future__ import annotations

import collections.abc
import sys
from typing import Any

from ..wire.stdlib import BUILTIN_TYPES

__all__ = [
    "ABSTRACT",
    "CONTENTS",
    "MUTABLE_CONTENTS",
    "SPECIALS",
    "content_of",
    "content_type",
    "describe_class",
    "found_by",
    "inherited",
    "plain_content",
    "state_of",
]

SPECIALS = (
    *("__call__", "__len__", "__iter__", "__next__", "__reversed__", "__getitem__"),
    *("__setitem__", "__delitem__", "__contains__", "__bool__", "__int__", "__float__"),
    *("__index__", "__complex__", "__neg__", "__pos__", "__abs__", "__invert__", "__round__"),
    *("__trunc__", "__floor__", "__ceil__", "__bytes__", "__fspath__", "__enter__", "__exit__"),
    *("__lt__", "__le__", "__gt__", "__ge__", "__add__", "__sub__", "__mul__", "__truediv__"),
    *("__floordiv__", "__mod__", "__divmod__", "__pow__", "__matmul__", "__lshift__"),
    *("__rshift__", "__and__", "__or__", "__xor__", "__radd__", "__rsub__", "__rmul__"),
    *("__rtruediv__", "__rfloordiv__", "__rmod__", "__rpow__", "__rand__", "__ror__", "__rxor__"),
    *("__iadd__", "__isub__", "__imul__", "__iand__", "__ior__", "__ixor__", "__await__"),
    *("__aiter__", "__anext__", "__aenter__", "__aexit__", "__format__", "__dir__"),
    *("__str__", "__repr__", "__get__"),
)
"""Special methods that are made known; everything else is an attribute or does not exist."""

CONTENTS: tuple[type, ...] = (str, bytes, int, float, complex, tuple, frozenset)
"""Immutable built-in types: an object of a subclass travels with its content."""

MUTABLE_CONTENTS: tuple[type, ...] = (dict, list, set, bytearray)


_ABSTRACT_NAMES = (
    *("Sequence", "MutableSequence", "Set", "MutableSet", "Mapping", "MutableMapping"),
    *("MappingView", "KeysView", "ItemsView", "ValuesView", "Generator"),
)
ABSTRACT: dict[str, Any] = {name: getattr(collections.abc, name) for name in _ABSTRACT_NAMES}
"""Abstract classes that a class counts as by saying so, and not by what methods it has."""


def describe_class(kind: type) -> list[Any]:
    """Name, module, qualified name, whether that leads to it, special methods, content type,
    who defines `==`, `hash` and `in` ("own", "base" or "object"), and the methods of the
    content type that the class replaces, the abstract classes of the library's that it counts
    as, and whether its metaclass decides what its instances are.
    """
    base = content_type(kind)
    # A tuple itself is described only where it can't be copied: there it has to be asked.
    is_whole = (base in CONTENTS and kind is not base) or issubclass(kind, BaseException)
    specials = [
        name
        for name in SPECIALS
        if _has(kind, name) and (not is_whole or _definer(kind, name) == "own")
    ]
    shadowed = (
        [] if base not in CONTENTS else [name for name in inherited(base) if _is_own(kind, name)]
    )
    return [
        _text(kind, "__name__"),
        _text(kind, "__module__"),
        _text(kind, "__qualname__"),
        found_by(_text(kind, "__module__"), _text(kind, "__qualname__")) is kind,
        specials,
        "" if base is None else base.__name__,
        _definer(kind, "__eq__"),
        _definer(kind, "__hash__"),
        _definer(kind, "__contains__"),
        shadowed,
        [name for name, abstract in ABSTRACT.items() if _is_virtually(kind, abstract)],
        type(kind).__instancecheck__ is not type.__instancecheck__,
    ]


def inherited(base: type | None) -> list[str]:
    """Names of a built-in type's methods, without the special ones."""
    return [name for name in dir(base) if not name.startswith("_")]


def content_type(kind: type) -> type | None:
    """The built-in type whose content an object of this class holds."""
    for base in (*CONTENTS, *MUTABLE_CONTENTS):
        if issubclass(kind, base):
            return base
    return None


def plain_content(base: type, value: Any) -> Any:
    """The content of an object of a subclass, read with the built-in type's own methods."""
    if base is int:
        return int.__int__(value)
    if base is float:
        return float.__float__(value)
    if base is str:
        return str.__str__(value)
    if base is complex:
        return complex(complex.__pos__(value))
    if base is bytes:
        return bytes.__getitem__(value, slice(None))[:]
    if base is tuple:
        return tuple(tuple.__iter__(value))
    return frozenset(frozenset.__iter__(value))


def content_of(value: Any) -> Any:
    """A plain copy of a container, read with the built-in type's own methods."""
    base = content_type(type(value))
    if base is dict:
        return dict(zip(dict.keys(value), dict.values(value), strict=True))
    if base is list:
        return list(list.__iter__(value))
    if base is set:
        return set(set.__iter__(value))
    return bytearray(value)


def state_of(value: Any) -> list[Any]:
    """What an object holds: its attributes, and its content if it is of a built-in type."""
    attributes = dict(getattr(value, "__dict__", ()))
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name) and name not in ("__dict__", "__weakref__"):
                attributes[name] = getattr(value, name)
    base = content_type(type(value))
    if base is None:
        return [attributes, None]
    return [attributes, plain_content(base, value) if base in CONTENTS else content_of(value)]


def found_by(module: str, qualified: str) -> Any:
    """What a module's name and a qualified name lead to, or None."""
    found: Any = sys.modules.get(module)
    for part in qualified.split("."):
        found = getattr(found, part, None)
    return found


def _is_virtually(kind: type, abstract: type) -> bool:
    try:
        return issubclass(kind, abstract)
    except Exception:
        return False


def _has(kind: type, name: str) -> bool:
    if getattr(kind, name, None) is None:
        return False
    return getattr(object, name, None) is not getattr(kind, name)


def _is_own(kind: type, name: str) -> bool:
    return _definer(kind, name) == "own"


def _definer(kind: type, name: str) -> str:
    for base in kind.__mro__:
        if name in vars(base):
            if vars(base)[name] is None:
                return "none"
            if base is object:
                return "object"
            return "base" if BUILTIN_TYPES.get(base.__name__) is base else "own"
    return "none"


def _text(kind: type, name: str) -> str:
    value = getattr(kind, name, "")
    return value if type(value) is str else ""

"""The standard library's value types: what they consist of, and how they are built again.

The modules are imported when the first value of theirs is met: most workers never need them.
Classes are kept here, so that a test which replaces `datetime.date` does not change the wire.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["BUILTIN_TYPES", "Known", "count_as", "hold_dates", "is_nan", "of", "tagged"]

BUILTIN_TYPES: dict[str, type] = {
    name: value
    for name, value in sorted(vars(builtins).items())
    if isinstance(value, type) and value.__name__ == name and value.__module__ == "builtins"
}

_MAX_PATTERN = 4_096
_FACTORIES = ("bool", "bytearray", "bytes", "dict", "float", "int", "list", "set", "str", "tuple")


class Known:
    """One type: its tag, its parts as plain values (None: not plain after all), its builder."""

    def __init__(
        self,
        tag: str,
        kind: type,
        parts: Callable[[Any], list[Any] | None],
        build: Callable[[list[Any]], Any],
    ) -> None:
        self.tag = tag
        self.kind = kind
        self.parts = parts
        self.build = build


def of(kind: type) -> Known | None:
    """What is known of exactly this type."""
    if kind not in _BY_TYPE:
        tag = _TAGS.get((kind.__module__, kind.__qualname__))
        # A class may say that it is another one: only the real one is known.
        known = None if tag is None else tagged(tag)
        if known is None or known.kind is not kind:
            return None
        _BY_TYPE[kind] = known
    return _BY_TYPE[kind]


def tagged(tag: str) -> Known | None:
    """What is known under a tag."""
    if tag not in _BY_TAG:
        place = _PLACES.get(tag)
        if place is None:
            return None
        module, name, parts, build = place
        kind = getattr(importlib.import_module(module), name)
        _BY_TAG[tag] = Known(tag, kind, parts, lambda values: build(kind, *values))
    return _BY_TAG[tag]


def hold_dates() -> None:
    """Keep the classes of dates as they are now, whatever they are replaced by later."""
    for tag in ("date", "time", "datetime", "delta", "timezone"):
        tagged(tag)


def count_as(kind: type, tag: str) -> None:
    """From now on values of exactly this type travel under another one's tag."""
    known = tagged(tag)
    if known is not None:
        _BY_TYPE[kind] = known


def is_nan(value: Any) -> bool:
    """Whether a number of any type is not a number."""
    if type(value) is complex:
        return value != value
    decimal = sys.modules.get("decimal")
    return decimal is not None and type(value) is decimal.Decimal and bool(value.is_nan())


def _decimal(kind: type, text: str) -> Any:
    value = kind(_is(str, text))
    if str(value) != text:
        raise ValueError(text)
    return value


def _fraction(kind: Any, numerator: int, denominator: int) -> Any:
    value = kind(_is(int, numerator), _is(int, denominator))
    if (value.numerator, value.denominator) != (numerator, denominator):
        raise ValueError(denominator)
    return value


def _pattern_parts(value: Any) -> list[Any] | None:
    return [value.pattern, value.flags] if len(value.pattern) <= _MAX_PATTERN else None


def _pattern(_: type, pattern: Any, flags: int) -> Any:
    import re

    if type(pattern) not in (str, bytes) or len(pattern) > _MAX_PATTERN:
        raise ValueError("pattern")
    return re.compile(pattern, _is(int, flags) & ~re.DEBUG)


def _default_parts(value: Any) -> list[Any] | None:
    factory = value.default_factory
    if factory is None:
        return ["", dict(value)]
    name = getattr(factory, "__name__", "")
    is_known = name in _FACTORIES and BUILTIN_TYPES[name] is factory
    return [name, dict(value)] if is_known else None


def _defaultdict(kind: Any, name: str, content: dict[Any, Any]) -> Any:
    if name and name not in _FACTORIES:
        raise ValueError(name)
    return kind(BUILTIN_TYPES[name] if name else None, _is(dict, content))


def _zone_parts(value: Any) -> list[Any] | None:
    return None if value.key is None else [value.key]


def _timezone_parts(value: Any) -> list[Any]:
    return list(value.__getinitargs__())


def _counter(kind: Any, content: dict[Any, Any]) -> Any:
    return kind(_is(dict, content))


def _time_parts(value: Any) -> list[Any]:
    fields = [value.hour, value.minute, value.second, value.microsecond]
    return [*fields, value.tzinfo, value.fold]


def _time(kind: Any, *fields: Any) -> Any:
    return kind(*fields[:-1], fold=fields[-1])


def _datetime_parts(value: Any) -> list[Any]:
    return [value.year, value.month, value.day, *_time_parts(value)]


def _call(kind: Any, *parts: Any) -> Any:
    return kind(*parts)


def _is(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(kind.__name__)
    return value


def _singleton(value: Any) -> Callable[[type], Any]:
    return lambda _: value


_PLACES: dict[str, tuple[str, str, Callable[[Any], list[Any] | None], Callable[..., Any]]] = {
    "complex": ("builtins", "complex", lambda v: [v.real, v.imag], lambda k, r, i: k(r, i)),
    "range": ("builtins", "range", lambda v: [v.start, v.stop, v.step], _call),
    "slice": ("builtins", "slice", lambda v: [v.start, v.stop, v.step], _call),
    "ellipsis": ("types", "EllipsisType", lambda _: [], _singleton(...)),
    "notimpl": ("types", "NotImplementedType", lambda _: [], _singleton(NotImplemented)),
    "decimal": ("decimal", "Decimal", lambda v: [str(v)], _decimal),
    "fraction": ("fractions", "Fraction", lambda v: [v.numerator, v.denominator], _fraction),
    "date": ("datetime", "date", lambda v: [v.year, v.month, v.day], _call),
    "time": ("datetime", "time", _time_parts, _time),
    "datetime": ("datetime", "datetime", _datetime_parts, _time),
    "delta": ("datetime", "timedelta", lambda v: [v.days, v.seconds, v.microseconds], _call),
    "timezone": ("datetime", "timezone", _timezone_parts, _call),
    "zone": ("zoneinfo", "ZoneInfo", _zone_parts, lambda k, key: k(_is(str, key))),
    "path": ("pathlib", "PosixPath", lambda v: [str(v)], lambda k, text: k(_is(str, text))),
    "purepath": ("pathlib", "PurePosixPath", lambda v: [str(v)], lambda k, text: k(_is(str, text))),
    "pattern": ("re", "Pattern", _pattern_parts, _pattern),
    "odict": ("collections", "OrderedDict", lambda v: [dict(v)], _counter),
    "counter": ("collections", "Counter", lambda v: [dict(v)], _counter),
    "ddict": ("collections", "defaultdict", _default_parts, _defaultdict),
    "deque": (
        "collections",
        "deque",
        lambda v: [list(v), v.maxlen],
        lambda k, items, most: k(_is(list, items), most),
    ),
    "splitted": ("urllib.parse", "SplitResult", list, _call),
    "parsed": ("urllib.parse", "ParseResult", list, _call),
    "moment": ("time", "struct_time", list, lambda k, *fields: k(fields)),
    "match": ("difflib", "Match", list, _call),
    **{
        name.lower(): ("ipaddress", name, lambda v: [str(v)], lambda k, text: k(_is(str, text)))
        for kind in ("Address", "Interface", "Network")
        for name in (f"IPv4{kind}", f"IPv6{kind}")
    },
    "uuid": ("uuid", "UUID", lambda v: [v.int], lambda k, number: k(int=_is(int, number))),
}
_TAGS = {(place[0], place[1]): tag for tag, place in _PLACES.items()} | {
    ("builtins", "ellipsis"): "ellipsis",
    ("builtins", "NotImplementedType"): "notimpl",
    ("pathlib._local", "PosixPath"): "path",
    ("pathlib._local", "PurePosixPath"): "purepath",
}
_BY_TAG: dict[str, Known] = {}
_BY_TYPE: dict[type, Known] = {}

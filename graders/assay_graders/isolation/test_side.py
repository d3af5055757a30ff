"""Objects of the tests' own classes: what the candidate may do with those it is handed.

It may read public names, and write those that are data of the object itself. What is read is
handed over by the same rules: a method is a function, so it can be called and nothing else. A
name of the class is never written, and neither is anything on a mock: else a candidate could
replace what the test asks afterwards.
"""

from __future__ import annotations

import abc
import enum
import inspect
import sys
import types
import typing
from typing import Any

from .described import CONTENTS, content_type

__all__ = ["SPECIALS", "TestSide", "is_mock", "is_opaque", "is_public"]

SPECIALS = frozenset(
    {
        *("__call__", "__len__", "__iter__", "__next__", "__reversed__", "__getitem__"),
        *("__setitem__", "__delitem__", "__contains__", "__bool__", "__int__", "__float__"),
        *("__index__", "__str__", "__repr__", "__format__", "__bytes__", "__fspath__", "__hash__"),
        *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__enter__", "__exit__"),
        *("__neg__", "__abs__", "__add__", "__radd__", "__sub__", "__rsub__", "__mul__"),
        *("__rmul__", "__truediv__", "__rtruediv__"),
    }
)
"""Methods of a test's class that are called as functions are; all others don't exist there."""

_OF_MOCKS = frozenset(
    {"__call__", "__len__", "__iter__", "__getitem__", "__contains__", "__enter__", "__exit__"}
)
_PLAIN_BASES = frozenset({object, abc.ABC, typing.Generic, typing.Protocol, *CONTENTS})
_ENUMS = frozenset({enum.Enum, enum.IntEnum, enum.StrEnum, enum.Flag, enum.IntFlag, enum.ReprEnum})
_MAX_NAME = 500


def is_public(name: Any) -> bool:
    """Whether a name is one that a test's object may be asked for."""
    return (
        type(name) is str
        and len(name) <= _MAX_NAME
        and name.isidentifier()
        and not name.startswith("_")
    )


def is_mock(value: Any) -> bool:
    """Whether a value is one of the standard library's mocks."""
    library: Any = sys.modules.get("unittest.mock")
    return library is not None and library.NonCallableMock in type(value).__mro__


def is_opaque(value: Any) -> bool:
    """Whether a value is nothing but itself, such as `object()` or a sentinel of a mock's."""
    library: Any = sys.modules.get("unittest.mock")
    return type(value) is object or (
        library is not None and type(value) is type(library.sentinel.DEFAULT)
    )


class TestSide:
    """Knows the tests' own classes: those of modules whose file is below `folder`."""

    __test__ = False

    def __init__(self, folder: str) -> None:
        self._below = folder + "/"

    def has_object(self, value: Any) -> bool:
        """Whether a value may be handed over as an object of a test's class."""
        kind = type(value)
        return kind is types.SimpleNamespace or is_mock(value) or self.has_class(kind)

    def has_class(self, kind: Any) -> bool:
        """Whether a class may be handed over: everything that it derives from is known too."""
        return isinstance(kind, type) and self._is_own(kind) and self._rests_on(kind, _PLAIN_BASES)

    def has_error(self, value: Any) -> bool:
        """Whether a value is an exception of the tests' that shows its attributes."""
        return self.has_error_class(type(value)) and not isinstance(value, AssertionError)

    def has_error_class(self, kind: type) -> bool:
        """Whether a class is an exception of the tests'."""
        return issubclass(kind, Exception) and self._is_own(kind)

    def describe(self, kind: type) -> dict[str, Any]:
        """What the worker is told of a class: names, special methods, content."""
        content = content_type(kind) if kind.__base__ is not object else None
        fields = getattr(kind, "_fields", None)
        return {
            "names": [str(kind.__name__), str(kind.__module__), str(kind.__qualname__)],
            "specials": sorted(self.specials(kind)),
            "is_hashable": kind.__hash__ is not None,
            "content": "" if content not in CONTENTS else content.__name__,
            "fields": list(fields) if content is tuple and type(fields) is tuple else None,
            "is_error": issubclass(kind, BaseException),
        }

    def specials(self, kind: type) -> set[str]:
        """The special methods that an object of this class can be asked for."""
        if issubclass(kind, BaseException):
            return set()
        if kind is types.SimpleNamespace:
            return {"__repr__", "__eq__"}
        library: Any = sys.modules.get("unittest.mock")
        if library is not None and issubclass(kind, library.NonCallableMock):
            return {name for name in _OF_MOCKS if hasattr(kind, name)}
        classes = [base for base in kind.__mro__ if base not in _PLAIN_BASES]
        return {
            name
            for name in SPECIALS
            if getattr(kind, name, None) is not None and any(name in vars(c) for c in classes)
        }

    def read(self, value: Any, name: str) -> Any:
        """A public attribute; raises AttributeError."""
        if is_mock(value) and (name in dir(type(value)) or name == "method_calls"):
            raise AttributeError(name)
        base = content_type(type(value))
        if base in CONTENTS and getattr(type(value), name, None) is getattr(base, name, _ABSENT):
            # The candidate has these itself; here, `str.format` would read any attribute.
            raise AttributeError(name)
        return getattr(value, name)

    def names(self, value: Any, *, is_own: bool) -> list[str]:
        """The public names of an object, or only those in its own `__dict__`."""
        if is_mock(value):
            return []
        return [name for name in (vars(value) if is_own else dir(value)) if is_public(name)]

    def may_write(self, value: Any, name: str, new: Any) -> bool:
        """Whether a name is data of the object itself, or new and unknown to its class.

        What the test can call is no data, and an object of the tests' stays one of theirs.
        """
        if isinstance(value, (type, BaseException)) or is_mock(value):
            return False
        old = inspect.getattr_static(value, name, None)
        if callable(old) or (self.has_object(old) and not (new is None or self.has_object(new))):
            return False
        raw = inspect.getattr_static(type(value), name, _ABSENT)
        if raw is _ABSENT or isinstance(raw, types.MemberDescriptorType):
            return True
        is_data = not callable(raw) and not hasattr(type(raw), "__get__")
        return is_data and name in getattr(value, "__dict__", ())

    def _is_own(self, kind: type) -> bool:
        module = sys.modules.get(kind.__module__)
        return (getattr(module, "__file__", None) or "").startswith(self._below)

    def _rests_on(self, kind: type, plain: frozenset[Any]) -> bool:
        return all(base in plain or base in _ENUMS or self._is_own(base) for base in kind.__mro__)


_ABSENT = object()

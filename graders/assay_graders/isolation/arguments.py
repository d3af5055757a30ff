"""What a test may hand to the candidate, and what stands for it there.

Nothing that is handed over exposes an object of the driver: a function can be called, an
iterator can be asked for its next item, an exception goes as its nearest built-in kind.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any

from ..wire.stdlib import BUILTIN_TYPES
from .client import Client

__all__ = ["Lent"]

_FUNCTIONS = (
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    functools.partial,
)


_PURE = frozenset(
    {
        *("builtins", "collections", "decimal", "fractions", "functools", "itertools", "math"),
        *("_operator", "operator", "statistics", "string"),
    }
)
"""Modules whose functions do the same in any process; classes go by name from all modules."""
_IMPURE = (open, print, input, eval, exec, compile, globals, locals, vars, dir, breakpoint)


class Lent:
    """Objects of the driver that the worker knows by a token."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._objects: dict[int, Any] = {}
        self._tokens: dict[int, int] = {}

    def token(self, value: Any) -> int:
        """The token of an object, which is kept from now on."""
        token = self._tokens.setdefault(id(value), len(self._objects) + 1)
        self._objects[token] = value
        return token

    def given_back(self, token: Any) -> Any:
        """The object of a token; KeyError for one that was never given."""
        if type(token) is not int:
            raise KeyError("token")
        return self._objects[token]

    def payload(self, value: Any) -> Any:
        """The reference for a value that is not plain; raises Refusal."""
        if isinstance(value, BaseException):
            self._client.uses("error-arguments")
            return self.error_payload(value)
        library = _in_library(value)
        if library is not None:
            return ["std", *library]
        if isinstance(value, _FUNCTIONS):
            self._client.uses("callbacks")
            return ["call", self.token(value), self._client.encode(_about(value))]
        if isinstance(value, Iterator) and type(value).__module__ in ("builtins", "itertools"):
            self._client.uses("iterator-arguments")
            return ["items", self.token(value)]
        code = "class" if isinstance(value, type) else "argument"
        raise self._client.refuse(code, by_test=True)

    def error_payload(self, error: BaseException) -> Any:
        """An exception: its nearest built-in class, and what it may tell.

        What a failed assertion says may hold expected values, so it says nothing.
        """
        kind = next(
            base for base in type(error).__mro__ if BUILTIN_TYPES.get(base.__name__) is base
        )
        tells = type(error) is kind and not issubclass(kind, AssertionError)
        arguments = list(error.args) if tells else []
        if not all(type(part) in (str, int, float, bool, bytes, type(None)) for part in arguments):
            arguments = []
        return ["raised", self.token(error), kind.__name__, self._client.encode(arguments)]

    def call(self, token: int, args: Any, kwargs: Any) -> Any:
        """Call a function that was lent; raises what it raises."""
        function = self._lent(token, _FUNCTIONS)
        if type(args) is not tuple or type(kwargs) is not dict:
            raise self._client.lose_protocol()
        return function(*args, **kwargs)

    def following(self, token: int) -> Any:
        """The next item of an iterator that was lent."""
        return next(self._lent(token, (Iterator,)))

    def _lent(self, token: Any, kinds: tuple[type, ...]) -> Any:
        try:
            value = self.given_back(token)
        except KeyError:
            raise self._client.lose_protocol() from None
        if not isinstance(value, kinds):
            raise self._client.lose_protocol()
        return value


def _about(function: Any) -> dict[str, Any]:
    """What a function says of itself: its names, its text, its parameters.

    A default may be an expected value, so it is shown as `...`.
    """
    names = ("__name__", "__qualname__", "__module__", "__doc__")
    texts = {name: getattr(function, name, None) for name in names}
    about: dict[str, Any] = {k: text for k, text in texts.items() if type(text) is str}
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return about | {"parameters": None}
    empty = inspect.Parameter.empty
    return about | {
        "parameters": [
            (p.name, int(p.kind), [] if p.default is empty else [...]) for p in parameters
        ]
    }


def _in_library(value: Any) -> tuple[str, str] | None:
    """Where the standard library has this very function or class, so that it needs no trip."""
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None)
    owner = getattr(value, "__objclass__", None)
    if module is None and owner is not None:
        module = owner.__module__
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    if module.partition(".")[0] not in sys.stdlib_module_names or "<" in name:
        return None
    if not isinstance(value, type) and (module not in _PURE or value in _IMPURE):
        return None
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return (module, name) if found is value else None

"""A worker's objects: what is not plain stays here and is known outside by a number."""

from __future__ import annotations

import importlib
import operator
import types
from collections.abc import Callable
from typing import Any

from ..wire.faults import WireFault
from ..wire.stdlib import BUILTIN_TYPES
from ..wire.values import REFERENCE, Codec
from .described import CONTENTS, content_type

__all__ = ["Borrowed", "CallBack", "Objects"]

_NO_CONTENT = ["none"]


class Borrowed:
    """Something of the driver's, known by a token; it can do one thing and no more."""

    def __init__(self, token: int, ask: Callable[..., Any]) -> None:
        self._token = token
        self._ask = ask


class CallBack(Borrowed):
    """A function: it can be called, and says what it says of itself."""

    def __init__(self, token: int, ask: Callable[..., Any], about: dict[str, Any]) -> None:
        super().__init__(token, ask)
        self._parameters = about.pop("parameters")
        vars(self).update(about)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._ask(self._token, args, kwargs)

    @property
    def __signature__(self) -> Any:
        import inspect

        if self._parameters is None:
            raise AttributeError("__signature__")
        return inspect.Signature(
            [
                inspect.Parameter(name, inspect._ParameterKind(kind), default=default[0])
                if default
                else inspect.Parameter(name, inspect._ParameterKind(kind))
                for name, kind, default in self._parameters
            ]
        )


class _Items(Borrowed):
    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return self._ask(self._token)


class Objects:
    """Numbers for objects, and references both ways."""

    def __init__(
        self,
        codec: Codec,
        modules: frozenset[str],
        call: Callable[..., Any],
        following: Callable[..., Any],
    ) -> None:
        self._codec = codec
        self._modules = modules
        self._call, self._following = call, following
        self._numbers: dict[int, int] = {}
        self._objects: dict[int, Any] = {}
        self._tokens: dict[int, Any] = {}

    def number(self, value: Any) -> int:
        """The number of an object, which is kept from now on."""
        number = self._numbers.get(id(value))
        if number is None:
            number = len(self._objects) + 1
            self._numbers[id(value)] = number
            self._objects[number] = value
        return number

    def tree(self, value: Any) -> Any:
        """The tree of any value; what is too deep or too large to copy becomes a reference."""
        try:
            return self._codec.encode(value, self.refer)
        except WireFault:
            if isinstance(value, (bool, int, float, complex, str, bytes)):
                raise
            return (REFERENCE, self.refer(value))

    def value(self, tree: Any) -> Any:
        """The value of a tree that the driver sent."""
        # A call's target is always a reference.
        if type(tree) is tuple and tree[0] == REFERENCE:
            return self.resolve(tree[1])
        return self._codec.decode(tree, self.resolve)

    def refer(self, value: Any) -> Any:
        """The payload of a reference to something that is not plain."""
        if isinstance(value, Borrowed):
            return ["d", value._token]
        token = self._tokens.get(id(value))
        if token is not None:
            return ["d", token[0]]
        if isinstance(value, types.ModuleType) and value.__name__ in self._modules:
            return ["m", value.__name__]
        if isinstance(value, type):
            return self.class_payload(value)
        if isinstance(value, BaseException):
            return self.exception_payload(value)
        kind = ["c", self.number(type(value))]
        return ["o", self.number(value), kind, self._content(value)]

    def class_payload(self, kind: type) -> Any:
        """A class: by name if it is built in, else by number."""
        if BUILTIN_TYPES.get(kind.__name__) is kind:
            return ["b", kind.__name__]
        return ["c", self.number(kind)]

    def exception_payload(self, error: BaseException) -> Any:
        """An exception: its class, its arguments and its text."""
        token = self._tokens.get(id(error))
        if token is not None:
            return ["d", token[0]]
        try:
            arguments = self._codec.encode(list(error.args), self.refer)
        except WireFault:
            arguments = []
        try:
            text = str(error)
        except Exception:
            text = ""
        kind = self.class_payload(type(error))
        return ["e", self.number(error), kind, arguments, self._codec.encode(text)]

    def resolve(self, payload: Any) -> Any:
        """What a reference of the driver's means here."""
        word = payload[0]
        if word in ("o", "c", "e"):
            return self._objects[payload[1]]
        if word == "m":
            return importlib.import_module(payload[1])
        if word == "path":
            found = importlib.import_module(payload[1])
            return operator.attrgetter(payload[2])(found)
        if word == "std":
            return operator.attrgetter(payload[2])(importlib.import_module(payload[1]))
        if word == "call":
            return CallBack(payload[1], self._call, self.value(payload[2]))
        if word == "items":
            return _Items(payload[1], self._following)
        return self._raised(payload)

    def _raised(self, payload: Any) -> Any:
        """An exception of the driver's, as the nearest built-in one; it goes back by token."""
        _, token, name, arguments = payload
        error = BUILTIN_TYPES[name](*self.value(arguments))
        self._tokens[id(error)] = token, error
        return error

    def _content(self, value: Any) -> Any:
        base = content_type(type(value))
        if base not in CONTENTS:
            return _NO_CONTENT
        try:
            return ["is", self._codec.encode(_plain(base, value), self.refer)]
        except WireFault:
            return _NO_CONTENT


def _plain(base: type, value: Any) -> Any:
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

"""What a test may hand to the candidate, and what stands for it there.

Nothing that is handed over exposes an object of the driver: a function can be called, an
iterator can be asked for its next item, an object of a test's class shows its public data.
"""

from __future__ import annotations

import functools
import inspect
import operator
import types
from collections.abc import Iterator
from typing import Any

from ..wire.stdlib import BUILTIN_TYPES
from .client import Client
from .described import CONTENTS, content_type, plain_content
from .files import LentFiles
from .library import place_in_library
from .test_side import TestSide, is_opaque

__all__ = ["FUNCTIONS", "Lent"]

FUNCTIONS = (
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    functools.partial,
)
_GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
_SCALARS = frozenset({str, int, float, bool, bytes, type(None)})


class Lent:
    """Objects of the driver that the worker knows by a token."""

    def __init__(self, client: Client, tests: TestSide) -> None:
        self._client = client
        self._tests = tests
        self.files = LentFiles(client)
        self._objects: dict[int, Any] = {}
        self._tokens: dict[int, int] = {}
        self._sent: dict[int, int] = {}
        self._last = 0

    def token(self, value: Any) -> int:
        """The token of an object, which is kept until the worker has dropped all it was sent."""
        token = self._tokens.get(id(value))
        if token is None:
            self._last += 1
            self._tokens[id(value)] = token = self._last
            self._objects[token] = value
        self._sent[token] = self._sent.get(token, 0) + 1
        return token

    def drop(self, token: Any, received: Any, _: Any) -> None:
        """The worker no longer has an object that it received so often."""
        if type(token) is not int or type(received) is not int or token not in self._objects:
            raise self._client.lose_protocol()
        self._sent[token] -= received
        if self._sent[token] <= 0:
            del self._sent[token]
            del self._tokens[id(self._objects[token])]
            del self._objects[token]

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
        place = place_in_library(value)
        if place is not None:
            return ["std", *place]
        if isinstance(value, type):
            return self._class_payload(value)
        if isinstance(value, FUNCTIONS):
            self._client.uses("callbacks")
            return ["call", self.token(value), self._client.encode(_about(value))]
        if type(value) is types.CoroutineType:
            self._client.uses("coroutine-arguments")
            return ["await", self.token(value)]
        if type(value) in _GETTERS:
            return self._getter_payload(value)
        if isinstance(value, Iterator) and type(value).__module__ in ("builtins", "itertools"):
            self._client.uses("iterator-arguments")
            return ["items", self.token(value)]
        if self.files.is_file(value):
            return self.files.payload(value, self.token(value))
        if self._tests.has_object(value):
            return self._object_payload(value)
        if is_opaque(value):
            self._client.uses("opaque-arguments")
            return ["opaque", self.token(value)]
        raise self._client.refuse("argument", by_test=True)

    def error_payload(self, error: BaseException) -> Any:
        """An exception: its nearest known class, and what it may tell.

        What a failed assertion says may hold expected values, so it says nothing.
        """
        kind = next(filter(self._is_known_error, type(error).__mro__))
        tells = type(error) is kind and not issubclass(kind, AssertionError)
        arguments = list(error.args) if tells else []
        if not _SCALARS.issuperset(map(type, arguments)):
            arguments = []
        tree = self._client.encode(arguments)
        return ["raised", self.token(error), self._client.encode(kind), tree]

    def _is_known_error(self, kind: type) -> bool:
        if BUILTIN_TYPES.get(kind.__name__) is kind or self._tests.has_error_class(kind):
            return True
        return issubclass(kind, BaseException) and place_in_library(kind) is not None

    def _class_payload(self, kind: type) -> Any:
        if not self._tests.has_class(kind) and not self._tests.has_error_class(kind):
            raise self._client.refuse("class", by_test=True)
        is_error = issubclass(kind, BaseException)
        self._client.uses("error-arguments" if is_error else "test-classes")
        return ["class", self.token(kind)]

    def _object_payload(self, value: Any) -> Any:
        self._client.uses("test-objects")
        base = content_type(type(value))
        content = plain_content(base, value) if base in CONTENTS else None
        kind = self.token(type(value))
        return ["object", self.token(value), kind, self._client.encode(content)]

    def _getter_payload(self, value: Any) -> Any:
        kind, arguments, *_ = value.__reduce__()
        if kind not in _GETTERS:
            # A method that is called with keywords.
            raise self._client.refuse("argument", by_test=True)
        return ["getter", kind.__name__, self._client.encode(list(arguments))]


def _about(function: Any) -> dict[str, Any]:
    """What a function says of itself: its names, its text, its parameters.

    A default may be an expected value, so it is shown as `...`.
    """
    names = ("__name__", "__qualname__", "__module__", "__doc__")
    texts = {name: getattr(function, name, None) for name in names}
    about: dict[str, Any] = {k: text for k, text in texts.items() if type(text) is str}
    about["binds"] = type(function) is types.FunctionType
    about["is_async"] = inspect.iscoroutinefunction(function)
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

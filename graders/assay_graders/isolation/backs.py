"""What the worker asks in the middle of a call, and how it is answered.

It can call what it was lent, take the next item, and do with an object of the tests' what
`test_side` allows. Everything else breaks the exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CoroutineType
from typing import Any, ClassVar

from .arguments import FUNCTIONS, Lent
from .client import Client
from .coroutines import Coroutines
from .exchange import Exchange
from .protocol import CALL_BACK, CANCEL_BACK, CLASS_BACK, DO_BACK, NEXT_BACK, START_BACK
from .test_side import SPECIALS, TestSide, is_public
from .write_back import write_back

__all__ = ["Backs"]


class Backs:
    """Answers one question at a time; raises what the test's code raises."""

    def __init__(
        self, exchange: Exchange, coroutines: Coroutines, lent: Lent, tests: TestSide
    ) -> None:
        self._client: Client = exchange.client
        self._watched = exchange.watched
        self._coroutines = coroutines
        self._lent = lent
        self._tests = tests

    def answer(self, word: Any, parts: list[Any]) -> Any:
        """The value that answers a question."""
        asked = self._WORDS.get((word, len(parts))) if type(word) is str else None
        if asked is None:
            raise self._client.lose_protocol()
        return asked(self, *parts)

    def take_over(self, token: Any, name: Any, content: Any) -> None:
        """The candidate changed a container that an object of the tests' holds."""
        value = self._object(token)
        self._require(is_public(name))
        new = self._client.decode(content)
        self._require_writable(value, name, new)
        with self._watched.taking_over():
            self._require(write_back(getattr(value, name), new))

    def _call(self, token: Any, args: Any, kwargs: Any) -> Any:
        function = self._known(token)
        args, kwargs = self._client.decode(args), self._client.decode(kwargs)
        self._require(isinstance(function, (*FUNCTIONS, type)) or self._is_callable(function))
        self._require(type(args) is tuple and type(kwargs) is dict)
        self._require(all(type(key) is str for key in kwargs))
        return function(*args, **kwargs)

    def _is_callable(self, value: Any) -> bool:
        """Whether a value is an object of the tests' that can be called."""
        return self._tests.has_object(value) and "__call__" in self._tests.specials(type(value))

    def _next(self, token: Any) -> Any:
        items = self._known(token)
        self._require(isinstance(items, Iterator))
        return next(items)

    def _do(self, token: Any, operation: Any, operands: Any) -> Any:
        value = self._object(token)
        operands = self._client.decode(operands)
        self._require(type(operands) is list)
        if operation == "get" and len(operands) == 1:
            self._require(is_public(operands[0]))
            return self._tests.read(value, operands[0])
        if operation == "names" and len(operands) == 1:
            return self._tests.names(value, is_own=operands[0] == "own")
        if operation == "set" and len(operands) == 2:
            self._require(is_public(operands[0]))
            return self._write(value, *operands)
        self._require(type(operation) is str and operation in SPECIALS)
        self._require(operation in self._tests.specials(type(value)))
        if operation == "__exit__":
            error = operands[0] if operands else None
            return type(value).__exit__(value, None if error is None else type(error), error, None)
        return getattr(type(value), operation)(value, *operands)

    def _write(self, value: Any, name: str, new: Any) -> None:
        self._require_writable(value, name, new)
        with self._watched.taking_over():
            setattr(value, name, new)

    def _describe(self, token: Any) -> Any:
        kind = self._known(token)
        self._require(isinstance(kind, type))
        bases = [base for base in kind.__bases__ if issubclass(base, BaseException)]
        return [self._tests.describe(kind), bases]

    def _start(self, token: Any) -> Any:
        coroutine = self._known(token)
        self._require(type(coroutine) is CoroutineType)
        return self._coroutines.run_lent(token, coroutine)

    def _cancel(self, token: Any) -> None:
        self._coroutines.cancel_lent(token)

    def _known(self, token: Any) -> Any:
        try:
            return self._lent.given_back(token)
        except KeyError:
            raise self._client.lose_protocol() from None

    def _object(self, token: Any) -> Any:
        """An object, class or exception of the tests'."""
        value = self._known(token)
        tests = self._tests
        self._require(isinstance(value, type) or tests.has_error(value) or tests.has_object(value))
        return value

    def _require(self, is_kept: bool) -> None:
        if not is_kept:
            raise self._client.lose_protocol()

    def _require_writable(self, value: Any, name: str, new: Any) -> None:
        if not self._tests.may_write(value, name, new):
            self._client.refuse("object-set")
            raise AttributeError(f"{name} is not data of this object alone")

    _WORDS: ClassVar[dict[tuple[str, int], Callable[..., Any]]] = {
        (CALL_BACK, 3): _call,
        (NEXT_BACK, 1): _next,
        (DO_BACK, 3): _do,
        (CLASS_BACK, 1): _describe,
        (START_BACK, 1): _start,
        (CANCEL_BACK, 1): _cancel,
    }

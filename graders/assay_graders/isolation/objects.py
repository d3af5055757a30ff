"""A worker's objects: what is not plain stays here and is known outside by a number."""

from __future__ import annotations

import importlib
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

from ..wire.faults import WireFault
from ..wire.stdlib import BUILTIN_TYPES
from ..wire.text import pack
from ..wire.values import REFERENCE, Codec
from .borrowed import Borrowings
from .borrowed_files import BorrowedFiles, is_borrowed_file
from .borrowed_kinds import token_of
from .described import CONTENTS, content_type, found_by, plain_content
from .protocol import FILE, FREE, WROTE
from .turns import is_awaitable

__all__ = ["Objects"]

_NO_CONTENT = ["none"]


class Objects:
    """Numbers for objects, and references both ways."""

    def __init__(
        self,
        codec: Codec,
        modules: frozenset[str],
        ask: Callable[..., Any],
    ) -> None:
        self._codec = codec
        self._modules = modules
        self.files = BorrowedFiles()
        self.borrowed = Borrowings(ask, self.written)
        self._numbers: dict[int, int] = {}
        self._objects: dict[int, Any] = {}
        self._sent: dict[int, int] = {}
        self._last = 0
        self.awaited: Callable[[int], Any] = int
        """Gives the coroutine that stands for one of the driver's."""

    def number(self, value: Any) -> int:
        """The number of an object, which is kept until the driver has dropped all it was sent."""
        number = self._numbers.get(id(value))
        if number is None:
            self._last += 1
            self._numbers[id(value)] = number = self._last
            self._objects[number] = value
        self._sent[number] = self._sent.get(number, 0) + 1
        return number

    def tree(self, value: Any) -> Any:
        """The tree of any value; what is too deep or too large to copy becomes a reference."""
        try:
            return self._codec.encode(value, self.refer)
        except WireFault:
            if isinstance(value, (bool, int, float, complex, str, bytes)):
                raise
            return (REFERENCE, self.refer(value))

    def add(self, word: str, *parts: Any) -> None:
        """Take one addition to a message."""
        if word == FREE:
            self._free(*parts)
        else:
            token, content, position, is_closed = parts
            self.files.update(token, self.value(content), position, is_closed)

    def _free(self, number: int, received: int) -> None:
        left = self._sent[number] = self._sent[number] - received
        if left <= 0:
            del self._sent[number]
            del self._numbers[id(self._objects[number])]
            # What dies with it may run code of the candidate's, which finds all in order.
            self._objects.pop(number)

    def noted(self) -> list[Any]:
        """What the candidate did to things of the driver's, as notes."""
        return [
            *([FREE, token, received, None] for token, received in self.borrowed.dead()),
            *(
                [WROTE, token, name, self.tree(value)]
                for token, name, value in self.borrowed.changed()
            ),
            *(
                [FILE, token, self._codec.encode(content), state]
                for token, content, state in self.files.changed()
            ),
        ]

    def forget(self) -> None:
        """A call is over, and its answer sent."""
        self.borrowed.forget()
        self.files.forget()

    def value(self, tree: Any) -> Any:
        """The value of a tree that the driver sent."""
        # A call's target is always a reference.
        if type(tree) is tuple and tree[0] == REFERENCE:
            return self.resolve(tree[1])
        return self._codec.decode(tree, self.resolve)

    def written(self, value: Any) -> bytes:
        """A container's content as bytes, to see whether it changes."""
        parts: list[Any] = []

        def named(part: Any) -> str:
            # Kept, so that no other object can get the same id meanwhile.
            parts.append(part)
            return f"{id(part):x}"

        try:
            return pack(self._codec.encode(value, named))
        except WireFault:
            return b""

    def refer(self, value: Any) -> Any:
        """The payload of a reference to something that is not plain."""
        token = value._assay_token if is_borrowed_file(value) else token_of(value)
        if token is not None:
            return ["d", token]
        if isinstance(value, types.ModuleType) and value.__name__ in self._modules:
            return ["m", value.__name__]
        if isinstance(value, type):
            return self.class_payload(value)
        if isinstance(value, BaseException):
            return self.exception_payload(value)
        if is_awaitable(value):
            names = (getattr(value, name, "") for name in ("__name__", "__qualname__"))
            return ["w", self.number(value), *map(self._codec.encode, names)]
        kind = ["c", self.number(type(value))]
        return ["o", self.number(value), kind, self._content(value)]

    def class_payload(self, kind: type) -> Any:
        """A class: by name if it is built in, else by number."""
        if BUILTIN_TYPES.get(kind.__name__) is kind:
            return ["b", kind.__name__]
        token = token_of(kind)
        if token is not None:
            return ["d", token]
        if _is_library_error(kind):
            return ["s", kind.__module__, kind.__qualname__, self.number(kind)]
        return ["c", self.number(kind)]

    def exception_payload(self, error: BaseException) -> Any:
        """An exception: its class, its arguments and its text."""
        token = token_of(error)
        if token is not None:
            return ["d", token]
        try:
            arguments = self._codec.encode(list(error.args), self.refer)
        except WireFault:
            arguments = []
        try:
            text = str(error)
        except Exception:
            text = ""
        kind = self.class_payload(type(error))
        state = self._state(error) if kind[0] == "s" else self._codec.encode({})
        return ["e", self.number(error), kind, arguments, self._codec.encode(text), state]

    def _state(self, error: BaseException) -> Any:
        """Attributes of an exception of the standard library's, which that class has set."""
        try:
            return self._codec.encode({k: v for k, v in vars(error).items() if k[:1] != "_"})
        except WireFault:
            return self._codec.encode({})

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
            return self.borrowed.function(payload[1], self.value(payload[2]))
        if word == "await":
            return self.awaited(payload[1])
        if word == "items":
            return self.borrowed.items(payload[1])
        if word == "opaque":
            return self.borrowed.opaque(payload[1])
        if word == "class":
            return self.borrowed.class_of(payload[1])
        if word == "object":
            return self.borrowed.object(payload[1], payload[2], self.value(payload[3]))
        if word == "file":
            content, access = self.value(payload[3]), self.value(payload[6])
            return self.files.file(payload[1], payload[2], content, [*payload[4:6], access])
        if word == "getter":
            return getattr(operator, payload[1])(*self.value(payload[2]))
        return self.borrowed.error(payload[1], self.value(payload[2]), self.value(payload[3]))

    def _content(self, value: Any) -> Any:
        base = content_type(type(value))
        if base not in CONTENTS:
            return _NO_CONTENT
        try:
            return ["is", self._codec.encode(plain_content(base, value), self.refer)]
        except WireFault:
            return _NO_CONTENT


def _is_library_error(kind: type) -> bool:
    module, name = kind.__module__, kind.__qualname__
    return (
        issubclass(kind, Exception)
        and type(module) is str
        and module.partition(".")[0] in sys.stdlib_module_names
        and found_by(module, name) is kind
    )

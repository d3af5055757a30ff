"""Objects of the driver's in the worker: known by a token, the same for as long as they live."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .borrowed_functions import TOKEN, Ask, CallBack, async_function
from .borrowed_kinds import LIFE, Items, Life, Opaque, error_class, object_class
from .described import CONTENTS, MUTABLE_CONTENTS
from .protocol import CLASS_BACK, DO_BACK
from .write_back import write_back

__all__ = ["Borrowings"]


class Borrowings:
    """What was borrowed; the same token is the same object for as long as that lives."""

    def __init__(self, ask: Ask, written: Callable[[Any], bytes]) -> None:
        self.ask = ask
        self._written = written
        self._weak: dict[int, tuple[weakref.ref[Any], list[int]]] = {}
        self._watched: dict[int, weakref.ref[Any]] = {}
        self._dead: list[tuple[int, int]] = []
        self._told: list[tuple[int, int]] = []
        self._pinned: dict[int, Any] = {}
        self._held: dict[tuple[int, str], tuple[Any, bytes]] = {}

    def function(self, token: int, about: dict[str, Any]) -> Any:
        """A function of the driver's."""
        make = async_function if about.pop("is_async") else CallBack
        return self._known(token) or self._keep(token, make(token, self.ask, about))

    def items(self, token: int) -> Any:
        """An iterator of the driver's."""
        return self._known(token) or self._keep(token, Items(token, self.ask))

    def opaque(self, token: int) -> Any:
        """Something of the driver's that is nothing but itself."""
        return self._known(token) or self._keep(token, Opaque(token))

    def object(self, token: int, class_token: int, content: Any) -> Any:
        """An object of a test's class; `content` is what an immutable built-in type holds."""
        known = self._known(token)
        if known is not None:
            return known
        kind = self.class_of(class_token)
        base = next((base for base in CONTENTS if issubclass(kind, base)), None)
        create: Any = object.__new__ if base is None else base.__new__
        made = create(kind) if base is None else create(kind, content)
        object.__setattr__(made, TOKEN, token)
        return self._keep(token, made)

    def class_of(self, token: int) -> Any:
        """The class that stands for one of the tests'."""
        known = self._known(token)
        if known is None:
            description, bases = self.ask(CLASS_BACK, token)
            if description["is_error"]:
                known = error_class(self, token, description["names"], tuple(bases))
            else:
                known = object_class(self, token, description)
            self._pinned[token] = known
        return known

    def error(self, token: int, kind: Any, arguments: list[Any]) -> Any:
        """An exception of the driver's, of its class or of the nearest that can be made."""
        made = _raised(kind, arguments)
        vars(made)[TOKEN] = token
        # Built-in exceptions know no weak references: their attributes' end is theirs.
        life = vars(made)[LIFE] = Life()
        self._watch(token, life)
        return made

    def read(self, token: int, name: str) -> Any:
        """A public attribute; the same container as before if it is one."""
        if name.startswith("_"):
            raise AttributeError(f"only public names of a test's object are seen here: {name}")
        value = self.ask(DO_BACK, token, "get", [name])
        held = self._held.get((token, name))
        if held is not None and write_back(held[0], value):
            value = held[0]
        return self._hold(token, name, value)

    def write(self, token: int, name: str, value: Any) -> None:
        """Set a public attribute."""
        if name.startswith("_"):
            raise AttributeError(f"only public names of a test's object are written here: {name}")
        self.ask(DO_BACK, token, "set", [name, value])
        self._held.pop((token, name), None)
        self._hold(token, name, value)

    def changed(self) -> list[tuple[int, str, Any]]:
        """Containers of the tests' objects that have changed since they were read."""
        found = []
        for (token, name), (value, before) in list(self._held.items()):
            if self._written(value) != before:
                found.append((token, name, value))
                self._hold(token, name, value)
        return found

    def forget(self) -> None:
        """The call is over: what it read of the tests' objects is theirs alone again."""
        self._held.clear()

    def _hold(self, token: int, name: str, value: Any) -> Any:
        if type(value) in MUTABLE_CONTENTS:
            self._held[token, name] = value, self._written(value)
        return value

    def dead(self) -> list[tuple[int, int]]:
        """Tokens of what has died, and how often each was received.

        Only what had died when this was last asked: the message that is being written may name
        objects that have died since.
        """
        told, self._told, self._dead = self._told, self._dead, []
        return told

    def _known(self, token: int) -> Any:
        found = self._pinned.get(token)
        if found is None and token in self._weak:
            reference, received = self._weak[token]
            found = reference()
            received[0] += found is not None
        return found

    def _keep(self, token: int, made: Any) -> Any:
        try:
            self._weak[token] = self._watch(token, made)
        except TypeError:
            # Objects of variable size, such as tuples, know no weak references.
            self._pinned[token] = made
        return made

    def _watch(self, token: int, made: Any) -> tuple[weakref.ref[Any], list[int]]:
        received = [1]

        def gone(reference: Any) -> None:
            self._watched.pop(id(reference), None)
            self._dead.append((token, received[0]))
            if token in self._weak and self._weak[token][0] is reference:
                del self._weak[token]

        reference = weakref.ref(made, gone)
        self._watched[id(reference)] = reference
        return reference, received


def _raised(kind: Any, arguments: list[Any]) -> BaseException:
    """An exception of this class, or of its nearest base that takes these arguments."""
    for base in kind.__mro__:
        try:
            made: BaseException = base(*arguments)
        except Exception:
            continue
        return made
    return Exception(*arguments)

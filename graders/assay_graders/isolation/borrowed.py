"""Objects of the driver's in the worker: each known by a token, each a way to ask and no more."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .borrowed_functions import TOKEN, Ask, CallBack, async_function
from .described import CONTENTS, MUTABLE_CONTENTS
from .protocol import CALL_BACK, CLASS_BACK, DO_BACK, NEXT_BACK
from .write_back import write_back

__all__ = ["Borrowings", "token_of"]

_CLASS_TOKEN = "_assay_class_token"
_CONTENT_TYPES = {kind.__name__: kind for kind in CONTENTS}

_FUNCTION = type(lambda: None)


class _Items:
    def __init__(self, token: int, ask: Ask) -> None:
        self._assay_token = token
        self._ask = ask

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return self._ask(NEXT_BACK, self._assay_token)


class _Class(type):
    """Type of the classes that stand for a test's: calling one constructs over there."""

    _assay_owner: Borrowings
    _assay_token: int

    def __call__(cls, /, *args: Any, **kwargs: Any) -> Any:
        return cls._assay_owner.ask(CALL_BACK, cls._assay_token, args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        return cls._assay_owner.read(cls._assay_token, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        raise AttributeError(f"a class of the tests' is not written: {name}")

    def __delattr__(cls, name: str) -> None:
        raise AttributeError(f"a class of the tests' is not written: {name}")


def token_of(value: Any) -> int | None:
    """The token of something of the driver's, None for anything else."""
    kind = type(value)
    if kind is CallBack or kind is _Items:
        return int(value._assay_token)
    name = TOKEN
    if kind is _FUNCTION:
        token = vars(value).get(name)
        return token if type(token) is int else None
    if kind is not _Class and type(kind) is not _Class and not isinstance(value, BaseException):
        if not isinstance(value, type):
            return None
        name = _CLASS_TOKEN
    token = vars(value).get(name)
    return token if type(token) is int else None


class Borrowings:
    """What was borrowed; the same token is the same object for as long as that lives."""

    def __init__(self, ask: Ask, written: Callable[[Any], bytes]) -> None:
        self.ask = ask
        self._written = written
        self._weak: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._pinned: dict[int, Any] = {}
        self._held: dict[tuple[int, str], tuple[Any, bytes]] = {}

    def function(self, token: int, about: dict[str, Any]) -> Any:
        """A function of the driver's."""
        make = async_function if about.pop("is_async") else CallBack
        return self._known(token) or self._keep(token, make(token, self.ask, about))

    def items(self, token: int) -> Any:
        """An iterator of the driver's."""
        return self._known(token) or self._keep(token, _Items(token, self.ask))

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
                known = _error_class(self, token, description["names"], tuple(bases))
            else:
                known = _object_class(self, token, description)
            self._pinned[token] = known
        return known

    def error(self, token: int, kind: Any, arguments: list[Any]) -> Any:
        """An exception of the driver's, of its class or of the nearest that can be made."""
        known = self._known(token)
        if known is not None:
            return known
        made = _raised(kind, arguments)
        vars(made)[TOKEN] = token
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

    def _known(self, token: int) -> Any:
        found = self._pinned.get(token)
        return self._weak.get(token) if found is None else found

    def _keep(self, token: int, made: Any) -> Any:
        try:
            self._weak[token] = made
        except TypeError:
            # Objects of variable size, such as tuples, know no weak references.
            self._pinned[token] = made
        return made


def _raised(kind: Any, arguments: list[Any]) -> BaseException:
    """An exception of this class, or of its nearest base that takes these arguments."""
    for base in kind.__mro__:
        try:
            made: BaseException = base(*arguments)
        except Exception:
            continue
        return made
    return Exception(*arguments)


def _error_class(owner: Borrowings, token: int, names: list[str], bases: tuple[type, ...]) -> type:
    name, module, qualified = names
    return type(
        name,
        bases,
        {
            "__module__": module,
            "__qualname__": qualified,
            "_assay_owner": owner,
            _CLASS_TOKEN: token,
            "__getattr__": _read_error,
        },
    )


def _object_class(owner: Borrowings, token: int, description: dict[str, Any]) -> type:
    name, module, qualified = description["names"]
    base: Any = _CONTENT_TYPES.get(description["content"])
    if description["fields"] is not None:
        import collections

        make: Any = collections.namedtuple
        base = make(name, description["fields"])
    namespace: dict[str, Any] = {
        "__module__": module,
        "__qualname__": qualified,
        "_assay_owner": owner,
        TOKEN: token,
        "__getattr__": _read_object,
        "__setattr__": _write_object,
        "__delattr__": _delete,
        "__init_subclass__": _no_subclass,
    }
    for special in description["specials"]:
        namespace[special] = _special(special)
    if not description["is_hashable"]:
        namespace["__hash__"] = None
    elif "__eq__" in namespace and "__hash__" not in namespace:
        namespace["__hash__"] = object.__hash__ if base is None else base.__hash__
    return _Class(name, () if base is None else (base,), namespace)


def _special(name: str) -> Any:
    def method(self: Any, *operands: Any) -> Any:
        if name == "__exit__":
            operands = (operands[1],)
        return type(self)._assay_owner.ask(DO_BACK, token_of(self), name, list(operands))

    method.__name__ = name
    return method


def _no_subclass(cls: Any, **_: Any) -> None:
    raise TypeError("a class of the tests' has no subclasses here")


def _read_object(self: Any, name: str) -> Any:
    return type(self)._assay_owner.read(token_of(self), name)


def _read_error(self: Any, name: str) -> Any:
    token = token_of(self)
    if token is None:
        raise AttributeError(name)
    return type(self)._assay_owner.read(token, name)


def _write_object(self: Any, name: str, value: Any) -> None:
    type(self)._assay_owner.write(token_of(self), name, value)


def _delete(self: Any, name: str) -> None:
    raise AttributeError(f"nothing of a test's object is deleted here: {name}")

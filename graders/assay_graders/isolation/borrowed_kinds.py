"""What stands for things of the driver's in the worker: each a way to ask, and no more."""

from __future__ import annotations

from typing import Any, Protocol

from .borrowed_functions import TOKEN, Ask, CallBack
from .described import CONTENTS
from .protocol import CALL_BACK, DO_BACK, NEXT_BACK

__all__ = ["LIFE", "Items", "Life", "Opaque", "error_class", "object_class", "token_of"]

LIFE = "_assay_life"
_CLASS_TOKEN = "_assay_class_token"
_FUNCTION = type(lambda: None)
_CONTENT_TYPES = {kind.__name__: kind for kind in CONTENTS}


class Owner(Protocol):
    """Who asks for the objects of a test's class."""

    ask: Ask

    def read(self, token: int, name: str) -> Any: ...
    def write(self, token: int, name: str, value: Any) -> None: ...


class Life:
    """Dies with the object that has it in its `__dict__`."""

    __slots__ = ("__weakref__",)


class Opaque:
    """Nothing but itself."""

    def __init__(self, token: int) -> None:
        self._assay_token = token


class Items:
    def __init__(self, token: int, ask: Ask) -> None:
        self._assay_token = token
        self._ask = ask

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return self._ask(NEXT_BACK, self._assay_token)


class _Class(type):
    """Type of the classes that stand for a test's: calling one constructs over there."""

    _assay_owner: Owner
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
    if kind is CallBack or kind is Items or kind is Opaque:
        return int(value._assay_token)
    name = TOKEN
    if kind is _FUNCTION:
        token = vars(value).get(name)
        return token if type(token) is int else None
    if type(kind) is _Class:
        # Its `__dict__` is that of the test's object.
        return int(object.__getattribute__(value, name))
    if kind is not _Class and not isinstance(value, BaseException):
        if not isinstance(value, type):
            return None
        name = _CLASS_TOKEN
    token = vars(value).get(name)
    return token if type(token) is int else None


def error_class(owner: Owner, token: int, names: list[str], bases: tuple[type, ...]) -> type:
    """An exception class of the tests', made anew here."""
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


def object_class(owner: Owner, token: int, description: dict[str, Any]) -> type:
    """A class of the tests': what it constructs, and all that its objects do, is asked for."""
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
        "__dir__": _names,
        "__dict__": property(_public),
        "__init_subclass__": _no_subclass,
    }
    for special in description["specials"]:
        namespace[special] = _call if special == "__call__" else _special(special)
    if not description["is_hashable"]:
        namespace["__hash__"] = None
    elif "__eq__" in namespace and "__hash__" not in namespace:
        namespace["__hash__"] = object.__hash__ if base is None else base.__hash__
    return _Class(name, () if base is None else (base,), namespace)


def _call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    return type(self)._assay_owner.ask(CALL_BACK, token_of(self), args, kwargs)


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


def _names(self: Any) -> Any:
    return type(self)._assay_owner.ask(DO_BACK, token_of(self), "names", ["all"])


def _public(self: Any) -> dict[str, Any]:
    owner, token = type(self)._assay_owner, token_of(self)
    return {name: owner.read(token, name) for name in owner.ask(DO_BACK, token, "names", ["own"])}


def _delete(self: Any, name: str) -> None:
    raise AttributeError(f"nothing of a test's object is deleted here: {name}")

"""What stands for things of the driver's in the worker: each a way to ask, and no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from .described import CONTENTS
from .protocol import CALL_BACK, DO_BACK, NEXT_BACK

__all__ = ["LIFE", "TOKEN", "CallBack", "Items", "Life", "error_class", "object_class", "token_of"]

TOKEN = "_assay_token"
LIFE = "_assay_life"
_CLASS_TOKEN = "_assay_class_token"
_CONTENT_TYPES = {kind.__name__: kind for kind in CONTENTS}

Ask = Callable[..., Any]
"""`ask(word, token, *values)`: the driver's answer, or what it raised."""


class Owner(Protocol):
    """Who asks for the objects of a test's class."""

    ask: Ask

    def read(self, token: int, name: str) -> Any: ...
    def write(self, token: int, name: str, value: Any) -> None: ...


class CallBack:
    """A function: it can be called, and says what it says of itself."""

    def __init__(self, token: int, ask: Ask, about: dict[str, Any]) -> None:
        self._assay_token = token
        self._ask = ask
        self._parameters = about.pop("parameters")
        self._binds = about.pop("binds")
        vars(self).update(about)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._ask(CALL_BACK, self._assay_token, args, kwargs)

    def __get__(self, instance: Any, _: Any = None) -> Any:
        """A function that is one in a class too is a method there."""
        import types

        is_method = self._binds and instance is not None
        return types.MethodType(self, instance) if is_method else self

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


class Life:
    """Dies with the object that has it in its `__dict__`."""

    __slots__ = ("__weakref__",)


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
    if kind is CallBack or kind is Items:
        return int(value._assay_token)
    name = TOKEN
    if kind is not _Class and type(kind) is not _Class and not isinstance(value, BaseException):
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

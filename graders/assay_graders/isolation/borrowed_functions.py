"""Functions of the driver's in the worker: called over there, and like functions otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .protocol import CALL_BACK

__all__ = ["TOKEN", "Ask", "CallBack", "async_function"]

TOKEN = "_assay_token"
"""Attribute that holds the token of what belongs to the driver."""

Ask = Callable[..., Any]
"""`ask(word, token, *values)`: the driver's answer, or what it raised."""


_WRITTEN: dict[int, CallBack] = {}


class CallBack:
    """A function: it can be called, and says what it says of itself."""

    _assay_token: int
    _ask: Ask
    _parameters: list[Any] | None
    _binds: bool

    def __init__(self, token: int, ask: Ask, about: dict[str, Any]) -> None:
        own = {"_assay_token": token, "_ask": ask}
        own |= {f"_{name}": about.pop(name) for name in ("parameters", "binds")}
        vars(self).update(about, **own)

    def __setattr__(self, name: str, value: Any) -> None:
        """Decorators write on what they decorate: it must be the same object when it is back."""
        super().__setattr__(name, value)
        _WRITTEN[self._assay_token] = self

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._ask(CALL_BACK, self._assay_token, args, kwargs)

    def __get__(self, instance: Any, _: Any = None) -> Any:
        """A function that is one in a class too is a method there."""
        import types

        is_method = self._binds and instance is not None
        return types.MethodType(self, instance) if is_method else self

    @property
    def __signature__(self) -> Any:
        if self._parameters is None:
            raise AttributeError("__signature__")
        return _signature(self._parameters)


def async_function(token: int, ask: Ask, about: dict[str, Any]) -> Any:
    """An async function of the driver's as one of this process, for those who look."""

    async def called(*args: Any, **kwargs: Any) -> Any:
        return await ask(CALL_BACK, token, args, kwargs)

    parameters = about.pop("parameters")
    del about["binds"]
    for name, value in about.items():
        setattr(called, name, value)
    if parameters is not None:
        vars(called)["__signature__"] = _signature(parameters)
    vars(called)[TOKEN] = token
    return called


def _signature(parameters: list[Any]) -> Any:
    import inspect

    return inspect.Signature(
        [
            inspect.Parameter(name, inspect._ParameterKind(kind), default=default[0])
            if default
            else inspect.Parameter(name, inspect._ParameterKind(kind))
            for name, kind, default in parameters
        ]
    )

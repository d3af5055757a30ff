"""The task's adapters: for a class of the candidate's, the key that comparisons go by."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from .exchange import Exchange
from .keys import Step, parse_key
from .stand_ins import stand_in_of

__all__ = ["Adapters"]

_DEEPEST = 20
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))


class Adapters:
    """Finds the key of an object; `keys` maps the place of a class, `pkg.Class`, to its key."""

    def __init__(self, exchange: Exchange, keys: dict[str, str], modules: dict[str, bool]) -> None:
        self._exchange = exchange
        self._modules = modules
        self._keys = {place: parse_key(key) for place, key in keys.items()}
        self._steps: dict[type, tuple[Step, ...]] = {}
        self._sought: set[str] = set()

    def key_of(self, value: Any) -> tuple[Any] | None:
        """The key of an object, alone in a tuple; None for one without adapter.

        Raises Refusal for a key that is not plain.
        """
        if not self._keys:
            return None
        self._find()
        for kind in type(value).__mro__:
            if kind in self._steps:
                self._exchange.client.uses("adapters")
                return (self._followed(value, self._steps[kind], 0),)
        return None

    def _find(self) -> None:
        """The classes of those adapters whose modules are loaded by now."""
        for place in self._keys.keys() - self._sought:
            module, names = self._split(place)
            if module in sys.modules:
                self._sought.add(place)
                found = self._class(module, names)
                if isinstance(found, type) and self._exchange.known.is_candidates(found):
                    self._steps[found] = self._keys[place]

    def _split(self, place: str) -> tuple[str, list[str]]:
        module, names = place, list[str]()
        while "." in module and module not in self._modules:
            module, _, name = module.rpartition(".")
            names.insert(0, name)
        return module, names

    def _class(self, module: str, names: list[str]) -> Any:
        found: Any = importlib.import_module(module)
        for name in names:
            try:
                found = getattr(found, name)
            except Exception:
                # A candidate without this class has nothing to adapt.
                return None
        return found

    def _followed(self, value: Any, steps: tuple[Step, ...], depth: int) -> Any:
        for name, arguments in steps:
            value = getattr(value, name)
            if arguments is not None:
                value = value(*arguments[0], **arguments[1])
        return self._plain(value, depth)

    def _plain(self, value: Any, depth: int) -> Any:
        """Everything in a key by value: an object in it by its own key, an iterator as a list."""
        if depth > _DEEPEST:
            raise self._exchange.client.refuse("adapter")
        if self._exchange.known.is_candidates(value):
            for kind in type(value).__mro__:
                if kind in self._steps:
                    return self._followed(value, self._steps[kind], depth + 1)
            is_class = isinstance(value, type)
            if is_class or "__iter__" not in stand_in_of(type(value)).specials:
                raise self._exchange.client.refuse("adapter")
            value = list(value)
        if type(value) in _VIEWS:
            value = list(value)
        if type(value) in (list, tuple):
            return type(value)(self._plain(item, depth + 1) for item in value)
        if type(value) is dict:
            return {key: self._plain(item, depth + 1) for key, item in value.items()}
        return value

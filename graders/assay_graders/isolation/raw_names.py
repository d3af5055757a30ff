"""Names as a class or module of the candidate's itself has them: its `__dict__` in the tests.

Whoever replaces an attribute and puts it back has to see what is there, and not what reading
it would give: a `staticmethod` or a property, for example.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import ModuleType
from typing import Any

from .exchange import Exchange

__all__ = ["RawNames"]

_OF_PYTHON = frozenset(
    {"__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slots__"}
    | {"__name__", "__package__", "__loader__", "__spec__", "__path__", "__all__"}
)


class RawNames(Mapping[str, Any]):
    """Looks a name up in the worker.

    A class lists only the `own` names of its proxy: test runners look for tests in that list.
    """

    def __init__(self, target: Any, own: Mapping[str, Any], exchange: Exchange) -> None:
        self._target = target
        self._own = own
        self._exchange = exchange

    def __getitem__(self, name: str) -> Any:
        is_known = isinstance(self._target, ModuleType) or self._is_candidates()
        if name in _OF_PYTHON or name.startswith("_assay") or not is_known:
            return self._own[name]
        return self._exchange.raw(self._target, name)

    def _is_candidates(self) -> bool:
        """Not so while the class is being made."""
        return self._exchange.known.is_candidates(self._target)

    def __contains__(self, name: object) -> bool:
        # Abstract classes look for special methods so, and those are known here.
        if isinstance(name, str) and name.startswith("__") and name.endswith("__"):
            return name in self._own
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def _names(self) -> Collection[str]:
        if isinstance(self._target, ModuleType):
            return self._exchange.names(self._target)
        return self._own

    def copy(self) -> dict[str, Any]:
        """The proxy's own names, as every `__dict__` can be copied."""
        return dict(self._own)

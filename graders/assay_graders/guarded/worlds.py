"""Two sets of the graded modules: as the candidate has them, and restored.

The candidate's text sees only modules of the first kind, so that it runs as it would alone.
Modules that it does not change are shared by both, with whatever it does to them, unless they
themselves took something from a changed one.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Worlds"]


class Worlds:
    """Keeps the candidate's modules aside while restored ones have their places."""

    def __init__(self) -> None:
        self._own: dict[str, types.ModuleType] = {}
        self._is_within = False

    @property
    def is_within(self) -> bool:
        """Whether the candidate's text runs, as far as restored modules are concerned."""
        return self._is_within

    def has(self, name: str) -> bool:
        """Whether the candidate's module of this name ran already."""
        return name in self._own

    def add(self, module: types.ModuleType) -> None:
        """One more module of the candidate's."""
        self._own[module.__name__] = module

    def loaded(self, module: types.ModuleType) -> None:
        """A module that the candidate does not change ran while the candidate's text does."""
        if any(self._is_own(value) for value in list(module.__dict__.values())):
            self.add(module)

    def _is_own(self, value: object) -> bool:
        if isinstance(value, types.ModuleType):
            return self._own.get(value.__name__) is value
        if isinstance(value, (type, types.FunctionType)):
            return value.__module__ in self._own
        return type(value).__module__ in self._own

    @contextmanager
    def within(self) -> Iterator[None]:
        """The candidate's modules in the places of restored ones, and afterwards none of them."""
        before = {name: sys.modules.get(name) for name in self._own}
        for name, module in self._own.items():
            _place(name, module)
        self._is_within = True
        try:
            yield
        finally:
            self._is_within = False
            for name in self._own:
                _place(name, before.get(name))


def _place(name: str, module: types.ModuleType | None) -> None:
    """Make a module the one of a name, also for the package that holds it; None for no module."""
    above, _, last = name.rpartition(".")
    package = sys.modules.get(above)
    if module is None:
        sys.modules.pop(name, None)
        if package is not None:
            package.__dict__.pop(last, None)
    else:
        sys.modules[name] = module
        if package is not None:
            package.__dict__[last] = module

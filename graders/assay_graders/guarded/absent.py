"""Stands for what a module lacks, so that tests which name it are collected, and then fail."""

from __future__ import annotations

import importlib.machinery
import types
from collections.abc import Iterable
from typing import Any

__all__ = ["Absent", "AbsentModules", "UsedAbsent", "give_absent"]


class UsedAbsent(BaseException):
    """A test used what is not there; no `except Exception` takes it for an answer."""


class Absent:
    """Any attribute of it is another one; using it in a running test raises UsedAbsent."""

    is_running = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if Absent.is_running:
            raise UsedAbsent
        return Absent()


def _used(self: Any, *args: Any) -> Any:
    raise UsedAbsent


for _name in (
    *("bool", "len", "iter", "next", "contains", "getitem", "setitem", "enter", "exit"),
    *("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "truediv", "floordiv", "mod"),
    *("radd", "rsub", "rmul", "and", "or", "xor", "neg", "abs", "int", "float", "index", "await"),
):
    setattr(Absent, f"__{_name}__", _used)


class AbsentModules:
    """Finder and loader, to be asked last, of modules that are known to be absent."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = set(names)

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec for such a module or a package above it."""
        if name in self._names or any(known.startswith(f"{name}.") for known in self._names):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        """The default one."""
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        """Every name of it is absent."""
        give_absent(module)


def give_absent(module: types.ModuleType) -> None:
    """Let a module stand for names that it lacks."""

    def lacking(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent()

    module.__dict__.setdefault("__getattr__", lacking)

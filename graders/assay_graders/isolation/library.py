"""The standard library's functions and classes, by name: they need no trip to be called."""

from __future__ import annotations

import importlib
import sys
from typing import Any

__all__ = ["library_error", "place_in_library"]

_JUDGES = frozenset({"unittest", "doctest", "test", "bdb", "pdb"})
"""Their exceptions are outcomes of tests, or mean something to those who run them."""


def place_in_library(value: Any) -> tuple[str, str] | None:
    """Where the standard library has this very function or class.

    The candidate has them too. Here, some would read the files of the tests for it.
    """
    if value is sys.stdout or value is sys.stderr:
        return "sys", "stdout" if value is sys.stdout else "stderr"
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None)
    owner = getattr(value, "__objclass__", None)
    if module is None and owner is not None:
        module = owner.__module__
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    if module.partition(".")[0] not in sys.stdlib_module_names or "<" in name:
        return None
    return (module, name) if _found(importlib.import_module(module), name) is value else None


def library_error(module: Any, name: Any) -> type[Exception] | None:
    """The exception class of this name, if the driver has imported its module already.

    Only exceptions: among the other classes are some whose objects equal everything.
    """
    if type(module) is not str or type(name) is not str:
        return None
    top = module.partition(".")[0]
    if top not in sys.stdlib_module_names or top in _JUDGES or module not in sys.modules:
        return None
    found = _found(sys.modules[module], name)
    return found if isinstance(found, type) and issubclass(found, Exception) else None


def _found(found: Any, name: str) -> Any:
    for part in name.split("."):
        found = getattr(found, part, None)
    return found

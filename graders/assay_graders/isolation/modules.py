"""Importing the candidate's modules: a finder for a fixed list of names, modules as proxies.

Only names that the task's tree has are taken, and none that the tests or the runtime can
import without it: a candidate never replaces the standard library or a helper of the tests.
"""

from __future__ import annotations

import dis
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any

from .exchange import Exchange
from .raw_names import RawNames
from .refusals import Refusal

__all__ = ["CandidateFinder", "without_those_found_here"]


_STAR = 2
"""Number of the operation that `import *` is, from Python 3.12 on."""


class CandidateModule(types.ModuleType):
    """A module whose attributes are the worker's."""

    __dict__ = property(lambda self: _raw_names(self))

    def __dir__(self) -> list[str]:
        loader = self.__spec__.loader if self.__spec__ is not None else None
        if isinstance(loader, CandidateFinder):
            return loader.exchange.names(self)
        return list(_own_names(self))

    def __getattr__(self, name: str) -> Any:
        loader = self.__spec__.loader if self.__spec__ is not None else None
        if not isinstance(loader, CandidateFinder):
            raise AttributeError(name)
        return loader.attribute(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        loader = self.__spec__.loader if self.__spec__ is not None else None
        if isinstance(loader, CandidateFinder) and not loader.is_own(self, name, value):
            loader.exchange.set(self, name, value, by_test=True)
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        loader = self.__spec__.loader if self.__spec__ is not None else None
        if isinstance(loader, CandidateFinder) and not loader.is_own(self, name):
            loader.exchange.delete(self, name, by_test=True)
        else:
            super().__delattr__(name)


def _is_starred(frame: types.FrameType) -> bool:
    """Whether an attribute is read by `from module import *`, and not by the test itself."""
    if frame.f_code.co_name == "_handle_fromlist":
        return True
    code, at = frame.f_code.co_code, frame.f_lasti
    name = dis.opname[code[at]]
    return name == "IMPORT_STAR" or (name == "CALL_INTRINSIC_1" and code[at + 1] == _STAR)


def _own_names(module: types.ModuleType) -> dict[str, Any]:
    descriptor: Any = vars(types.ModuleType)["__dict__"]
    return descriptor.__get__(module)  # type: ignore[no-any-return]


def _raw_names(module: types.ModuleType) -> Any:
    own = _own_names(module)
    loader = getattr(own.get("__spec__"), "loader", None)
    if isinstance(loader, CandidateFinder):
        return RawNames(module, own, loader.exchange)
    return own


class CandidateFinder:
    """Finder and loader of exactly the `modules`; True for a package.

    `exports` are the names that `from module import *` gives.
    """

    def __init__(
        self, exchange: Exchange, modules: dict[str, bool], exports: dict[str, list[str]]
    ) -> None:
        self.exchange = exchange
        self._modules = modules
        self._exports = exports

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec for a candidate's module, None for any other."""
        is_package = self._modules.get(name)
        if is_package is None:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=is_package)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """An empty proxy."""
        return CandidateModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Have the worker import it; raises what the import raised."""
        self.exchange.client.request("import", module.__name__)

    def attribute(self, module: types.ModuleType, name: str) -> Any:
        """An attribute of the worker's module."""
        if name == "__all__" and _is_starred(sys._getframe(2)):
            return self._exported(module)
        return self.exchange.read(module, name, feature="modules")

    def _exported(self, module: types.ModuleType) -> list[str]:
        """The fixture's names that the candidate has; its own list counts for nothing."""
        names = self._exports.get(module.__name__)
        if names is None:
            raise self._refused("star-import")
        return [name for name in names if hasattr(module, name)]

    def is_own(self, module: types.ModuleType, name: str, value: Any = None) -> bool:
        """Whether the import system sets this on a proxy: its own names and submodules.

        A submodule that is not the candidate's is the tests' own: they lie in its package.
        """
        full = f"{module.__name__}.{name}"
        if name.startswith("__") and name.endswith("__"):
            return True
        is_submodule = isinstance(value, types.ModuleType) and value is sys.modules.get(full)
        return is_submodule or full in self._modules

    def _refused(self, code: str) -> Refusal:
        return self.exchange.client.refuse(code, by_test=True)


def without_those_found_here(
    modules: dict[str, bool], own: list[str]
) -> tuple[dict[str, bool], bool]:
    """The modules whose top-level name nothing here can be imported under.

    And whether one of the `own` among the others is in the runtime itself: tests would then be
    run against that one, and not against the candidate.
    """
    tops = {name.partition(".")[0] for name in modules}
    library = {top for top in tops if top in sys.stdlib_module_names}
    specs = {top: importlib.machinery.PathFinder.find_spec(top) for top in tops - library}
    found = {top for top, spec in specs.items() if spec is not None}
    installed = {
        top
        for top in found
        if any(place.startswith(sys.prefix + "/") for place in _places(specs[top]))
    }
    free = {
        name: kind
        for name, kind in modules.items()
        if name.partition(".")[0] not in library | found
    }
    return free, not installed.isdisjoint(own)


def _places(spec: importlib.machinery.ModuleSpec | None) -> list[str]:
    if spec is None:
        return []
    return [spec.origin or "", *(spec.submodule_search_locations or ())]

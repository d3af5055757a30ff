"""What the process finds out about its own guards, before and after code under test ran."""

from __future__ import annotations

import _imp
import importlib.machinery
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["Origins", "held_before"]

_WORKSPACE = "/workspace"
_VARIABLES = {
    *("PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "PYTHONNOUSERSITE", "PYTHONPYCACHEPREFIX"),
}
"""What a jail sets for Python; none of them brings code in."""


def held_before(base: str, tests: Sequence[str], roots: Sequence[str]) -> Iterator[str]:
    """Names of the guards that hold; nothing of the graded tree has run by then."""
    flags = sys.flags
    variables = {name for name in os.environ if name.startswith("PYTHON")}
    is_alone = flags.safe_path and flags.no_user_site and variables <= _VARIABLES
    if is_alone and not flags.optimize:
        yield "isolated-interpreter"
    if sys.dont_write_bytecode and _imp.check_hash_based_pycs == "always":
        yield "checked-bytecode"
    if sys.path[len(sys.path) - len(roots) :] == list(roots):
        yield "roots-last"
    if not f"{base}/".startswith(f"{_WORKSPACE}/") and all(_is_read_only(test) for test in tests):
        yield "tests-apart"


def _is_read_only(file: str) -> bool:
    return bool(os.statvfs(file).f_flag & os.ST_RDONLY)


class Origins:
    """Where modules come from; made before anything of the tests or the graded tree ran.

    `graded` and `added` map names of modules to files: those of the fixture may come from
    nowhere else but what was added under their name, as when a module becomes a package, and
    nothing else may come from the graded tree.
    """

    def __init__(
        self, graded: dict[str, list[str]], added: dict[str, list[str]], base: str
    ) -> None:
        self._graded = graded
        self._added = added
        self._base = base
        self._before = dict(sys.modules)
        # The runtime itself is read-only, wherever it lies.
        self._runtime = (f"{sys.prefix}/", f"{sys.base_prefix}/")

    def strays(self) -> list[str]:
        """Names of modules that are not what they should be, at most twenty."""
        found = {name for name, old in self._before.items() if sys.modules.get(name) is not old}
        for name, module in list(sys.modules.items()):
            is_asked = name not in self._before or name in self._graded
            if is_asked and not self._is_right(name, _origin(module)):
                found.add(name)
        return sorted(found)[:20]

    def _is_right(self, name: str, origin: str | None) -> bool:
        if origin is not None and origin.startswith(f"{self._base}/"):
            return True
        if name in self._graded:
            known = (*self._graded[name], *self._added.get(name, ()))
            return origin is None or origin in known
        if origin is None or origin.startswith(self._runtime):
            return True
        if not origin.startswith((f"{_WORKSPACE}/", "/tmp/")):
            return True
        return origin in self._added.get(name, ())


def _origin(module: Any) -> str | None:
    spec = getattr(module, "__spec__", None)
    if isinstance(spec, importlib.machinery.ModuleSpec) and spec.origin is not None:
        return spec.origin
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else None

"""Imports the modules of the graded tree, or restores those that the candidate changed.

A restored module first runs the candidate's text, in a module of its own, so that whatever it
does to others stays done; then it becomes what the fixture had. `worlds` keeps both apart. Code
under test is started by the same steps either way.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from .absent import give_absent
from .worlds import Worlds

__all__ = ["Originals", "import_graded_from"]


class Originals:
    """What the fixture had at the paths that the candidate changed; None where it had nothing.

    With `restore` a module becomes its original. With `lenient` every graded module stands
    for names that it lacks.
    """

    def __init__(self, texts: dict[str, str | None], *, restore: bool, lenient: bool) -> None:
        self.texts = texts
        self.restore = restore
        self.lenient = lenient
        self.restored: list[str] = []
        self.worlds = Worlds()

    def deleted(self, path: str) -> bool:
        """Whether the fixture has a module here and the graded tree has not."""
        return self.restore and self.texts.get(path) is not None and not os.path.exists(path)


class _Loader(importlib.abc.FileLoader, importlib.abc.SourceLoader):  # type: ignore[misc]
    # Not SourceFileLoader: pytest's rewriting of assertions would take its modules over.
    def __init__(self, originals: Originals, name: str, path: str) -> None:
        super().__init__(name, path)
        self._originals = originals

    def exec_module(self, module: types.ModuleType) -> None:
        originals, worlds = self._originals, self._originals.worlds
        is_changed = originals.restore and self.path in originals.texts
        is_first = is_changed and not worlds.is_within and not worlds.has(module.__name__)
        if not originals.deleted(self.path) and (is_first or not is_changed or worlds.is_within):
            with worlds.within() if is_first else nullcontext():
                self._execute(_another(module) if is_first else module, is_own=is_changed)
        if is_changed and not worlds.is_within:
            self._restore(module)
        if originals.lenient and not worlds.is_within:
            give_absent(module)

    def _execute(self, module: types.ModuleType, *, is_own: bool) -> None:
        name, worlds = module.__name__, self._originals.worlds
        sys.modules[name] = module
        if is_own:
            worlds.add(module)
        exec(self.get_code(name), module.__dict__)  # type: ignore[arg-type]  # noqa: S102
        if worlds.is_within and not is_own:
            worlds.loaded(module)

    def _restore(self, module: types.ModuleType) -> None:
        sys.modules[module.__name__] = module
        for name, child in list(sys.modules.items()):
            above, _, last = name.rpartition(".")
            if above == module.__name__:
                module.__dict__[last] = child
        text = self._originals.texts[self.path]
        if text is not None:
            code = compile(text, self.path, "exec", dont_inherit=True)
            exec(code, module.__dict__)  # noqa: S102
        self._originals.restored.append(self.path)

    def get_data(self, path: str) -> bytes:
        if self._originals.deleted(path):
            return (self._originals.texts[path] or "").encode("utf-8")
        return super().get_data(path)

    def path_stats(self, path: str) -> dict[str, Any]:
        # Bytecode beside a source is never looked for.
        raise OSError


def _another(module: types.ModuleType) -> types.ModuleType:
    other = types.ModuleType(module.__name__)
    other.__dict__.update(module.__dict__)
    return other


class _Finder:
    """Finds what is in one folder of the graded tree, and what is to be restored there."""

    def __init__(self, folder: str, originals: Originals) -> None:
        def loader(name: str, path: str) -> _Loader:
            return _Loader(originals, name, path)

        extensions = (
            importlib.machinery.ExtensionFileLoader,
            importlib.machinery.EXTENSION_SUFFIXES,
        )
        self._folder = folder
        self._originals = originals
        self._loader = loader
        self._files = importlib.machinery.FileFinder(
            folder,
            extensions,
            (loader, [".py"]),  # type: ignore[arg-type]
        )

    def find_spec(self, name: str, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        spec = self._files.find_spec(name, target)
        if spec is not None and spec.loader is not None:
            return spec
        last = name.rpartition(".")[2]
        for inside in (f"{last}/__init__.py", f"{last}.py"):
            path = os.path.join(self._folder, inside)
            if self._originals.deleted(path):
                return importlib.util.spec_from_file_location(
                    name,
                    path,
                    loader=self._loader(name, path),
                    submodule_search_locations=[os.path.dirname(path)] if "/" in inside else None,
                )
        return spec

    def invalidate_caches(self) -> None:
        self._files.invalidate_caches()


def import_graded_from(roots: Sequence[str], originals: Originals) -> None:
    """Import by this from these folders, which come last on the path, and from those below."""

    def hook(folder: str) -> Any:
        if not any(f"{folder}/".startswith(f"{root}/") for root in roots):
            raise ImportError
        return _Finder(folder, originals)

    sys.path_hooks.insert(0, hook)
    sys.path.extend(root for root in roots if root not in sys.path)
    for folder in roots:
        sys.path_importer_cache.pop(folder, None)

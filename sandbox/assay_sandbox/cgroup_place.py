"""Finds where control groups for jails can be made: version 1, version 2, both at once, or not.

Only what the kernel says about its mounts counts, never a name or a distribution.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import evolve, frozen

from assay_sandbox.tables import rows

__all__ = ["NoPlace", "Place", "find_place"]

CONTROLLERS = ("memory", "pids")
COUNTER = "cpuacct"
"""Where version 1 counts processor time; version 2 does in every group."""


@frozen
class Place:
    """Folders in which the groups of jails are made, one for each hierarchy.

    `memory` and `pids` are one folder in version 2. `ours`: they are made when they are needed,
    and removed when they are empty; else somebody made them for this user. `processor` is a folder
    of version 1 that counts processor time, where there is one.
    """

    version: int
    memory: Path
    pids: Path
    ours: bool
    processor: Path | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        """Each folder once."""
        counting = () if self.processor is None else (self.processor,)
        return tuple(dict.fromkeys((self.memory, self.pids, *counting)))


@frozen
class NoPlace:
    """Why no group can be made, and the command that would mend it."""

    reason: str
    fix: str


@frozen
class _Mounted:
    version: int
    place: Path
    controllers: frozenset[str]


def find_place(mountinfo: str, own_groups: str, uid: int) -> Place | NoPlace:
    """Where this user may make groups; reads only.

    `mountinfo` and `own_groups` are `/proc/self/mountinfo` and `/proc/self/cgroup`.
    """
    mounted = tuple(_mounts(mountinfo))
    problem = NoPlace("no control groups for memory and processes are mounted", "")
    for version in (1, 2):
        holders: dict[str, Path] = {}
        for mount in mounted:
            if mount.version == version:
                for controller in mount.controllers:
                    holders.setdefault(controller, mount.place)
        if not holders.keys() >= set(CONTROLLERS):
            continue
        if version == 1:
            found = _first_version(holders, uid)
        else:
            found = _second_version(holders["memory"], own_groups, uid)
        if isinstance(found, Place):
            return found
        problem = found
    return problem


def _mounts(mountinfo: str) -> Iterator[_Mounted]:
    for line in rows(mountinfo):
        before, _, after = line.partition(" - ")
        kind, _, options = (*after.split(" "), "", "", "")[:3]
        place = Path(before.split(" ")[4])
        if kind == "cgroup":
            yield _Mounted(1, place, frozenset(options.split(",")) & {*CONTROLLERS, COUNTER})
        elif kind == "cgroup2":
            yield _Mounted(2, place, _words(place / "cgroup.controllers"))


def _first_version(holders: Mapping[str, Path], uid: int) -> Place | NoPlace:
    memory, pids, counter = holders["memory"], holders["pids"], holders.get(COUNTER)
    if uid == 0:
        if not os.access(memory, os.W_OK) or not os.access(pids, os.W_OK):
            return NoPlace("version 1 is mounted read-only", f"mount -o remount,rw {memory}")
        counts = counter is not None and os.access(counter, os.W_OK)
        folder = counter / "assay" if counter is not None and counts else None
        return Place(1, memory / "assay", pids / "assay", True, folder)
    name = f"assay-{uid}"
    folder = None if counter is None else counter / name
    place = Place(1, memory / name, pids / name, False, folder)
    names = " ".join(str(folder) for folder in place.folders)
    if folder is not None and not os.access(folder, os.W_OK | os.X_OK):
        place = evolve(place, processor=None)
    if all(os.access(folder, os.W_OK | os.X_OK) for folder in place.folders):
        return place
    return NoPlace("version 1 belongs to root", f"sudo install -d -o {uid} {names}")


def _second_version(mount: Path, own_groups: str, uid: int) -> Place | NoPlace:
    if uid == 0:
        if not os.access(mount, os.W_OK):
            return NoPlace("version 2 is mounted read-only", f"mount -o remount,rw {mount}")
        if (
            _gives(mount)
            or not _words(mount / "cgroup.procs")
            or not (mount / "cgroup.type").exists()
        ):
            place = mount / "assay"
            return Place(2, place, place, True)
        return NoPlace(
            "version 2 holds processes where jails' groups would be",
            "start assay in a control group of its own: systemd-run --scope -p Delegate=yes assay",
        )
    for folder in _above(mount, own_groups):
        needed = (folder, folder / "cgroup.procs")
        if all(os.access(path, os.W_OK) for path in needed) and _gives(folder):
            place = folder / f"assay-{uid}"
            return Place(2, place, place, True)
    return NoPlace(
        "version 2 is not delegated to this user",
        f"sudo systemctl start user@{uid}.service",
    )


def _above(mount: Path, own_groups: str) -> Iterator[Path]:
    """The groups that hold this process's own one, from near to far."""
    for line in rows(own_groups):
        if line.startswith("0::/"):
            inside = Path(line.removeprefix("0::/"))
            if ".." not in inside.parts:
                yield from (mount / parent for parent in inside.parents if inside.parts)


def _gives(folder: Path) -> bool:
    """Whether the groups in this one have the controllers."""
    return _words(folder / "cgroup.subtree_control") >= set(CONTROLLERS)


def _words(path: Path) -> frozenset[str]:
    try:
        return frozenset(path.read_text().split())
    except OSError:
        return frozenset()

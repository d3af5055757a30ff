"""Makes and removes the control groups of jails, one for each, and those of dead supervisors."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from assay.api import SandboxFailed
from assay_sandbox.cgroup_place import CONTROLLERS, Place
from assay_sandbox.cgroups import Group
from assay_sandbox.pids import is_orphaned, new_name

__all__ = ["make_group", "remove_group", "remove_leftovers"]

ATTEMPTS = 100
PAUSE = 0.01


def make_group(place: Place, room: int) -> Group:
    """A new group, named after this process; SandboxFailed when the kernel refuses."""
    group = _group(place, new_name(), room)
    try:
        for _ in range(ATTEMPTS):
            try:
                if place.version == 2:
                    _furnish(place)
                for folder in group.folders:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(folder)
            except FileNotFoundError:
                # The first jail makes the folders, and the last one takes them away.
                with contextlib.suppress(FileNotFoundError):
                    _furnish(place)
                continue
            return group
    except OSError:
        pass
    remove_group(place, group)
    raise SandboxFailed("limits", "no control group can be made")


def remove_group(place: Place, group: Group) -> None:
    """Kill what is left in it and remove it; SandboxFailed when that is impossible."""
    for _ in range(ATTEMPTS):
        # An empty one can be removed, and no other.
        if all(_removed(folder) for folder in group.folders):
            break
        group.kill()
        time.sleep(PAUSE)
    else:
        raise SandboxFailed("stop", "a control group of the jail can't be removed")
    if place.ours:
        for folder in place.folders:
            # Another jail may have a group in it.
            with contextlib.suppress(OSError):
                folder.rmdir()


def remove_leftovers(place: Place) -> None:
    """Kill and remove the groups of supervisors that are no more."""
    names: set[str] = set()
    for folder in place.folders:
        with contextlib.suppress(OSError):
            names |= {entry.name for entry in folder.iterdir() if entry.is_dir()}
    for name in names:
        if is_orphaned(name):
            with contextlib.suppress(SandboxFailed):
                remove_group(place, _group(place, name, 0))


def _group(place: Place, name: str, room: int) -> Group:
    counter = None if place.processor is None else place.processor / name
    return Group(place.version, place.memory / name, place.pids / name, room, counter=counter)


def _furnish(place: Place) -> None:
    """What the groups need above them."""
    for folder in place.folders:
        if place.ours:
            folder.mkdir(exist_ok=True)
        if place.version == 2:
            for above in (folder.parent, folder) if place.ours else (folder,):
                control = above / "cgroup.subtree_control"
                if not set(CONTROLLERS) <= set(control.read_text().split()):
                    control.write_text(" ".join(f"+{name}" for name in CONTROLLERS))


def _removed(folder: Path) -> bool:
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True

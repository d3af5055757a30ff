"""Transient scopes of the user's own service manager, where one answers.

The manager puts nsjail into a control group that belongs to the user. Whether it really bounds
anything there is read back from the kernel, never believed.
"""

from __future__ import annotations

import itertools
import os
import shutil
from pathlib import Path

from assay.api import Limits
from assay_sandbox.cgroups import SUPERVISOR_PROCESSES, Group
from assay_sandbox.tables import read_table, rows

__all__ = ["group_of", "manager_environment", "manager_program", "scope_command"]

PROGRAM = "systemd-run"
PLACES = "/usr/local/bin:/usr/bin:/bin"
VARIABLES = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")

_numbers = itertools.count(1)


def manager_environment() -> dict[str, str]:
    """What a program needs to reach the manager; nothing of it is seen in a jail."""
    return {name: os.environ[name] for name in VARIABLES if name in os.environ}


def manager_program() -> str | None:
    """The program that asks the manager for a scope, if there may be a manager."""
    return shutil.which(PROGRAM, path=PLACES) if manager_environment() else None


def scope_command(program: str, limits: Limits, room: int) -> list[str]:
    """What to put before a command, so that it runs in a scope with these limits."""
    return [
        program,
        *("--user", "--scope", "--quiet", "--collect"),
        f"--unit=assay-{os.getpid()}-{next(_numbers)}.scope",
        f"--property=MemoryMax={limits.memory + room}",
        "--property=MemorySwapMax=0",
        f"--property=TasksMax={limits.processes + SUPERVISOR_PROCESSES}",
        "--",
    ]


def group_of(pid: int, room: int) -> Group | None:
    """The group of the second version that a process is in, if it is not the root."""
    for line in rows(read_table(f"/proc/{pid}/cgroup")):
        inside = line.removeprefix("0::/")
        if inside and inside != line and ".." not in Path(inside).parts:
            folder = _mount() / inside
            return Group(2, folder, folder, room, layer="systemd scope")
    return None


def _mount() -> Path:
    """Where the second version is mounted: alone, or beside the first."""
    both = Path("/sys/fs/cgroup/unified")
    return both if both.is_dir() else Path("/sys/fs/cgroup")

"""Which layer bounds the memory of all of a jail's processes together: the best that works.

In this order: a control group of our own; a scope of the user's service manager; a watchdog
over resident memory, which is late by some milliseconds and so is called degraded.
"""

from __future__ import annotations

import functools
import os
import select
import subprocess
from collections.abc import Callable
from typing import Protocol, TypeAlias

from attrs import define, field, frozen

from assay.api import Limits, SandboxFailed
from assay_sandbox.cgroup_place import NoPlace, Place, find_place
from assay_sandbox.cgroup_tree import make_group, remove_group, remove_leftovers
from assay_sandbox.cgroups import Group
from assay_sandbox.guard import Guard
from assay_sandbox.resident import ResidentMemory
from assay_sandbox.scopes import (
    group_of,
    manager_environment,
    manager_program,
    scope_command,
)
from assay_sandbox.tables import read_table

__all__ = ["MemoryHold", "MemoryLayer", "memory_layer", "open_hold"]

Nsjail: TypeAlias = "subprocess.Popen[bytes]"

MIB = 1024**2
INIT_BYTES = 32 * MIB
"""Room for nsjail and the init."""

ANSWER_SECONDS = 5.0


@frozen
class MemoryLayer:
    """The layer in force; `state`, `found` and `fix` as in a Finding."""

    state: str
    layer: str
    found: str
    fix: str = ""
    place: Place | None = None
    manager: str | None = None

    @property
    def processor(self) -> str:
        """Which layer counts the processor time of all processes, with its state."""
        place = self.place
        counts = place is None or place.version == 2 or place.processor is not None
        return f"{self.state}: {self.layer}" if counts else "degraded: watchdog"


class MemoryHold(Protocol):
    """What bounds the memory of one jail, from before its start to after its end."""

    @property
    def prefix(self) -> list[str]:
        """What to put before nsjail's command."""
        ...

    @property
    def environment(self) -> dict[str, str]:
        """The environment that this needs."""
        ...

    def start(self, spawn: Callable[[], Nsjail]) -> Nsjail:
        """Start nsjail, which does nothing before it has its configuration."""
        ...

    def bind_again(self, limits: Limits, room: int) -> bool:
        """Bound it like `open_hold` before anything runs inside; False where it can't be."""
        ...

    def started(self, nsjail: int, init: int) -> Guard:
        """The jail is up; raises SandboxFailed when it is not bounded as it should be."""
        ...

    def release(self) -> None:
        """The jail is dead, or should be; idempotent."""
        ...


@frozen
class _GroupHold:
    place: Place
    group: Group
    limits: Limits
    prefix: list[str] = field(factory=list)
    environment: dict[str, str] = field(factory=dict)

    def start(self, spawn: Callable[[], Nsjail]) -> Nsjail:
        try:
            self.group.begin(self.limits)
            return self.group.start(spawn)
        except OSError:
            raise SandboxFailed("limits", "no process starts in a control group") from None

    def bind_again(self, limits: Limits, room: int) -> bool:
        try:
            self.group.bind(limits, room + INIT_BYTES)
        except OSError:
            return False
        return True

    def started(self, nsjail: int, init: int) -> Guard:
        return self.group

    def release(self) -> None:
        remove_group(self.place, self.group)


@frozen
class _ScopeHold:
    limits: Limits
    room: int
    prefix: list[str]
    environment: dict[str, str]

    def start(self, spawn: Callable[[], Nsjail]) -> Nsjail:
        """The manager puts it into its scope by itself."""
        return spawn()

    def bind_again(self, limits: Limits, room: int) -> bool:
        """The manager was told when it started."""
        return limits == self.limits and room + INIT_BYTES == self.room

    def started(self, nsjail: int, init: int) -> Guard:
        group = group_of(init, self.room)
        if group is None or not group.bounds(self.limits):
            raise SandboxFailed("limits", "the user's service manager does not bound memory")
        return group

    def release(self) -> None:
        """The manager removes a scope that is empty."""


@define
class _WatchedHold:
    room: int
    prefix: list[str] = field(factory=list)
    environment: dict[str, str] = field(factory=dict)

    def start(self, spawn: Callable[[], Nsjail]) -> Nsjail:
        """There is nothing to put it into."""
        return spawn()

    def bind_again(self, limits: Limits, room: int) -> bool:
        self.room = room + INIT_BYTES
        return True

    def started(self, nsjail: int, init: int) -> Guard:
        return ResidentMemory(init, self.room)

    def release(self) -> None:
        """Nothing was made."""


@functools.cache
def memory_layer() -> MemoryLayer:
    """The best layer here, found by trying each once a process; starts no jail."""
    place = find_place(
        read_table("/proc/self/mountinfo"),
        read_table("/proc/self/cgroup"),
        os.geteuid(),
    )
    if isinstance(place, Place):
        remove_leftovers(place)
        found = f"control groups, version {place.version}"
        layer = MemoryLayer("present", f"cgroup v{place.version}", found, place=place)
        if _works(layer):
            return layer
        place = NoPlace(f"{found}, but this process can't be put into one", "")
    if os.geteuid() != 0 and (manager := manager_program()) is not None:
        found = "a scope of the user's service manager"
        layer = MemoryLayer("present", "systemd scope", found, manager=manager)
        if _works(layer):
            return layer
    return MemoryLayer("degraded", "watchdog", place.reason, place.fix)


def open_hold(layer: MemoryLayer, limits: Limits, room: int) -> MemoryHold:
    """Prepare for one jail; `room`: bytes of its file systems in memory."""
    room += INIT_BYTES
    if layer.place is not None:
        return _GroupHold(layer.place, make_group(layer.place, room), limits)
    if layer.manager is not None:
        prefix = scope_command(layer.manager, limits, room)
        return _ScopeHold(limits, room, prefix, manager_environment())
    return _WatchedHold(room)


def _works(layer: MemoryLayer) -> bool:
    """Whether a harmless program can be held by this layer."""
    try:
        hold = open_hold(layer, Limits(), 0)
        try:
            return _holds(hold)
        finally:
            hold.release()
    except (OSError, SandboxFailed):
        return False


def _holds(hold: MemoryHold) -> bool:
    with hold.start(
        lambda: subprocess.Popen(
            [*hold.prefix, "/bin/cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=hold.environment,
            cwd="/",
            bufsize=0,
        )
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        try:
            program.stdin.write(b"\n")
            poll = select.poll()
            poll.register(program.stdout, select.POLLIN)
            if not poll.poll(ANSWER_SECONDS * 1000) or not program.stdout.read(1):
                return False
            hold.started(program.pid, program.pid)
            return True
        finally:
            program.kill()

"""One control group: it bounds what a jail holds, and counts what the kernel killed for it.

The bound is on everything in the jail together: processes and file systems in memory.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Protocol, TypeVar

from attrs import frozen

from assay.api import Limits, OutcomeStatus
from assay_sandbox.guard import Peak, Reached

__all__ = ["SUPERVISOR_PROCESSES", "Group"]

SUPERVISOR_PROCESSES = 4
"""nsjail, the init, and what each forks for a moment."""

OWN_PROCESSES = 2
"""Of those, what lives all the time."""

NANOSECONDS, MICROSECONDS = 1e9, 1e6
UNLIMITED = -1
THIS_THREAD = 0
MOST_BYTES = 4096
PAGE = os.sysconf("SC_PAGE_SIZE")


class Process(Protocol):
    """A started process, as subprocess has it."""

    pid: int

    def kill(self) -> None: ...

    def wait(self) -> int: ...


Spawned = TypeVar("Spawned", bound=Process)


@frozen
class _Files:
    """Names of what is read and written, by version."""

    limit: str
    swap: str
    peak: str
    events: str


FILES: Mapping[int, _Files] = {
    1: _Files(
        "memory.limit_in_bytes",
        "memory.memsw.limit_in_bytes",
        "memory.max_usage_in_bytes",
        "memory.oom_control",
    ),
    2: _Files("memory.max", "memory.swap.max", "memory.peak", "memory.events"),
}


class Group:
    """A group that exists; as a guard it tells when the kernel killed for memory.

    `memory` and `pids` are its folders, one and the same in version 2; `counter` is the one of
    version 1 that counts processor time. `room` is what a jail may hold beyond a command's own
    memory: its file systems, and the init.
    """

    interval = 0.05

    def __init__(
        self,
        version: int,
        memory: Path,
        pids: Path,
        room: int,
        layer: str = "cgroup",
        counter: Path | None = None,
    ) -> None:
        counting = () if counter is None else (counter,)
        self.folders = tuple(dict.fromkeys((memory, pids, *counting)))
        self.layer = layer
        self._counter = counter
        self._version, self._room = version, room
        files = FILES[version]
        self._limit, self._swap = f"{memory}/{files.limit}", f"{memory}/{files.swap}"
        self._peak, self._events = f"{memory}/{files.peak}", f"{memory}/{files.events}"
        self._processes, self._most_processes = f"{pids}/pids.max", f"{pids}/pids.peak"
        self._usage = f"{memory}/cpu.stat" if counter is None else f"{counter}/cpuacct.usage"
        self._bound: Limits | None = None
        self._killed, self._highest, self._crowd = 0, 0, 0

    def start(self, spawn: Callable[[], Spawned]) -> Spawned:
        """Start a process in the group; what it starts is in it too. Raises OSError.

        Moving a process makes the kernel wait for all processors, some milliseconds for each
        hierarchy. In version 1 a thread that ends afterwards goes there first, which is free.
        """
        if self._version == 2:
            spawned = spawn()
            try:
                _write(f"{self.folders[0]}/cgroup.procs", spawned.pid)
            except OSError:
                spawned.kill()
                spawned.wait()
                raise
            return spawned
        started: Future[Spawned] = Future()

        def enter_and_spawn() -> None:
            try:
                for folder in self.folders:
                    _write(f"{folder}/tasks", THIS_THREAD)
                started.set_result(spawn())
            except BaseException as failed:
                started.set_exception(failed)

        thread = threading.Thread(target=enter_and_spawn, name="assay-jail-start")
        thread.start()
        thread.join()
        return started.result()

    def begin(self, limits: Limits) -> None:
        """Bound what runs next, and count for it alone; raises OSError."""
        if self._version == 1:
            _write(self._peak, 0)
        if limits != self._bound:
            self._bind(limits)
        self._killed, self._highest = self._kills(), self._read_highest()
        self._crowd = _number(self._most_processes)

    def bind(self, limits: Limits, room: int) -> None:
        """Bound it like this from now on; raises OSError."""
        self._room = room
        self._bind(limits)

    def _bind(self, limits: Limits) -> None:
        most = limits.memory + self._room
        if self._version == 1:
            # Memory with swap is never bounded below memory alone, so it makes way first.
            with contextlib.suppress(FileNotFoundError):
                _write(self._swap, UNLIMITED)
        _write(self._limit, most)
        with contextlib.suppress(FileNotFoundError):
            _write(self._swap, most if self._version == 1 else 0)
        _write(self._processes, limits.processes + SUPERVISOR_PROCESSES)
        self._bound = limits

    def bounds(self, limits: Limits) -> bool:
        """Whether the kernel says that it holds these limits."""
        try:
            held = _read(self._limit).strip()
        except OSError:
            return False
        return held == b"%d" % ((limits.memory + self._room) // PAGE * PAGE)

    def reached(self) -> Reached | None:
        """Whether the kernel killed a process of the jail since `begin`."""
        if self._kills() > self._killed:
            return Reached(OutcomeStatus.MEMORY_LIMIT, "memory", self.layer)
        return None

    def peak(self) -> Peak:
        """The most since `begin`, as far as the kernel says and it was more than before."""
        memory, crowd = self._read_highest(), _number(self._most_processes)
        return Peak(
            memory=memory if memory > self._highest else 0,
            processes=max(0, crowd - OWN_PROCESSES) if crowd > self._crowd else 0,
        )

    def processor_seconds(self) -> float | None:
        """All that was ever used in it; None where the kernel does not count."""
        if self._version == 1:
            if self._counter is None:
                return None
            return _number(self._usage) / NANOSECONDS
        with contextlib.suppress(OSError):
            for line in _read(self._usage).splitlines():
                name, _, value = line.partition(b" ")
                if name == b"usage_usec":
                    return int(value) / MICROSECONDS
        return None

    def kill(self) -> None:
        """Kill every process in it but this one, a thread of which may have started it."""
        pids: set[int] = set()
        for folder in self.folders:
            with contextlib.suppress(OSError):
                pids |= {int(pid) for pid in (folder / "cgroup.procs").read_bytes().split()}
        for pid in pids - {os.getpid()}:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def _kills(self) -> int:
        with contextlib.suppress(OSError):
            for line in _read(self._events).splitlines():
                name, _, value = line.partition(b" ")
                if name == b"oom_kill":
                    return int(value)
        return self._killed

    def _read_highest(self) -> int:
        return _number(self._peak)


def _number(path: str) -> int:
    """The number in a file; 0 where there is none."""
    try:
        return int(_read(path))
    except OSError:
        return 0


def _read(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, MOST_BYTES)
    finally:
        os.close(file)


def _write(path: str, value: int) -> None:
    file = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(file, b"%d\n" % value)
    finally:
        os.close(file)

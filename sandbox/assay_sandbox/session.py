"""A live jail: commands one after the other, sharing /tmp, mounts and nothing else."""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import resource
import socket
import threading
from collections.abc import Mapping

import attrs

from assay.api import (
    Command,
    HostIds,
    InvalidInput,
    JailSpec,
    Limits,
    Outcome,
    SandboxFailed,
    UsageError,
)
from assay_sandbox.channel import SocketChannel, channel_variable
from assay_sandbox.init_request import MOST_REQUEST_BYTES, encode_request
from assay_sandbox.launch import Jail
from assay_sandbox.process import JailProcess

__all__ = ["JailSession", "check_limits", "resource_limits"]

MIB = 1024**2
MAX_CHANNELS = 8
SIGNALS_PENDING = 256
STACK_BYTES = 8 * MIB
LOCKED_BYTES = 64 * 1024
QUEUE_BYTES = 65536
_COUNTED = tuple(field.name for field in attrs.fields(Limits) if field.name != "address_space")
SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL

FIXED_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp/home",
    "TMPDIR": "/tmp",
    "XDG_CONFIG_HOME": "/tmp/home/.config",
    "XDG_CACHE_HOME": "/tmp/home/.cache",
    "XDG_DATA_HOME": "/tmp/home/.local/share",
    "XDG_STATE_HOME": "/tmp/home/.local/state",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}


def resource_limits(limits: Limits) -> list[tuple[int, tuple[int, int]]]:
    """The kernel's own limits for one command: resource number, soft and hard value."""
    fixed = {
        resource.RLIMIT_DATA: limits.memory,
        resource.RLIMIT_NPROC: limits.processes,
        resource.RLIMIT_FSIZE: limits.file_size,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_STACK: STACK_BYTES,
        resource.RLIMIT_MEMLOCK: LOCKED_BYTES,
        resource.RLIMIT_SIGPENDING: SIGNALS_PENDING,
        resource.RLIMIT_MSGQUEUE: QUEUE_BYTES,
        resource.RLIMIT_NICE: 0,
        resource.RLIMIT_RTPRIO: 0,
    }
    if limits.address_space:
        fixed[resource.RLIMIT_AS] = limits.address_space
    pairs = [(kind, (value, value)) for kind, value in fixed.items()]
    # SIGXCPU at the limit, so that it can be told from any other kill; SIGKILL a second later.
    return [*pairs, (resource.RLIMIT_CPU, (limits.cpu, limits.cpu + 1))]


def check_limits(limits: Limits) -> None:
    """Raise InvalidInput for a limit that could not be enforced."""
    if limits.address_space < 0 or not all(
        0 < getattr(limits, name) < math.inf for name in _COUNTED
    ):
        raise InvalidInput("every limit must be more than zero, and finite")


class JailSession:
    """Opened by the sandbox; close it, or use it as a context manager."""

    def __init__(self, jail: Jail, spec: JailSpec, ids: HostIds) -> None:
        self._jail, self._spec, self._ids = jail, spec, ids
        self._lock = threading.Lock()
        self._process: JailProcess | None = None
        self._number = 0
        self._channels: list[SocketChannel] = []
        self._closed = False

    def start(self, command: Command, channels: tuple[str, ...] = ()) -> JailProcess:
        """Start one command; the one before must have ended.

        A channel NAME (a lower-case word) is a stream socket inside, whose descriptor number
        is in `ASSAY_CHANNEL_` and the upper-case NAME.
        """
        process = self._begin(command, channels)
        process.watch_beside()
        return process

    def run(self, command: Command) -> Outcome:
        """Start a command and wait for its outcome."""
        process = self._begin(command)
        process.watch()
        return process.wait()

    def close(self) -> None:
        """End the jail; everything inside is dead when it returns. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            process = self._process
        if process is not None:
            process.kill()
            with contextlib.suppress(SandboxFailed):
                process.wait()
        self._jail.close()
        for channel in self._channels:
            channel.close()

    def __enter__(self) -> JailSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _begin(self, command: Command, channels: tuple[str, ...] = ()) -> JailProcess:
        with self._lock:
            if self._closed:
                raise UsageError("the session is closed")
            if self._process is not None and not self._process.finished:
                raise UsageError("a session runs one command at a time")
            self._number += 1
            self._process = self._start(command, channels, self._number)
            return self._process

    def _start(self, command: Command, names: tuple[str, ...], number: int) -> JailProcess:
        limits = command.limits or self._spec.limits
        check_limits(limits)
        if limits.tmp != self._spec.limits.tmp:
            raise UsageError("a command can't change the size of its session's /tmp")
        inside = (*names, *command.sockets)
        if len(set(inside)) != len(inside) or len(inside) > MAX_CHANNELS:
            raise UsageError(f"at most {MAX_CHANNELS} channels, each with a name of its own")
        variables = {channel_variable(name): str(3 + at) for at, name in enumerate(inside)}
        request = self._request(command, limits, variables)
        with contextlib.ExitStack() as theirs:
            channels: dict[str, SocketChannel] = {}
            with contextlib.ExitStack() as ours:
                fds = [_sealed(request, "assay-request", self._ids, theirs)]
                fds.append(_sealed(command.stdin, "assay-stdin", self._ids, theirs))
                reads = []
                for _ in range(2):
                    read, write = os.pipe2(os.O_CLOEXEC)
                    ours.callback(os.close, read)
                    theirs.callback(os.close, write)
                    os.set_blocking(read, False)
                    # So that the jailed user may open /dev/stdout by its name.
                    os.fchown(write, self._ids.uid, self._ids.gid)
                    reads.append(read)
                    fds.append(write)
                for name in names:
                    mine, peer = socket.socketpair()
                    channels[name] = SocketChannel(mine)
                    ours.callback(mine.close)
                    theirs.callback(peer.close)
                    fds.append(peer.fileno())
                fds += [given.fileno() for given in command.sockets.values()]
                try:
                    for guard in self._jail.guards:
                        guard.begin(limits)
                    socket.send_fds(self._jail.control, [b"start %d" % number], fds)
                except OSError:
                    raise SandboxFailed("start", "the jail is dead") from None
                ours.pop_all()
        self._channels += channels.values()
        return JailProcess(self._jail, number, limits, (reads[0], reads[1]), channels)

    def _request(self, command: Command, limits: Limits, variables: Mapping[str, str]) -> bytes:
        spec = self._spec
        if not command.argv or not command.argv[0]:
            raise InvalidInput("a command names no program")
        for argument in command.argv:
            if any(byte < 0x20 or byte == 0x7F for byte in argument):
                raise InvalidInput("a command's argument holds a control character")
        environment = {
            **FIXED_ENVIRONMENT,
            **spec.runtime.env,
            **spec.env,
            **command.env,
            **variables,
        }
        for name, value in environment.items():
            if not name or "=" in name or "\0" in name + value:
                raise InvalidInput("an environment variable has an illegal name or value")
        cwd = command.cwd or spec.cwd
        if not cwd.startswith("/") or any(ord(char) < 0x20 for char in cwd):
            raise InvalidInput("a command's directory must be absolute")
        request = encode_request(
            [bytes(argument) for argument in command.argv],
            [(name.encode(), value.encode()) for name, value in environment.items()],
            cwd.encode(),
            resource_limits(limits),
        )
        if len(request) > MOST_REQUEST_BYTES:
            raise InvalidInput("a command and its environment are larger than 1 MiB")
        return request


def _sealed(content: bytes, name: str, ids: HostIds, stack: contextlib.ExitStack) -> int:
    """A read-only memory file with this content, at its start."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    stack.callback(os.close, descriptor)
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.fchown(descriptor, ids.uid, ids.gid)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
    return descriptor

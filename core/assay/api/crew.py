"""Helper processes for work on large trees: started once, used by one piece of work at a time.

They are new interpreters, never forks, and end with this process: each lives on one socket that
nobody else holds. One that dies costs the task it held, which its owner does again or gives up;
no answer is ever half a one.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import define, field

from assay.api import errors
from assay.api.helper import CLOSE, DONE, OPEN, TASK, receive, send

__all__ = ["PROCESSES", "Team", "assemble", "dismiss", "processes", "running"]

PROCESSES = "ASSAY_TREE_PROCESSES"
"""Environment variable: how many helpers there may be; fewer than 2 means none."""

_MOST = 4
_TASKS = 2
"""Tasks that a helper has at one time: it need not wait while its answer is looked at."""
_STOP_SECONDS = 2.0
_PROGRAM = (
    "import sys\n"
    "sys.path[:] = sys.argv[2:]\n"
    "from assay.api.helper import serve\n"
    "serve(int(sys.argv[1]))\n"
)
_ERRORS = ("CopyFailed", "CopyMismatch", "Fault", "NoSpace", "TreeChanged", "TreeLimit")


def processes() -> int:
    """How many helpers this process may have: the setting, else one for each processor."""
    chosen = os.environ.get(PROCESSES, "")
    if chosen.isascii() and chosen.isdigit():
        # Python refuses to read a number of thousands of digits.
        return min(int(chosen), _MOST) if len(chosen) < 18 else _MOST
    return min(len(os.sched_getaffinity(0)), _MOST)


@define(eq=False)
class _Helper:
    process: subprocess.Popen[bytes]
    peer: socket.socket
    ready: bool = False
    tasks: deque[Any] = field(factory=deque)

    def alive(self) -> bool:
        return self.peer.fileno() >= 0

    def end(self) -> None:
        """Kill it; nothing that it was doing goes on."""
        self.process.kill()
        self.peer.close()
        self.process.wait()


@define(eq=False)
class _Crew:
    """The helpers of this process, and who has them."""

    helpers: list[_Helper] = field(factory=list)
    taken: threading.Lock = field(factory=threading.Lock)

    def muster(self, count: int) -> list[_Helper]:
        """Start what is missing, and leave out what died; none when none can be started."""
        self.helpers = [helper for helper in self.helpers if _lives(helper)]
        with contextlib.suppress(OSError):
            while len(self.helpers) < count:
                self.helpers.append(_start())
        return self.helpers[:count]


_CREW = _Crew()


def running() -> bool:
    """Whether there are helpers already, so that using them costs no start."""
    return bool(_CREW.helpers)


def assemble(job: str, descriptors: Sequence[int], argument: Any) -> Team | None:
    """Helpers for a job, `module:class` of a Job; None when there are none to be had.

    That is so when the setting says so, and while another thread has them.
    """
    count = processes()
    if count < 2 or not _CREW.taken.acquire(blocking=False):
        return None
    try:
        helpers = _CREW.muster(count)
        team = Team(helpers, (job, argument), tuple(descriptors))
    except BaseException:
        _CREW.taken.release()
        raise
    if not helpers:
        team.close()
        return None
    return team


@define(eq=False)
class Team:
    """Helpers at work on one job; `close` gives them back, and ends those still at work."""

    _helpers: list[_Helper]
    _opening: tuple[str, Any]
    _descriptors: tuple[int, ...]
    _opened: list[_Helper] = field(factory=list, init=False)
    _heard: list[tuple[_Helper, Any]] = field(factory=list, init=False)
    _closed: bool = field(default=False, init=False)

    def ready(self) -> bool:
        """Whether there is a helper that has started; never waits."""
        self._listen(0)
        return any(helper.ready for helper in self._helpers)

    @property
    def size(self) -> int:
        """How many helpers live."""
        return len(self._helpers)

    @property
    def busy(self) -> bool:
        """Whether an answer is still to come."""
        return bool(self._heard) or any(helper.tasks for helper in self._helpers)

    def submit(self, task: Any) -> bool:
        """Give a task to the helper with the fewest; False when all have enough.

        Of a job's tasks and answers, one kind must fit into a socket's buffer twice, so that
        never both ends wait for the other to read.
        """
        waiting = [h for h in self._helpers if h.ready and len(h.tasks) < _TASKS]
        return any(
            self._give(helper, task) for helper in sorted(waiting, key=lambda h: len(h.tasks))
        )

    def answers(self) -> Iterator[tuple[Any, Any]]:
        """Wait for answers: each task with its answer, or with None when its helper died.

        Raises what the job raised.
        """
        if not self._heard:
            self._listen(None if self.busy else 0)
        heard, self._heard = self._heard, []
        for helper, frame in heard:
            if frame is None:
                while helper.tasks:
                    yield helper.tasks.popleft(), None
                continue
            kind, value = frame
            if kind != DONE:
                raise _error(*value)
            yield helper.tasks.popleft(), value

    def close(self) -> None:
        """Idempotent."""
        if self._closed:
            return
        self._closed = True
        try:
            for helper in self._helpers:
                if helper.tasks:
                    helper.tasks.clear()
                    helper.end()
                elif helper in self._opened:
                    with contextlib.suppress(OSError):
                        send(helper.peer, (CLOSE, None))
        finally:
            _CREW.taken.release()

    def _give(self, helper: _Helper, task: Any) -> bool:
        try:
            if helper not in self._opened:
                send(helper.peer, (OPEN, self._opening), self._descriptors)
                self._opened.append(helper)
            send(helper.peer, (TASK, task))
        except OSError:
            self._lose(helper)
            return False
        helper.tasks.append(task)
        return True

    def _listen(self, timeout: int | None) -> None:
        """Keep the frames that are there; None is for a helper that is gone."""
        poll = select.poll()
        by_descriptor = {helper.peer.fileno(): helper for helper in self._helpers}
        for descriptor in by_descriptor:
            poll.register(descriptor, select.POLLIN)
        for descriptor, _ in poll.poll(timeout):
            helper = by_descriptor[descriptor]
            try:
                frame = receive(helper.peer)[0]
            except (EOFError, OSError):
                self._lose(helper)
                continue
            if helper.ready:
                self._heard.append((helper, frame))
            helper.ready = True

    def _lose(self, helper: _Helper) -> None:
        """It is gone; what it had to do comes back with the answers."""
        self._helpers.remove(helper)
        self._heard.append((helper, None))
        helper.end()


def _error(name: str, message: str) -> errors.AssayError:
    kind = getattr(errors, name) if name in _ERRORS else errors.Fault
    error: errors.AssayError = kind(message)
    return error


def _start() -> _Helper:
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-S", "-X", "utf8", "-c", _PROGRAM),
                    str(theirs.fileno()),
                    *filter(None, sys.path),
                ],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except BaseException:
            ours.close()
            raise
    return _Helper(process, ours)


def _lives(helper: _Helper) -> bool:
    if helper.alive() and helper.process.poll() is None:
        return True
    helper.end()
    return False


@atexit.register
def dismiss() -> None:
    """End all helpers of this process, as its own end does; the next large tree starts others."""
    for helper in _CREW.helpers:
        helper.peer.close()
    for helper in _CREW.helpers:
        try:
            helper.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            helper.end()
    _CREW.helpers.clear()


def _forget() -> None:
    """In the child of a fork: the helpers are the parent's."""
    for helper in _CREW.helpers:
        helper.peer.close()
        helper.process.returncode = 0
    _CREW.helpers.clear()
    _CREW.taken = threading.Lock()


os.register_at_fork(after_in_child=_forget)

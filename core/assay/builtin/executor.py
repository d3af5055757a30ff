"""Local executor: one trial at a time in each of a few worker processes.

Workers are new interpreters, so no state of the caller leaks into a trial, and they are this
process's only children: whoever waits for a run waits for all that it started. A worker that
dies costs exactly the trial it held, which comes back `invalid(worker-lost)`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, ClassVar

from attrs import define, field

from assay.api import (
    AssayError,
    ExecutorSetup,
    Reason,
    TrialFactory,
    TrialRecord,
    TrialSpec,
    Trust,
    Verdict,
    VerdictStatus,
)
from assay.api.crew import PROCESSES, processes

__all__ = ["LocalExecutor"]

_STOP_SECONDS = 15.0
_PROGRAM = """
import sys
from multiprocessing.connection import Connection
pipe = Connection(int(sys.argv[1]))
sys.path[:] = pipe.recv()
from assay.builtin.executor import work
work(pipe)
"""


class LocalExecutor:
    """Worker processes on this host."""

    api: ClassVar[str] = "1.0"
    name: ClassVar[str] = "local"

    def open(self, setup: ExecutorSetup) -> LocalPool:
        """Start nothing yet; workers start with the first specs."""
        return LocalPool(setup)


@define(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    pipe: Connection
    spec: TrialSpec | None = None


@define(eq=False)
class LocalPool:
    """The workers of one run."""

    setup: ExecutorSetup
    _workers: list[_Worker] = field(factory=list, init=False)
    _cancelled: bool = field(default=False, init=False)

    def run(self, specs: Iterable[TrialSpec]) -> Iterator[TrialRecord]:
        """One record per spec, in order of completion; specs are taken as workers get free."""
        waiting = iter(specs)
        exhausted = False
        while True:
            while not exhausted and not self._cancelled:
                worker = self._idle_worker()
                if worker is None:
                    break
                spec = next(waiting, None)
                if spec is None:
                    exhausted = True
                    break
                worker.spec = spec
                with contextlib.suppress(OSError):
                    worker.pipe.send(spec)
                if self._cancelled:
                    worker.process.terminate()
            busy = [worker for worker in self._workers if worker.spec is not None]
            if not busy:
                break
            yield from self._collect(busy)
        if self._cancelled:
            for spec in waiting:
                yield failed_record(spec, Reason.CANCELLED, "the run was cancelled")

    def _idle_worker(self) -> _Worker | None:
        for worker in self._workers:
            if worker.spec is None:
                return worker
        if len(self._workers) >= self.setup.workers:
            return None
        worker = _start(self.setup.factory, self.setup.workers)
        self._workers.append(worker)
        return worker

    def _collect(self, busy: list[_Worker]) -> Iterator[TrialRecord]:
        ready = wait([worker.pipe for worker in busy])
        for worker in busy:
            if worker.pipe not in ready or worker.spec is None:
                continue
            try:
                answer = worker.pipe.recv()
            except (EOFError, OSError):
                self._workers.remove(worker)
                _stop(worker)
                reason = Reason.CANCELLED if self._cancelled else Reason.WORKER_LOST
                text = "the run was cancelled" if self._cancelled else "the worker process died"
                yield failed_record(worker.spec, reason, text)
                continue
            if isinstance(answer, AssayError):
                raise answer
            worker.spec = None
            yield answer

    def cancel(self) -> None:
        """Stop every running trial; each worker closes its jails and removes its folders."""
        self._cancelled = True
        for worker in self._workers:
            worker.process.terminate()

    def close(self) -> None:
        """End the workers; a busy one is cancelled first. Idempotent."""
        for worker in self._workers:
            if worker.spec is not None:
                worker.process.terminate()
            worker.pipe.close()
        for worker in self._workers:
            _stop(worker)
        self._workers.clear()


def failed_record(spec: TrialSpec, reason: Reason, error: str) -> TrialRecord:
    """The record of a trial that never came to a verdict of its own."""
    verdict = Verdict(VerdictStatus.INVALID, (reason,), Trust.UNGUARDED, "executor")
    return TrialRecord(spec, verdict, error=error, retryable=reason is Reason.WORKER_LOST)


def _start(factory: TrialFactory, workers: int) -> _Worker:
    ours, theirs = Pipe()
    # Helpers of all workers together are as many as this process alone might have.
    share = str(processes() // max(1, workers))
    # A terminal's interrupt reaches the whole group; a worker that is still starting must
    # not die of it, since its parent will say what to do.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        # -P: the current folder, which may be anybody's, is no place for modules.
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            env={**os.environ, PROCESSES: share},
        )
    except BaseException:
        ours.close()
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        theirs.close()
    # One that died already is noticed when its first trial is collected.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        ours.send(sys.path)
        ours.send(factory)
    return _Worker(process, ours)


def _stop(worker: _Worker) -> None:
    worker.pipe.close()
    try:
        worker.process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        worker.process.kill()
        worker.process.wait()


def work(pipe: Connection) -> None:
    """What a worker process does: receive the factory, then run specs until the pipe ends."""
    # A handler, unlike SIG_IGN, is not inherited by the programs that a trial starts.
    signal.signal(signal.SIGINT, _leave_it_to_the_parent)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGTERM, _interrupt)
    os.set_inheritable(pipe.fileno(), False)
    parent = os.getppid()
    try:
        run_trial = pipe.recv()()
        while os.getppid() == parent:
            spec = pipe.recv()
            answer: Any
            try:
                answer = run_trial(spec)
            except AssayError as error:
                answer = error
            pipe.send(answer)
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return
    except AssayError as error:
        with contextlib.suppress(OSError):
            pipe.send(error)


def _leave_it_to_the_parent(number: int, frame: object) -> None:
    return


def _interrupt(number: int, frame: object) -> None:
    # One cancellation is enough: a second signal must not break into the cleaning up. And it
    # is no Exception, which a plugin's own handling could take for something of its own.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt

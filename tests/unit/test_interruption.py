"""Signals during a run are noted once, passed on, and put back afterwards."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterable, Iterator

import pytest

from assay.api import TrialRecord, TrialSpec
from assay.interruption import Interruption, ending_signals, interruptible


class CountingPool:
    """A pool that only counts how often it was cancelled."""

    cancelled = 0

    def run(self, specs: Iterable[TrialSpec]) -> Iterator[TrialRecord]:
        return iter(())

    def cancel(self) -> None:
        self.cancelled += 1

    def close(self) -> None:
        return


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_cancels_once_and_handlers_come_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    pool = CountingPool()
    with interruptible() as interruption:
        interruption.watch(pool)
        for _ in range(3):
            os.kill(os.getpid(), number)
        assert interruption.number == number
    assert pool.cancelled == 1
    assert signal.getsignal(number) is before


def test_a_signal_before_there_is_a_pool_is_not_lost() -> None:
    pool = CountingPool()
    with interruptible() as interruption:
        os.kill(os.getpid(), signal.SIGTERM)
        interruption.watch(pool)
    assert pool.cancelled == 1


def test_the_end_of_a_terminal_does_not_end_a_run_under_nohup() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert signal.SIGHUP not in ending_signals()
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        assert signal.SIGHUP in ending_signals()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_change_no_handler() -> None:
    found: list[object] = []

    def run() -> None:
        before = signal.getsignal(signal.SIGINT)
        with interruptible() as interruption:
            found.append(isinstance(interruption, Interruption))
            found.append(signal.getsignal(signal.SIGINT) is before)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [True, True]

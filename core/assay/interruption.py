"""Signals that end a run: noted, passed on to the pool, and never in the way of cleaning up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.api import Pool

__all__ = ["Interruption", "ending_signals", "interruptible"]


class Interruption:
    """The first signal that arrived, if any, and the pool that is told of it."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._pool: Pool | None = None

    def watch(self, pool: Pool) -> None:
        """Cancel this pool when a signal arrives, or now when one has arrived already."""
        self._pool = pool
        if self.number is not None:
            pool.cancel()

    def arrived(self, number: int, frame: FrameType | None) -> None:
        """The handler; a second signal changes nothing, since all is ending already."""
        if self.number is None:
            self.number = number
            if self._pool is not None:
                self._pool.cancel()


def ending_signals() -> tuple[signal.Signals, ...]:
    """What asks a command to end; the end of a terminal does not under nohup."""
    always = (signal.SIGINT, signal.SIGTERM)
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return always if ignored else (*always, signal.SIGHUP)


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Note signals instead of ending; on other threads than the main one, change nothing."""
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    previous = {number: signal.signal(number, interruption.arrived) for number in ending_signals()}
    try:
        yield interruption
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)

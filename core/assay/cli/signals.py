"""Signals that end a command where no run handles them itself."""

from __future__ import annotations

import signal

from assay.api.errors import Cancelled
from assay.interruption import ending_signals

__all__ = ["Stopped", "stop_by_exception"]


class Stopped(BaseException):
    """A signal asks the command to end; temporary folders are removed on the way out."""

    def __init__(self, number: int) -> None:
        self.exit_code = Cancelled.exit_code if number == signal.SIGINT else 128 + signal.SIGTERM
        super().__init__(number)


def stop_by_exception() -> None:
    """Let an interrupt, SIGTERM and the end of the terminal unwind the stack."""
    for number in ending_signals():
        signal.signal(number, _stop)


def _stop(number: int, frame: object) -> None:
    # One is enough: a second signal must not break into the cleaning up.
    for other in ending_signals():
        signal.signal(other, signal.SIG_IGN)
    raise Stopped(number)

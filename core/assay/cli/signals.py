"""Signals that end a command where no run handles them itself."""

from __future__ import annotations

import signal

__all__ = ["Stopped", "stop_by_exception"]


class Stopped(BaseException):
    """A signal asks the command to end; temporary folders are removed on the way out."""

    def __init__(self, number: int) -> None:
        self.exit_code = 128 + number
        super().__init__(number)


def stop_by_exception() -> None:
    """Let SIGTERM unwind the stack, as SIGINT does, instead of ending the process at once."""
    signal.signal(signal.SIGTERM, _stop)


def _stop(number: int, frame: object) -> None:
    raise Stopped(number)

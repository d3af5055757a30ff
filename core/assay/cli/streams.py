"""Standard streams that may be closed, full, or without a reader.

What happens to the output must not change what happens to the run: a stream that fails is
pointed at the null device, the command goes on, and how it failed is told at the end.
"""

from __future__ import annotations

import io
import os
import sys
from typing import BinaryIO, TextIO, cast

__all__ = ["guard_streams", "output_failure"]

_STDOUT, _STDERR = 1, 2


class GuardedStream(io.TextIOWrapper):
    """Text output that never raises; `failure` keeps the first error of the system's."""

    failure: OSError | None = None

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError as error:
            self._give_up(error)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self.failure = self.failure or error
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self.fileno())
        os.close(null)
        super().flush()


def guard_streams() -> None:
    """Put guarded streams in place of standard output and standard error.

    A standard descriptor that is closed is opened on the null device first: the next file
    that is opened would get its number, and be written to by whoever prints.
    """
    for descriptor in (0, _STDOUT, _STDERR):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdout = _guarded(sys.stdout, _STDOUT)
    sys.stderr = _guarded(sys.stderr, _STDERR)


def output_failure() -> str:
    """Why standard output could not be written, or nothing; a reader may leave early."""
    sys.stdout.flush()
    failure = sys.stdout.failure if isinstance(sys.stdout, GuardedStream) else None
    if failure is None or isinstance(failure, BrokenPipeError):
        return ""
    return os.strerror(failure.errno or 0)


def _guarded(stream: TextIO | None, descriptor: int) -> TextIO:
    if stream is None:
        buffer: BinaryIO = open(descriptor, "wb", closefd=False)  # noqa: SIM115
        encoding = "utf-8"
    else:
        encoding = stream.encoding
        buffer = cast("BinaryIO", cast("io.TextIOWrapper", stream).detach())
    # What the terminal's encoding lacks is shown as an escape.
    return GuardedStream(buffer, encoding, "backslashreplace", line_buffering=True)

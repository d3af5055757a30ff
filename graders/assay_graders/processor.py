"""One processor for a conversation whose sides never work at the same time.

Whoever is asked next sleeps on another processor otherwise, and waking it there costs more than
the question. A processor is claimed on this host, so that no two conversations share one while
others are idle; when all are taken, the kernel decides as always.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

__all__ = ["claimed_processor", "kept_on", "running_on"]

_TASKSET = "/usr/bin/taskset"
_NAME = "\0assay-processor-{}"
"""Name of a socket that is bound, and nothing else, for as long as a claim lasts."""


@contextlib.contextmanager
def claimed_processor() -> Iterator[int | None]:
    """The number of a processor that nobody else claims meanwhile; None if there is none."""
    numbers = sorted(os.sched_getaffinity(0), reverse=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as claim:
        yield next(filter(lambda number: _bound(claim, number), numbers[:-1] and numbers), None)


def _bound(claim: socket.socket, number: int) -> bool:
    try:
        claim.bind(_NAME.format(number))
    except OSError:
        return False
    return True


def kept_on(number: int | None) -> tuple[str, ...]:
    """What stands before a command of a jail, so that it stays on this processor.

    Nothing for None, and where the system has no program for it: it is then slower, no more.
    """
    if number is None or not Path(_TASKSET).is_file():
        return ()
    return (_TASKSET, "--cpu-list", str(number))


@contextlib.contextmanager
def running_on(number: int | None) -> Iterator[None]:
    """This thread runs on this processor only, in here; None leaves it as it is."""
    if number is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {number})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)

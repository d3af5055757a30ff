"""Who of a worker's threads may speak to the driver, and when.

Requests and questions are nested in one another, and answers come in the opposite order. While
a request is being performed any thread of the candidate's may put a question; while a question
is open only the thread that put it listens; while neither is under way nobody speaks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["Floor"]


class Floor:
    """What is under way, the innermost last: requests by positive numbers, questions by others."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._under_way: list[int] = []
        self._changes = threading.Condition()
        self._waiting = 0

    def begin(self, number: int) -> None:
        """A request has arrived, and is going to be performed."""
        with self._changes:
            self._push(number)

    def answer(self, number: int, frame: bytes) -> None:
        """Send an answer as soon as nothing is open that began after this request."""
        with self._changes:
            if self._under_way[-1] != number:
                self._wait_for(lambda: self._under_way[-1] == number)
            self._under_way.pop()
            self._send(frame)
            self._tell()

    def ask(self, number: int, frame: bytes) -> None:
        """Send a question as soon as the driver listens: it waits for a request's answer."""
        with self._changes:
            self._wait_for(lambda: bool(self._under_way) and self._under_way[-1] >= 0)
            self._push(number)
            self._send(frame)

    def end(self) -> None:
        """The innermost question has been answered."""
        with self._changes:
            self._under_way.pop()
            self._tell()

    def _push(self, number: int) -> None:
        self._under_way.append(number)
        self._tell()

    def _wait_for(self, holds: Callable[[], bool]) -> None:
        self._waiting += 1
        try:
            self._changes.wait_for(holds)
        finally:
            self._waiting -= 1

    def _tell(self) -> None:
        if self._waiting:
            self._changes.notify_all()

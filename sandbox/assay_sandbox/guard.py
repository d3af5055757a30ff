"""Guards: what watches a running command for a limit that holds for a whole jail."""

from __future__ import annotations

import time
from typing import Protocol

from attrs import frozen

from assay.api import Limits, OutcomeStatus

__all__ = ["Guard", "Peak", "Reached", "Watch"]


@frozen
class Reached:
    """A limit that was reached, how that ends the command, and the layer that found it."""

    status: OutcomeStatus
    limit: str
    layer: str


@frozen
class Peak:
    """The most that was there at one time: bytes of memory, processes; 0 for what is not seen."""

    memory: int = 0
    processes: int = 0


class Guard(Protocol):
    """Looked at by the supervisor every `interval` seconds while a command runs."""

    interval: float

    def begin(self, limits: Limits) -> None:
        """A command starts; what came before does not count for it."""
        ...

    def reached(self) -> Reached | None:
        """The limit that was reached since then."""
        ...

    def peak(self) -> Peak:
        """The most that it saw at one time since `begin`."""
        ...


class Watch:
    """Looks at a guard no more often than it asks for."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self._next = 0.0

    def look(self) -> Reached | None:
        """The limit that was reached, if it is time to look."""
        now = time.monotonic()
        if now < self._next:
            return None
        self._next = now + self.guard.interval
        return self.guard.reached()

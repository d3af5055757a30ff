"""A spare: an nsjail that is started ahead, so that the next jail does not wait for its start.

It is a process of its own for one jail, like any other, with a socket, note and control group of
its own; only the time of its start differs. There is at most one in a process, only while somebody
keeps the sandbox warm, and never in a forked child.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

from assay.api import Limits, SandboxFailed
from assay_sandbox.configuration import LaunchPlan
from assay_sandbox.waiting import Waiting, start_waiting

__all__ = ["SPARES", "Spares"]


class Spares:
    """The spare of this process, if there is one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keepers = 0
        self._spare: Waiting | None = None

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Spares are made from the next jail on; the last one goes at the end."""
        with self._lock:
            self._keepers += 1
        try:
            yield
        finally:
            with self._lock:
                self._keepers -= 1
                left = None if self._keepers else self._pop()
            if left is not None:
                left.abandon()

    def take(self, plan: LaunchPlan, limits: Limits, room: int) -> Waiting | None:
        """The spare, bounded as this jail needs it; None when there is none that can serve."""
        with self._lock:
            spare = self._pop()
        if spare is None:
            return None
        if spare.can_serve(plan, limits, room):
            return spare
        spare.abandon()
        return None

    def provide(self, plan: LaunchPlan, limits: Limits, room: int) -> None:
        """Start one for a jail like this, if somebody keeps one and there is none.

        What fails here will fail again, loudly, when the next jail starts its own.
        """
        with self._lock:
            if self._keepers and self._spare is None:
                with contextlib.suppress(OSError, SandboxFailed):
                    self._spare = start_waiting(plan, limits, room)

    def forget(self) -> None:
        """In a forked child: the spare is its parent's, and ends with that one."""
        self._lock = threading.Lock()
        spare = self._pop()
        if spare is not None:
            spare.control.close()
            spare.nsjail.close()
            spare.note.close()

    def _pop(self) -> Waiting | None:
        spare, self._spare = self._spare, None
        return spare


SPARES = Spares()
os.register_at_fork(after_in_child=SPARES.forget)

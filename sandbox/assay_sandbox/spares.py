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
        self._keepers: set[object] = set()
        self._starting = False
        self._spare: Waiting | None = None

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Spares are made from the next jail on; the last one goes at the end."""
        keeper = object()
        with self._lock:
            self._keepers.add(keeper)
        try:
            yield
        finally:
            with self._lock:
                self._keepers.discard(keeper)
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
            if not self._keepers or self._spare is not None or self._starting:
                return
            self._starting = True
        made = None
        try:
            with contextlib.suppress(OSError, SandboxFailed):
                made = start_waiting(plan, limits, room)
        finally:
            with self._lock:
                self._starting = False
                if self._keepers:
                    self._spare, made = made, None
        if made is not None:
            made.abandon()

    def forget(self) -> None:
        """In a forked child: spare and keepers are its parent's, and end with that one."""
        self._lock, self._starting = threading.Lock(), False
        self._keepers.clear()
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

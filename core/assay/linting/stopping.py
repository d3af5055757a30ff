"""A sandbox whose jails can all be ended from another thread, so that nobody waits for them."""

from __future__ import annotations

from threading import Lock
from typing import ClassVar

from assay.api import (
    Cancelled,
    JailSpec,
    Sandbox,
    Session,
)
from assay.wrapped import WrappedSandbox

__all__ = ["StoppableSandbox"]


class StoppableSandbox(WrappedSandbox):
    """Another sandbox, until `stop`: then its jails are dead, and it makes no more."""

    api: ClassVar[str] = "1.0"
    name: ClassVar[str] = "stoppable"

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(sandbox)
        self._lock = Lock()
        self._sessions: list[Session] = []
        self._is_stopped = False

    def open(self, spec: JailSpec) -> Session:
        """A session of the other one; raises Cancelled after `stop`."""
        if self._is_stopped:
            raise Cancelled("the work was stopped")
        session = self._sandbox.open(spec)
        with self._lock:
            self._sessions.append(session)
        if self._is_stopped:
            session.close()
        return session

    def stop(self) -> None:
        """End all jails, whoever waits for them."""
        self._is_stopped = True
        with self._lock:
            sessions = tuple(self._sessions)
        for session in sessions:
            session.close()

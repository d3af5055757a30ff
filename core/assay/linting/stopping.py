"""A sandbox whose jails can all be ended from another thread, so that nobody waits for them."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any, ClassVar

from assay.api import (
    Cancelled,
    Capabilities,
    Finding,
    Hasher,
    JailSpec,
    Mount,
    Runtime,
    Sandbox,
    Session,
    Store,
    Support,
)

__all__ = ["StoppableSandbox"]


class StoppableSandbox:
    """Another sandbox, until `stop`: then its jails are dead, and it makes no more."""

    api: ClassVar[str] = "1.0"
    name: ClassVar[str] = "stoppable"

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._lock = Lock()
        self._sessions: list[Session] = []
        self._is_stopped = False

    def capabilities(self) -> Capabilities:
        """What the other one can do."""
        return self._sandbox.capabilities()

    def diagnose(self) -> tuple[Finding, ...]:
        """What matters to the other one."""
        return self._sandbox.diagnose()

    def runtime(self, spec: Mapping[str, Any], store: Store, hasher: Hasher) -> Runtime:
        """A runtime of the other one."""
        return self._sandbox.runtime(spec, store, hasher)

    def mountable(self, mounts: tuple[Mount, ...]) -> Support:
        """Whether the other one can mount them."""
        return self._sandbox.mountable(mounts)

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

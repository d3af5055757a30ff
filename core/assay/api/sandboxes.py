"""What a sandbox implements: jails, the commands in them, and private channels."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from socket import socket
from typing import Any, ClassVar, Protocol, runtime_checkable

from assay.api.jail import (
    Capabilities,
    Command,
    Finding,
    JailSpec,
    Mount,
    Outcome,
    Runtime,
)
from assay.api.workspaces import Hasher, Store, Support

__all__ = ["Channel", "ChannelFault", "Process", "Sandbox", "Session", "Warm"]


class ChannelFault(Exception):
    """A channel's peer broke the framing or stayed silent; the jail's side is at fault."""


class Channel(Protocol):
    """A private framed message stream between the host and a jailed process."""

    def send(self, message: bytes) -> None:
        """One frame: length as 4 bytes big-endian, then the bytes."""
        ...

    def recv(self, cap: int, deadline: float) -> bytes | None:
        """The next frame, or None at its end; `deadline` is on the monotonic clock.

        Raises ChannelFault for a frame above `cap`, a cut frame or a passed deadline.
        """
        ...

    def receive_socket(self, deadline: float) -> socket | None:
        """A socket that the peer hands over, with one byte and before any frame, or None.

        Raises ChannelFault for a passed deadline.
        """
        ...

    def close(self) -> None: ...


class Process(Protocol):
    """One started command."""

    @property
    def channels(self) -> Mapping[str, Channel]: ...

    def wait(self, deadline: float | None = None) -> Outcome:
        """The outcome; a limit is an outcome. At `deadline` (monotonic) it is killed."""
        ...

    def kill(self) -> None:
        """Stop it and everything it started; `wait` then says CANCELLED."""
        ...


class Session(Protocol):
    """A live jail; /tmp and the workspace persist between its commands."""

    def start(self, command: Command, channels: tuple[str, ...] = ()) -> Process:
        """Start one command at a time.

        A channel NAME is a descriptor whose number is in `ASSAY_CHANNEL_NAME` inside.
        """
        ...

    def run(self, command: Command) -> Outcome: ...

    def close(self) -> None:
        """Everything inside is dead when it returns; idempotent."""
        ...

    def __enter__(self) -> Session: ...

    def __exit__(self, *exc: object) -> None: ...


class Sandbox(Protocol):
    """Makes jails."""

    api: ClassVar[str]
    name: ClassVar[str]

    def capabilities(self) -> Capabilities:
        """What works here; never raises.

        Whatever jails of dead supervisors left on the host is ended and removed first.
        """
        ...

    def diagnose(self) -> tuple[Finding, ...]:
        """Every layer of this host that matters to jails; never raises, never needs root."""
        ...

    def runtime(self, spec: Mapping[str, Any], store: Store, hasher: Hasher) -> Runtime:
        """Prepare a declared runtime, verified when it was there; raises RuntimeUnavailable.

        An empty `spec` is the default one: this interpreter and the installed test tools.
        """
        ...

    def open(self, spec: JailSpec) -> Session:
        """A live session; raises SandboxUnavailable or SandboxFailed."""
        ...

    def mountable(self, mounts: tuple[Mount, ...]) -> Support:
        """Whether a trivial jail starts with these mounts, found out by starting one."""
        ...


@runtime_checkable
class Warm(Protocol):
    """A sandbox that can start ahead what every jail needs, and share nothing by it."""

    def warm(self) -> AbstractContextManager[None]:
        """While it is open, the next jail waits less; at its end nothing of it is left."""
        ...

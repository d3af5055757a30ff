"""A sandbox that notes what each command in its jails took.

What is noted are outcomes, so nothing that a jailed program says of itself counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import frozen

from assay.api import (
    Channel,
    Command,
    JailSpec,
    Outcome,
    Process,
    Sandbox,
    Session,
)
from assay.wrapped import WrappedSandbox

__all__ = ["MeteredSandbox", "unmetered"]


class MeteredSandbox(WrappedSandbox):
    """Another sandbox, and the most that any of its commands took.

    `most` has the names of limits: `cpu` in seconds, `memory` and `output` in bytes, `processes`.
    """

    api: ClassVar[str] = "1.0"
    name: ClassVar[str] = "metered"

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(sandbox)
        self.most: dict[str, float] = {}

    def open(self, spec: JailSpec) -> Session:
        """A session of the other one whose commands are noted."""
        return _MeteredSession(self._sandbox.open(spec), self)

    def plain(self) -> Sandbox:
        """The other one."""
        return self._sandbox

    def note(self, outcome: Outcome) -> Outcome:
        """One command has ended."""
        took = {
            "cpu": outcome.cpu,
            "memory": outcome.peak_memory,
            "processes": outcome.processes,
            "output": max(outcome.stdout.total, outcome.stderr.total),
        }
        for name, amount in took.items():
            self.most[name] = max(amount, self.most.get(name, 0))
        return outcome


def unmetered(sandbox: Sandbox) -> Sandbox:
    """The same sandbox, for what is not the candidate's and so must not count."""
    return sandbox.plain() if isinstance(sandbox, MeteredSandbox) else sandbox


@frozen
class _MeteredSession:
    session: Session
    meter: MeteredSandbox

    def start(self, command: Command, channels: tuple[str, ...] = ()) -> Process:
        return _MeteredProcess(self.session.start(command, channels), self.meter)

    def run(self, command: Command) -> Outcome:
        return self.meter.note(self.session.run(command))

    def close(self) -> None:
        self.session.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


@frozen
class _MeteredProcess:
    process: Process
    meter: MeteredSandbox

    @property
    def channels(self) -> Mapping[str, Channel]:
        return self.process.channels

    def wait(self, deadline: float | None = None) -> Outcome:
        return self.meter.note(self.process.wait(deadline))

    def kill(self) -> None:
        self.process.kill()

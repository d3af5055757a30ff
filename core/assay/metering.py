"""A sandbox that notes what each command in its jails took.

What is noted are outcomes, so nothing that a jailed program says of itself counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import define, field, frozen

from assay.api import (
    Capabilities,
    Channel,
    Command,
    Finding,
    Hasher,
    JailSpec,
    Mount,
    Outcome,
    Process,
    Runtime,
    Sandbox,
    Session,
    Store,
    Support,
)

__all__ = ["MeteredSandbox", "unmetered"]


@define
class MeteredSandbox:
    """Another sandbox, and the most that any of its commands took.

    `most` has the names of limits: `cpu` in seconds, `memory` and `output` in bytes, `processes`.
    """

    api: ClassVar[str] = "1.0"
    name: ClassVar[str] = "metered"

    _sandbox: Sandbox
    most: dict[str, float] = field(factory=dict, init=False)

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

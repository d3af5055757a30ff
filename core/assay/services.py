"""The services of a task: each in a jail of its own, one port of the candidate's jail away.

A candidate can talk to a service and do nothing else to it: it shares no process, no file and no
memory with it. So a service that does not get ready is never the candidate's fault, and one
that ends while a candidate can talk to it counts against the candidate, since otherwise
everybody who is about to be rejected could make the trial invalid instead.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from importlib import resources
from socket import socket

import attrs
from attrs import define, field, frozen

from assay.api import (
    Artifacts,
    BlobRef,
    Channel,
    ChannelFault,
    Command,
    JailSpec,
    Limits,
    Mount,
    MountKind,
    Network,
    Outcome,
    OutcomeStatus,
    Process,
    Profile,
    Runtime,
    Sandbox,
    SandboxFailed,
    Service,
    ServiceFailed,
    Session,
    Task,
)
from assay.normalise import normalise

__all__ = ["EndedService", "RunningService", "Services", "service_tools"]

FILES = "/service"
_PROGRAM = "/assay/service.py"
_PROGRAM_TEXT = (resources.files("assay") / "service_program.py").read_bytes()
_CHANNEL, _LISTENER = "service", "listener"
_FLAGS = ("-P", "-s", "-S", "-B")
_WALL = 86_400.0
_OUTPUT = 1024**2
_OPEN_FILES = 256
_PROCESSES = 64
_GRACE = 30.0
_ANSWER = 60.0
_BACKLOG = 128
_LISTEN = (
    "import os, socket;"
    f'channel = socket.socket(fileno=int(os.environ["ASSAY_CHANNEL_{_LISTENER.upper()}"]));'
    'server = socket.socket(); server.bind(("127.0.0.1", int(input())));'
    f'server.listen({_BACKLOG}); socket.send_fds(channel, [b"!"], [server.fileno()])'
)
"""A socket belongs to the network that it was made in, wherever it is held later. This makes one,
hands it over and ends, before the jail's first command: what runs there afterwards can connect,
and can neither close the port nor take it."""


@frozen
class EndedService:
    """A service that was gone before the jail that used it; `output` is what it had said."""

    id: str
    output: BlobRef


@define
class Services:
    """Starts a task's services beside the jails of one grader.

    `files` are host folders of the store, by `services/ID`; `ended` fills up with what went wrong.
    """

    task: Task
    runtime: Runtime
    sandbox: Sandbox
    artifacts: Artifacts
    variables: Mapping[str, str]
    files: Mapping[str, str]
    ended: list[EndedService] = field(factory=list)

    def beside(self, session: Session) -> list[RunningService]:
        """Start all services for a new jail; raises ServiceFailed, SandboxFailed."""
        running: list[RunningService] = []
        try:
            for service in self.task.services:
                running.append(self._start(service, session))
        except BaseException:
            for one in running:
                one.close()
            raise
        return running

    def _start(self, service: Service, session: Session) -> RunningService:
        listener = _listening_socket(session, self.runtime, service.port)
        try:
            room = self.sandbox.open(self._jail(service))
            try:
                process = room.start(self._command(service, listener), channels=(_CHANNEL,))
                word = _word(process.channels[_CHANNEL], service.seconds + _GRACE)
                if word != b"R":
                    process.kill()
                    output = self.keep(service, process.wait())
                    problem = _PROBLEMS.get(word, "could not be started")
                    raise ServiceFailed(service.id, problem, output.digest)
            except BaseException:
                room.close()
                raise
        finally:
            listener.close()
        return RunningService(service, room, process, self)

    def keep(self, service: Service, outcome: Outcome) -> BlobRef:
        """Store what a service has said."""
        text = normalise(outcome.stdout.text() + outcome.stderr.text())
        return self.artifacts.put(f"service-{service.id}", text.encode("utf-8", "replace"))

    def _jail(self, service: Service) -> JailSpec:
        mounts: tuple[Mount, ...] = (Mount(_PROGRAM, MountKind.FILE, content=_PROGRAM_TEXT),)
        files = self.files.get(f"services/{service.id}")
        if files is not None:
            mounts += (Mount(FILES, MountKind.TREE, source=files),)
        return JailSpec(
            profile=Profile.HIDDEN,
            runtime=self.runtime,
            mounts=mounts,
            limits=_limits(self.task.limits),
            env=dict(self.variables),
            network=Network.LOOPBACK,
            cwd="/tmp" if files is None else FILES,
        )

    def _command(self, service: Service, listener: socket) -> Command:
        first = service.argv[0]
        argv = (first if "/" in first else self.runtime.tools[first], *service.argv[1:])
        config = {
            "argv": argv,
            "port": service.port,
            "ready_line": service.ready_line,
            "seconds": service.seconds,
        }
        words = (self.runtime.tools["python"], *_FLAGS, _PROGRAM, json.dumps(config))
        return Command(
            tuple(word.encode() for word in words),
            env={"ASSAY_PORT": str(service.port)},
            sockets={_LISTENER: listener},
        )


@frozen
class RunningService:
    """A service that was ready when the jail's first command started."""

    service: Service
    room: Session
    process: Process
    owner: Services

    def close(self) -> None:
        """Ask whether it still lives, and end it; one that doesn't is noted."""
        try:
            lives = _lives(self.process.channels[_CHANNEL])
            self.process.kill()
            outcome = self.process.wait()
            if not lives:
                output = self.owner.keep(self.service, outcome)
                self.owner.ended.append(EndedService(self.service.id, output))
        finally:
            self.room.close()


def service_tools(task: Task) -> frozenset[str]:
    """Names of the runtime's tools that the services of a task are started with."""
    return frozenset(item.argv[0] for item in task.services if "/" not in item.argv[0])


_PROBLEMS = {b"E": "ended before it was ready", b"S": "was not ready in time"}


def _listening_socket(session: Session, runtime: Runtime, port: int) -> socket:
    argv = (runtime.tools["python"], "-I", "-S", "-B", "-c", _LISTEN)
    command = Command(tuple(part.encode() for part in argv), stdin=b"%d\n" % port)
    process = session.start(command, channels=(_LISTENER,))
    deadline = time.monotonic() + _GRACE
    try:
        made = process.channels[_LISTENER].receive_socket(deadline)
    except ChannelFault:
        made = None
    outcome = process.wait(deadline)
    if made is None or outcome.status is not OutcomeStatus.EXITED or outcome.exit_code != 0:
        if made is not None:
            made.close()
        raise SandboxFailed("listen", "a port of the jail can't be opened")
    return made


def _limits(limits: Limits) -> Limits:
    """The task's, for as long as it takes; what hands connections on needs some of its own."""
    return attrs.evolve(
        limits,
        wall=_WALL,
        output=_OUTPUT,
        open_files=max(limits.open_files, _OPEN_FILES),
        processes=max(limits.processes, _PROCESSES),
    )


def _word(channel: Channel, seconds: float) -> bytes:
    """The next frame of a service's jail; empty when there is none."""
    try:
        return channel.recv(1, time.monotonic() + seconds) or b""
    except ChannelFault:
        return b""


def _lives(channel: Channel) -> bool:
    try:
        channel.send(b"?")
    except ChannelFault:
        return False
    return _word(channel, _ANSWER) == b"L"

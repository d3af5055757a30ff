"""One profile under attack: its jail, what attackers know, and how a probe is run in it."""

from __future__ import annotations

import contextlib
import functools
import json
import marshal
import os
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import attrs
from attrs import field, frozen

from assay.api import (
    ChannelFault,
    Command,
    Hasher,
    HostIds,
    JailSpec,
    Limits,
    Mount,
    MountKind,
    Network,
    Profile,
    RelPath,
    Runtime,
    SandboxFailed,
)
from assay.api.files import open_root, opened, read_file, remove_tree
from assay_sandbox.bytecode import PYC_PREFIX
from assay_sandbox.probes.answers import Check, Ran, checks_of
from assay_sandbox.probes.sentinels import Sentinels
from assay_sandbox.process import JailProcess
from assay_sandbox.profiles import PROFILES
from assay_sandbox.session import JailSession

__all__ = ["CLAIMED", "EXIT_CODE", "WIDE", "Bench", "Setting"]

MIB = 1024**2
MARSHAL = 2
START = "import sys; sys.path.insert(0, '/probe'); from inside.runner import main; main()"
REPLY_BYTES = 64 * 1024
REPLY_SECONDS = 180.0
PATIENCE, IMPATIENCE = 5.0, 0.1
"""Seconds that something too large is held: a watchdog on a loaded host needs time to look, and
in the weakened jail nothing comes."""

SUITE = "suite-under-probe"
EXIT_CODE = 9
"""With what a probe that ran alone ends, so that no other end passes for its own."""

CLAIMED = Limits(
    wall=20.0,
    cpu=5,
    memory=64 * MIB,
    processes=24,
    file_size=MIB,
    open_files=64,
    output=64 * 1024,
    tmp=8 * MIB,
)
"""What probes are held to, small enough to be harmless where it does not hold."""

WIDE = attrs.evolve(
    CLAIMED,
    memory=512 * MIB,
    processes=256,
    file_size=64 * MIB,
    open_files=512,
    output=4 * MIB,
    tmp=64 * MIB,
)
"""What the weakened jail has instead, while probes go on to believe the other ones."""


@functools.cache
def _programs() -> dict[str, bytes]:
    """The text of everything that runs inside, by file name."""
    folder = resources.files("assay_sandbox.probes") / "inside"
    files = (file for file in folder.iterdir() if file.name.endswith(".py"))
    return {file.name: file.read_bytes() for file in sorted(files, key=lambda file: file.name)}


@frozen
class Setting:
    """What all benches of one run share.

    `open` makes a live jail; `limits` are those in force, which in the weakened jail are wider
    than the claimed ones; `strict` is False where the host reads as carelessly as it can.
    """

    open: Callable[[JailSpec], JailSession]
    runtime: Runtime
    ids: HostIds
    hasher: Hasher
    sentinels: Sentinels
    limits: Limits = CLAIMED
    strict: bool = True


@attrs.define
class Bench:
    """A live jail of one profile; a context manager."""

    setting: Setting
    profile: Profile
    workspace: Path | None = None
    outputs: list[bytes] = field(factory=list)
    _session: JailSession | None = None
    _runner: JailProcess | None = None

    def __enter__(self) -> Bench:
        self.renew()
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()
        self._remove_workspace()

    def renew(self) -> None:
        """End the jail, and have an empty workspace where the profile has one."""
        self.end()
        self._remove_workspace()
        if PROFILES[self.profile].writable_mounts:
            self.workspace = self.setting.sentinels.folder / "workspace"
            self.workspace.mkdir()
            os.chown(self.workspace, self.setting.ids.uid, self.setting.ids.gid)

    def _remove_workspace(self) -> None:
        if self.workspace is not None:
            with opened(open_root(self.workspace.parent)) as parent:
                remove_tree(parent, self.workspace.name)
            self.workspace = None

    def end(self) -> None:
        """End the jail; the next probe gets a new one."""
        if self._session is not None:
            self._session.close()
        self._session = self._runner = None

    def spec(self, **changes: Any) -> JailSpec:
        """The jail of this profile."""
        programs = [
            Mount(f"/probe/inside/{name}", MountKind.FILE, content=content)
            for name, content in _programs().items()
        ]
        fixture = self.setting.sentinels.fixture
        mounts = [*programs, Mount("/fixture", MountKind.TREE, source=str(fixture))]
        if self.workspace is not None:
            source = str(self.workspace)
            size = self.setting.limits.tmp
            mounts.append(Mount("/workspace", MountKind.TREE, source, size=size, writable=True))
        spec = JailSpec(
            self.profile, self.setting.runtime, tuple(mounts), limits=self.setting.limits
        )
        return attrs.evolve(spec, **changes)

    @property
    def session(self) -> JailSession:
        """The live jail, opened at first use."""
        if self._session is None:
            self._session = self.setting.open(self.spec())
        return self._session

    def facts(self) -> dict[str, Any]:
        """What an attacker may know."""
        sentinels = self.setting.sentinels
        return {
            "token": sentinels.token,
            "secret": str(sentinels.secret),
            "folder": str(sentinels.private),
            "shm": str(sentinels.shared_memory),
            "home": os.path.expanduser("~"),
            "socket": sentinels.socket,
            "abstract": sentinels.token,
            "port": sentinels.port,
            "udp": sentinels.datagram_port,
            "pid": sentinels.victim.pid,
            "suite": SUITE,
            "exit_code": EXIT_CODE,
            "patience": PATIENCE if self.setting.strict else IMPATIENCE,
            "shared_memory": PROFILES[self.profile].shared_memory,
            "limits": {**attrs.asdict(CLAIMED), "disk": CLAIMED.tmp},
        }

    def command(self, *words: str, limits: Limits | None = None, **facts: Any) -> Command:
        """The runner's command line; it bears the token, by which what is left is found."""
        python = self.setting.runtime.tools["python"]
        flags = ("-I", "-S", "-B", "-X", f"pycache_prefix={PYC_PREFIX}", "-c", START)
        argv = (python, *flags, *words, self.setting.sentinels.token)
        return Command(
            tuple(word.encode() for word in argv),
            stdin=marshal.dumps({**self.facts(), **facts}, MARSHAL),
            limits=limits,
        )

    def ask(self, program: str) -> list[Check]:
        """Have the runner perform one probe in a process of its own."""
        module, _, function = program.partition(".")
        if self._runner is None or self._runner.finished:
            self._runner = self.session.start(
                self.command("ask", limits=attrs.evolve(self.setting.limits, wall=600.0)),
                ("probe",),
            )
        channel = self._runner.channels["probe"]
        channel.send(f"{module} {function}".encode())
        reply = self._reply(channel)
        if reply is None:
            self.hush()
        return checks_of(reply)

    def hush(self) -> None:
        """End the runner, so that nothing runs but the init."""
        if self._runner is not None:
            self._runner.kill()
            outcome = self._runner.wait()
            self.outputs += (outcome.stdout.head, outcome.stderr.head)
            self._runner = None

    def alone(
        self,
        program: str,
        *,
        meanwhile: Callable[[JailProcess], None] = lambda process: None,
        limits: Limits | None = None,
        **facts: Any,
    ) -> Ran:
        """Run one probe as a command of its own; `meanwhile` acts on it while it runs."""
        self.hush()
        module, _, function = program.partition(".")
        command = self.command("run", module, function, limits=limits, **facts)
        process = self.session.start(command, ("probe", "noise"))
        meanwhile(process)
        outcome = process.wait(time.monotonic() + REPLY_SECONDS)
        self.outputs += [
            part
            for stream in (outcome.stdout, outcome.stderr)
            for part in (stream.head, stream.tail)
        ]
        return Ran(outcome, self._reply(process.channels["probe"]))

    def fresh(self, program: str, **changes: Any) -> list[Check]:
        """Run one probe in a jail of its own that differs from the profile's."""
        self.end()
        try:
            self._session = self.setting.open(self.spec(**changes))
            return self.alone(program).checks
        finally:
            self.end()

    def with_loopback(self, program: str) -> list[Check]:
        """Run one probe in a jail that has a loopback of its own."""
        return self.fresh(program, network=Network.LOOPBACK)

    def read(self, path: str) -> bytes:
        """A file of the workspace, as the host reads what a jail left there."""
        assert self.workspace is not None
        if not self.setting.strict:
            descriptor = os.open(self.workspace / path, os.O_RDONLY | os.O_NONBLOCK)
            with opened(descriptor):
                content = os.read(descriptor, 4096)
        else:
            with opened(open_root(self.workspace)) as root:
                content = read_file(root, RelPath(path), 4096)
        self.outputs.append(content)
        return content

    def _reply(self, channel: Any) -> dict[str, Any] | None:
        try:
            frame = channel.recv(REPLY_BYTES, time.monotonic() + REPLY_SECONDS)
        except ChannelFault:
            return None
        if frame is None:
            return None
        self.outputs.append(frame)
        with contextlib.suppress(ValueError, RecursionError):
            reply = json.loads(frame)
            return reply if isinstance(reply, dict) else None
        return None

    def take(self) -> list[bytes]:
        """Everything that came out of the jail since the last call."""
        taken, self.outputs = self.outputs, []
        return taken

    def dead(self, failed: SandboxFailed) -> list[Check]:
        """What is said when the jail itself broke; the next probe gets a new one."""
        with contextlib.suppress(SandboxFailed):
            self.end()
        self._session = self._runner = None
        return [Check(f"the jail failed at {failed.stage}", "silent")]

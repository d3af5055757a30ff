"""Objects of the host that no jail may touch, compared after every probe.

Everything a probe makes bears the run's token, so that a busy host raises no false alarm: what
counts is that our own objects are as they were, and that nothing with the token is anywhere.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from assay.api import Hasher, HostIds, UsageError
from assay.api.folders import MarkedFolder
from assay_sandbox.probes.host_state import (
    control_groups,
    mount_table,
    mounts,
    reachable,
    settings,
    stat_of,
    with_token,
)

__all__ = ["SECRET_PREFIX", "Sentinels"]

SECRET_PREFIX = "assay-secret-"
FIXTURE = {"a.txt": "alpha\n", "sub/b.txt": "beta\n", "run.sh": "#!/bin/sh\nexit 0\n"}


class Sentinels:
    """Makes the objects, knows how they were, and says what differs; a context manager."""

    def __init__(self, ids: HostIds, hasher: Hasher) -> None:
        self.token = f"assay-probe-{secrets.token_hex(8)}"
        self.secret_text = SECRET_PREFIX + secrets.token_hex(16)
        self.environment_text = SECRET_PREFIX + secrets.token_hex(16)
        self._ids, self._hasher = ids, hasher
        self._outer = MarkedFolder.make("probe")
        self.folder = self._outer.path / self.token
        self._closers: list[Callable[[], object]] = [self._remove_folder]
        self._contacts: dict[str, int] = {}
        self.noticed: set[str] = set()
        try:
            self._make()
        except BaseException:
            self.close()
            raise
        self._before = self._look()

    def _remove_folder(self) -> None:
        self._outer.remove()

    def _make(self) -> None:
        self._outer.path.chmod(0o711)
        self.folder.mkdir()
        self.folder.chmod(0o711)
        if not reachable(self.folder, self._ids):
            raise UsageError("jails can't get into the temporary folder; set TMPDIR to another one")
        self.private = self.folder / "private"
        self.private.mkdir()
        self.secret = self.private / "secret"
        self.secret.write_text(self.secret_text)
        self.fixture = self.folder / "fixture"
        for name, text in FIXTURE.items():
            path = self.fixture / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self.fixture / "run.sh").chmod(0o755)
        self.shared_memory = (
            Path("/dev/shm" if os.path.isdir("/dev/shm") else self.folder) / self.token
        )
        self.shared_memory.write_text(self.secret_text)
        self._closers.append(lambda: self.shared_memory.unlink(missing_ok=True))
        self.socket = str(self.private / "socket")
        self._path_socket = self._listen(socket.AF_UNIX, self.socket)
        self._abstract_socket = self._listen(socket.AF_UNIX, f"\0{self.token}")
        self._tcp = self._listen(socket.AF_INET, ("127.0.0.1", 0))
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._closers.append(self._udp.close)
        self._udp.setblocking(False)
        self._udp.bind(("127.0.0.1", 0))
        # What belongs to the jail's user is kept from it by the jail alone.
        for path in (self.private, *self.private.iterdir(), self.fixture, *self.fixture.rglob("*")):
            os.chown(path, self._ids.uid, self._ids.gid)
        os.chown(self.shared_memory, self._ids.uid, self._ids.gid)
        self._start_victim()

    def _listen(self, family: int, address: str | tuple[str, int]) -> socket.socket:
        end = socket.socket(family)
        self._closers.append(end.close)
        end.setblocking(False)
        end.bind(address)
        end.listen(16)
        return end

    def _start_victim(self) -> None:
        """A process of the jail's own user; it ends by itself when this process does."""
        as_root = os.geteuid() == 0
        self.victim = subprocess.Popen(
            ["/bin/cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"ASSAY_PROBE_SECRET": self.environment_text},
            cwd="/",
            start_new_session=True,
            user=self._ids.uid if as_root else None,
            group=self._ids.gid if as_root else None,
            extra_groups=[] if as_root else None,
        )
        self._closers.append(self._end_victim)

    def _end_victim(self) -> None:
        assert self.victim.stdin is not None
        self.victim.stdin.close()
        self.victim.kill()
        self.victim.wait()

    @property
    def port(self) -> int:
        """The TCP port on the host's loopback."""
        return int(self._tcp.getsockname()[1])

    @property
    def datagram_port(self) -> int:
        """The UDP port on the host's loopback."""
        return int(self._udp.getsockname()[1])

    @property
    def names(self) -> tuple[str, ...]:
        """What is compared, in a fixed order."""
        return (*self._looks(), "secrets in answers", "processes left")

    def changes(self, outputs: Iterable[bytes], *, idle: bool) -> list[str]:
        """Names of what differs since the last call, by all that a jail has put out meanwhile.

        `idle`: nothing of the jail but its init may run now.
        """
        now = self._look()
        changed = [name for name, state in now.items() if state != self._before[name]]
        self._before = now
        secrets_here = (self.secret_text.encode(), self.environment_text.encode())
        if any(secret in output for output in outputs for secret in secrets_here):
            changed.append("secrets in answers")
        if idle and self.strays():
            changed.append("processes left")
        self.noticed.update(changed)
        return changed

    def disturb(self) -> list[str]:
        """Do to some of them what no jail can, and say which then differ."""
        self.victim.send_signal(signal.SIGSTOP)
        # The stop is there when the kernel says so, not when the signal was sent.
        os.waitid(os.P_PID, self.victim.pid, os.WSTOPPED | os.WNOWAIT)
        with self.shared_memory.open("a") as stream:
            stream.write("x")
        argv = ["/bin/sh", "-c", "echo up; read line", self.token]
        pipe = subprocess.PIPE
        with subprocess.Popen(argv, stdin=pipe, stdout=pipe, env={}, cwd="/") as stray:
            assert stray.stdout is not None
            stray.stdout.readline()
            changed = self.changes((), idle=True)
            stray.communicate()
        return changed

    def strays(self) -> int:
        """Number of processes on the host that a probe has started and that still run."""
        found = 0
        token = self.token.encode()
        for entry in os.scandir("/proc"):
            if entry.name.isdigit():
                try:
                    command = Path(entry.path, "cmdline").read_bytes()
                except OSError:
                    continue
                found += token in command
        return found

    def _looks(self) -> dict[str, Callable[[], object]]:
        return {
            "secret file": lambda: (self.secret.read_bytes(), stat_of(self.secret)),
            "fixture digest": self._fixture_digest,
            "process": self._victim_state,
            "socket": lambda: self._accepted("socket", self._path_socket),
            "abstract socket": lambda: self._accepted("abstract", self._abstract_socket),
            "TCP port": lambda: self._accepted("tcp", self._tcp),
            "UDP port": self._received,
            "shared memory": lambda: (
                self.shared_memory.read_bytes(),
                stat_of(self.shared_memory),
            ),
            "mount table": lambda: mounts(mount_table(), self.token),
            "cgroup tree": lambda: control_groups(self.token),
            "temporary folders": self._temporary,
            "kernel settings": settings,
        }

    def _look(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for name, look in self._looks().items():
            try:
                found[name] = look()
            except OSError as error:
                found[name] = f"gone: {error.errno}"
        return found

    def _fixture_digest(self) -> object:
        root = os.open(self.fixture, os.O_RDONLY | os.O_DIRECTORY)
        try:
            manifest = self._hasher.scan(root, collect_refused=True).manifest
        finally:
            os.close(root)
        digest = manifest.ref.digest if manifest is not None else "refused"
        return digest, [stat_of(path) for path in sorted(self.fixture.rglob("*"))]

    def _victim_state(self) -> object:
        number = self.victim.pid
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        state, priority, nice, started = fields[0], fields[15], fields[16], fields[19]
        score = Path(f"/proc/{number}/oom_score_adj").read_text()
        limits = Path(f"/proc/{number}/limits").read_text()
        return state in "ZXTt", priority, nice, started, score, limits

    def _accepted(self, name: str, end: socket.socket) -> int:
        try:
            while True:
                end.accept()[0].close()
                self._contacts[name] = self._contacts.get(name, 0) + 1
        except BlockingIOError:
            return self._contacts.get(name, 0)

    def _received(self) -> int:
        try:
            while True:
                # Others on this host may send to any port; a probe says who it is.
                if self.token.encode() in self._udp.recv(4096):
                    self._contacts["udp"] = self._contacts.get("udp", 0) + 1
        except BlockingIOError:
            return self._contacts.get("udp", 0)

    def _temporary(self) -> object:
        places = {Path(tempfile.gettempdir()), *map(Path, ("/tmp", "/var/tmp", "/dev/shm", "/run"))}
        below = (self.folder, self.private, self.fixture)
        return [with_token(place, self.token) for place in (*sorted(places), *below)]

    def close(self) -> None:
        """Remove all of them."""
        for closer in reversed(self._closers):
            closer()
        self._closers = []

    def __enter__(self) -> Sentinels:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

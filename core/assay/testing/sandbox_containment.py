"""What jailed code must not reach."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path
from types import ModuleType

import attrs

from assay.api import Mount, MountKind, Profile, SandboxFailed
from assay.testing.jailed import JailedTests

__all__ = ["ContainmentTests"]


class ContainmentTests(JailedTests):
    """Containment."""

    def test_the_caller_s_environment_stays_outside(self) -> None:
        pytest = _pytest()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ASSAY_CONFORMANCE", "s3cr3t")
            seen = self.answer(
                "import os; print(dict(os.environ), open('/proc/self/environ').read())"
            )
        assert "s3cr3t" not in seen
        assert "CONFORMANCE" not in seen

    def test_the_host_is_out_of_reach(self) -> None:
        paths = ("/etc/shadow", "/root", "/home", "/var", str(Path.home()), __file__)
        with contextlib.ExitStack() as stack:
            port = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
            abstract.bind("")
            abstract.listen()
            attempts = {
                **{f"os.stat({path!r})": "a path" for path in paths},
                f"socket.create_connection({port.getsockname()!r}, 5)": "a port",
                "socket.create_connection(('192.0.2.1', 80), 1)": "another host",
                f"socket.socket(socket.AF_UNIX).connect({abstract.getsockname()!r})": "a socket",
                "os.setuid(0)": "root",
                "open('/usr/bin/new', 'w')": "the system",
                "os.kill(2**22 - 1, 0)": "a process",
            }
            met = dict(zip(attempts, self.errors(*attempts), strict=True))
            assert "OPEN" not in met.values(), met
            for server in (port, abstract):
                _nobody_came(server)

    def test_trees_are_read_only_unless_the_profile_may_write(self) -> None:
        pytest = _pytest()
        with self.tree() as mount:
            attacks = ("open('/tree/old', 'a')", "os.unlink('/tree/old')")
            assert self.errors(*attacks, mounts=(mount,)) == ["EROFS", "EROFS"]
            writable = attrs.evolve(mount, writable=True)
            for profile in (Profile.VISIBLE, Profile.HIDDEN, Profile.WORKER):
                with pytest.raises(SandboxFailed):
                    self.sandbox().open(self.spec(profile=profile, mounts=(writable,))).close()
            write = "open('/tree/new', 'w').write('new')"
            agent = {"mounts": (writable,), "profile": Profile.AGENT}
            assert self.errors(write, **agent) == ["OPEN"]
            assert Path(mount.source, "new").read_text() == "new"

    def test_nothing_is_mounted_inside_a_tree(self) -> None:
        pytest = _pytest()
        with self.tree(writable=True) as mount:
            Path(mount.source, "sub").symlink_to("/tmp")
            inner = Mount("/tree/sub/deep", MountKind.FILE, content=b"x")
            with pytest.raises(SandboxFailed):
                self.sandbox().open(self.spec(profile=Profile.AGENT, mounts=(mount, inner))).close()


def _nobody_came(server: socket.socket) -> None:
    server.setblocking(False)
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return
    raise AssertionError("a jail reached a port of the host")


def _pytest() -> ModuleType:
    import pytest

    return pytest

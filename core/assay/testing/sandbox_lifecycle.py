"""How sandboxes start and end things, and what they say about it."""

from __future__ import annotations

import time
from contextlib import nullcontext
from types import ModuleType

import attrs

from assay.api import Command, InvalidInput, Network, OutcomeStatus, UsageError, Warm
from assay.testing.jailed import SLEEP, JailedTests

__all__ = ["LifecycleTests"]

LEAVE = (
    "import os, time\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    time.sleep(600)\n"
    "open('/tmp/kept', 'w').write('kept')\n"
)
PATIENCE = 30.0
MAKE = (
    "import os, socket\n"
    "channel = socket.socket(fileno=int(os.environ['ASSAY_CHANNEL_MADE']))\n"
    "made = socket.create_server(('127.0.0.1', 0))\n"
    "socket.send_fds(channel, [b'!'], [made.fileno()])\n"
)
TAKE = (
    "import os, socket\n"
    "ready, given = (\n"
    "    socket.socket(fileno=int(os.environ['ASSAY_CHANNEL_' + name]))\n"
    "    for name in ('READY', 'GIVEN')\n"
    ")\n"
    "ready.sendall(bytes([0, 0, 0, 1]) + b'!')\n"
    "given.accept()[0].sendall(b'across')\n"
)
CONNECT = (
    "import socket\n"
    "def ask(port):\n"
    "    with socket.create_connection(('127.0.0.1', port)) as peer:\n"
    "        print(b''.join(iter(lambda: peer.recv(9), b'')).decode())\n"
    "ask"
)
COUNT = "import os; print(sum(name.isdigit() and name != '1' for name in os.listdir('/proc')))"


class LifecycleTests(JailedTests):
    """Lifecycle and outcomes."""

    def test_it_says_what_it_can_do(self) -> None:
        sandbox = self.sandbox()
        capabilities = sandbox.capabilities()
        assert capabilities.available, f"{capabilities.layer}; fix: {capabilities.fix}"
        assert capabilities.ids is not None
        assert capabilities.versions
        assert all(state.partition(":")[0] for state in capabilities.layers.values())
        assert {finding.state for finding in sandbox.diagnose()} <= {
            "present",
            "absent",
            "degraded",
        }

    def test_files_persist_between_commands_and_processes_do_not(self) -> None:
        with self.session() as session:
            assert session.run(self.python(LEAVE)).exit_code == 0
            after = session.run(self.python("print(open('/tmp/kept').read())\n" + COUNT))
        assert after.stdout.text().split() == ["kept", "1"]
        assert self.errors("open('/tmp/kept')") == ["ENOENT"]

    def test_one_that_is_kept_warm_makes_jails_that_know_nothing_of_each_other(self) -> None:
        sandbox = self.sandbox()
        with sandbox.warm() if isinstance(sandbox, Warm) else nullcontext():
            for _ in range(3):
                with self.session() as session:
                    assert session.run(self.python(LEAVE)).exit_code == 0
                assert self.errors("open('/tmp/kept')") == ["ENOENT"]
                assert self.run(COUNT).stdout.text() == "1\n"

    def test_sockets_can_be_handed_over_where_it_says_so(self) -> None:
        if not self.sandbox().capabilities().listening:
            return
        with self.session(network=Network.LOOPBACK) as one, self.session() as other:
            maker = one.start(self.python(MAKE), channels=("made",))
            made = maker.channels["made"].receive_socket(time.monotonic() + PATIENCE)
            assert made is not None
            with made:
                assert maker.wait().exit_code == 0
                port = made.getsockname()[1]
                given = attrs.evolve(self.python(TAKE), sockets={"given": made})
                taker = other.start(given, channels=("ready",))
            assert taker.channels["ready"].recv(1, time.monotonic() + PATIENCE) == b"!"
            assert one.run(self.python(CONNECT + f"({port})")).stdout.text() == "across\n"
            assert taker.wait().exit_code == 0

    def test_one_command_at_a_time_and_none_after_the_end(self) -> None:
        pytest = _pytest()
        with self.session() as session:
            process = session.start(self.python(SLEEP))
            with pytest.raises(UsageError):
                session.start(self.python("pass"))
            process.kill()
            assert process.wait().status is OutcomeStatus.CANCELLED
            assert session.run(self.python("pass")).exit_code == 0
            left = session.start(self.python(SLEEP))
            session.close()
            assert left.wait().status is OutcomeStatus.CANCELLED
            session.close()
            with pytest.raises(UsageError):
                session.start(self.python("pass"))

    def test_exit_codes_are_the_command_s_own(self) -> None:
        with self.session() as session:
            for code in (0, 1, 137, 139, 143, 255):
                outcome = session.run(self.python(f"import os; os._exit({code})"))
                assert (outcome.status, outcome.exit_code) == (OutcomeStatus.EXITED, code)

    def test_signals_are_told_from_exit_codes(self) -> None:
        with self.session() as session:
            for number in (6, 9, 11):
                source = f"import os, resource; os.kill(os.getpid(), {number})"
                outcome = session.run(self.python(source))
                assert (outcome.status, outcome.signal) == (OutcomeStatus.SIGNALLED, number)

    def test_what_can_not_start_is_a_failed_set_up(self) -> None:
        with self.session() as session:
            outcome = session.run(Command((b"/no/such/program",)))
            assert outcome.status is OutcomeStatus.SETUP_FAILED
            assert outcome.detail
            assert session.run(self.python("pass")).exit_code == 0

    def test_nothing_that_looks_like_a_record_changes_an_outcome(self) -> None:
        source = (
            "import os\n"
            "for fd in range(1, 256):\n"
            "    try: os.write(fd, b'done 1 exited 0 0.000000 0.000000 1')\n"
            "    except OSError: pass\n"
            "os._exit(7)\n"
        )
        assert self.run(source).exit_code == 7

    def test_control_characters_in_a_command_are_refused(self) -> None:
        pytest = _pytest()
        with self.session() as session:
            for command in (
                Command((b"/bin/echo", b"a\nb")),
                Command((b"/bin/echo", b"\x1b[31m")),
                Command((b"/bin/true",), cwd="/tmp\n"),
                Command(()),
            ):
                with pytest.raises(InvalidInput):
                    session.start(command)


def _pytest() -> ModuleType:
    import pytest

    return pytest

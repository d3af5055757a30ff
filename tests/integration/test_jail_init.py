"""Process 1 of a jail, compiled and in Python: both answer alike, and neither is fooled."""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import pytest
from support.jail import LIMITS, PYTHON, python, runtime, sandbox, session, shell, spec
from support.processes import Watched, children, descendants

from assay.api import (
    Command,
    Containment,
    Mount,
    MountKind,
    Outcome,
    OutcomeStatus,
    Profile,
    SandboxFailed,
)
from assay.builtin.hasher import TreeHasher
from assay_sandbox import init_build
from assay_sandbox.configuration import LaunchPlan
from assay_sandbox.init_choice import compiled_or_python
from assay_sandbox.init_request import MOST_REQUEST_BYTES, encode_request
from assay_sandbox.init_trial import try_init
from assay_sandbox.inits import Init, InitKind
from assay_sandbox.launch import Jail, launch
from assay_sandbox.layout import layout_of
from assay_sandbox.mounted import check_mounts
from assay_sandbox.policy import PolicyKind
from assay_sandbox.probes.bench import Setting
from assay_sandbox.probes.catalogue import chosen
from assay_sandbox.probes.matrix import run_profile
from assay_sandbox.probes.sentinels import Sentinels
from assay_sandbox.records import parse_record
from assay_sandbox.sandbox import CompatSandbox, _measured, _tried
from assay_sandbox.session import resource_limits

PROBES = (
    *("forge-record", "read-init", "change-init", "inherited-descriptors", "signal-everything"),
    *("forge-log", "exit-codes", "outlive-command", "closed-streams"),
)
HANDLES = (
    "import os, signal\n"
    "def say(text): os.write(int(os.environ['ASSAY_CHANNEL_UP']), b'\\0\\0\\0\\2' + text)\n"
    "for n in (1, 2, 3, 10, 12, 17, 18, 28):\n"
    "    signal.signal(n, lambda number, frame: say(b'%02d' % number))\n"
    "say(b'up')\n"
    "while True: signal.pause()\n"
)
ENDS = {
    "exit 0": ("exited", 0),
    "exit 3": ("exited", 3),
    "exit 137": ("exited", 137),
    "exit 255": ("exited", 255),
    "kill -ABRT $$": ("signalled", 6),
    "kill -SEGV $$": ("signalled", 11),
    "kill -KILL $$": ("signalled", 9),
    "kill -TERM $$": ("signalled", 15),
    "kill -PIPE $$": ("signalled", 13),
    "(sleep 600 & sleep 600 &); exit 5": ("exited", 5),
}
SPENDS = (
    "import os, time\n"
    "if os.fork() == 0:\n"
    "    while time.process_time() < 0.1: pass\n"
    "    os._exit(0)\n"
    "os.wait()\n"
)
CONTEXT = (
    "umask; pwd; ls -ld /tmp/home | cut -c1-10; ls /proc/self/fd; cat /proc/self/limits; env;"
    " grep -E 'Sig(Ign|Blk|Cgt)|Cap|NoNew|Seccomp:|Threads' /proc/self/status;"
    " cut -d' ' -f4-8 /proc/$$/stat; readlink /proc/self/fd/2 | cut -d: -f1"
)


@pytest.fixture(params=InitKind, ids=lambda kind: kind.value)
def kind(request: pytest.FixtureRequest) -> InitKind:
    """Each init in turn."""
    found: InitKind = request.param
    need(found)
    return found


def need(kind: InitKind) -> None:
    """Leave a test out where there is no compiled init."""
    if kind is InitKind.COMPILED and compiled_or_python().kind is not kind:
        pytest.skip(compiled_or_python().found)


def test_it_is_named_where_results_are_recorded(kind: InitKind) -> None:
    recorded = sandbox(kind).capabilities()
    state = {InitKind.COMPILED: "present", InitKind.PYTHON: "degraded"}[kind]
    assert recorded.layers["init"] == f"{state}: {kind.value}"
    plan = plan_of(kind)
    assert recorded.versions["init"] == plan.init.digest
    (finding,) = [item for item in sandbox(kind).diagnose() if item.layer == "init"]
    assert finding.state == state
    assert finding.found.startswith(kind.value)
    assert bool(finding.fix) == (state == "degraded")


def test_how_a_command_ends_is_told_as_it_is(kind: InitKind) -> None:
    with session(kind) as jail:
        for line, (how, number) in ENDS.items():
            outcome = jail.run(shell(line))
            told = outcome.exit_code if how == "exited" else outcome.signal
            assert (outcome.status.value, told) == (how, number), line
            assert outcome.wall > 0
            assert outcome.peak_memory > 0
        assert jail.run(python(SPENDS)).cpu > 0.09


def test_a_command_finds_the_same_around_it() -> None:
    need(InitKind.COMPILED)
    told = []
    for kind in InitKind:
        with session(kind) as jail:
            seen = jail.run(shell(CONTEXT))
            assert seen.exit_code == 0, seen.stderr.text()
            told.append(re.sub(r"\d{3,}", "N", seen.stdout.text()))
    assert told[0] == told[1]


def test_a_command_that_can_not_be_started_is_a_failed_set_up(kind: InitKind) -> None:
    with session(kind) as jail:
        assert refusal(jail.run(Command((b"/nowhere",)))) == "exec:ENOENT"
        assert refusal(jail.run(Command((b"no-such-program",)))) == "exec:ENOENT"
        assert refusal(jail.run(Command((b"/etc/passwd",)))) == "exec:EACCES"
        assert refusal(jail.run(Command((b"x" * 5000,)))) == "exec:ENAMETOOLONG"
        assert refusal(jail.run(Command((b"/bin/true",), cwd="/nowhere"))) == "cwd:ENOENT"
        assert refusal(jail.run(Command((b"/bin/true",), cwd="/etc/passwd"))) == "cwd:ENOTDIR"
        jail.run(shell("mkdir /tmp/a /tmp/b; touch /tmp/a/tool; echo 'no header' > /tmp/b/text"))
        assert jail.run(shell("chmod +x /tmp/b/text; cp /bin/true /tmp/b/tool")).exit_code == 0
        path = {"PATH": "/nowhere:/tmp/a::/tmp/b"}
        assert jail.run(Command((b"tool",), env=path)).exit_code == 0
        assert refusal(jail.run(Command((b"text",), env=path))) == "exec:ENOEXEC"
        assert refusal(jail.run(Command((b"tool",), env={"PATH": "/nowhere:/tmp/a"}))) == (
            "exec:EACCES"
        )
        assert refusal(jail.run(Command((b"true",), env={"PATH": ""}))) == "exec:ENOENT"
        assert jail.run(shell("echo alive")).stdout.text() == "alive\n"


def test_a_request_may_be_large(kind: InitKind) -> None:
    argv = (b"/bin/sh", b"-c", b"echo $#; shift 8999; echo ${1}", b"sh", *[b"x" * 90] * 8999)
    with session(kind) as jail:
        outcome = jail.run(Command((*argv, b"last")))
    assert outcome.stdout.text() == "9000\nlast\n"


def test_a_long_list_of_mounts_arrives_whole(kind: InitKind) -> None:
    names = ["/" + f"{number:03}".ljust(200, "x") for number in range(60)]
    mounts = tuple(Mount(name, MountKind.FILE, content=b"1") for name in names)
    plan = plan_of(kind)
    wanted = layout_of(spec(mounts=mounts), plan.init)
    jail = launch(plan, wanted, LIMITS, 1 << 20, loopback=False)
    try:
        seen, _ = jail.handshake()
    finally:
        jail.close()
    assert len(seen) > 3 * 4096
    check_mounts(seen, wanted.expected)


@pytest.mark.threat("outlive its command as an orphan", layer="init")
def test_orphans_are_reaped_and_counted_and_gone_with_their_command(kind: InitKind) -> None:
    """Three hundred zombies would be more than its sixty-four processes."""
    source = (
        "import os, time\n"
        "for _ in range(300):\n"
        "    if os.fork() == 0:\n"
        "        if os.fork() == 0: os._exit(0)\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        held = bytearray(64 * 1024**2)\n"
        "        open('/tmp/up', 'w')\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
        "while not os.path.exists('/tmp/up'): time.sleep(0.01)\n"
        "print('all', os.getpid())\n"
    )
    with session(kind) as jail:
        outcome = jail.run(python(source))
        assert outcome.stdout.text().startswith("all ")
        assert outcome.peak_memory > 64 * 1024**2
        assert jail.run(shell("echo /proc/[0-9]*")).stdout.text().count("/proc/") == 1


@pytest.mark.threat("signal its supervisor's init", layer="init, pid namespace")
def test_signals_from_outside_reach_the_command_and_no_others(kind: InitKind) -> None:
    with session(kind) as jail:
        process = jail.start(python(HANDLES), ("up",))
        assert process.channels["up"].recv(10, time.monotonic() + 30) == b"up"
        (nsjail,) = children(os.getpid())
        (init,) = children(nsjail)
        for number in (signal.SIGWINCH, signal.SIGCHLD, signal.SIGCONT):
            os.kill(init, number)
        for number in (1, 2, 3, 10, 12):
            os.kill(init, number)
            assert process.channels["up"].recv(10, time.monotonic() + 30) == b"%02d" % number
        os.kill(init, signal.SIGTERM)
        outcome = process.wait()
        assert (outcome.status, outcome.signal) == (OutcomeStatus.SIGNALLED, signal.SIGTERM)
        inside = jail.run(shell("for n in 1 2 3 10 12 15; do kill -$n 1; done; echo here"))
        assert (inside.exit_code, inside.stdout.text()) == (0, "here\n")


def test_its_script_can_not_be_changed_and_its_program_is_nowhere(kind: InitKind) -> None:
    refused = {InitKind.COMPILED: "nonexistent", InitKind.PYTHON: "Read-only"}[kind]
    with session(kind) as jail:
        outcome = jail.run(shell("echo x >> /.assay/init.py"))
        assert refused in outcome.stderr.text()
        seen = jail.run(shell("cat /proc/self/mountinfo; ls / /tmp; ls -l /proc/self/fd"))
        assert "assay-init" not in seen.stdout.text()


def test_a_signal_between_commands_is_for_none(kind: InitKind) -> None:
    with session(kind) as jail:
        jail.run(shell("true"))
        (nsjail,) = children(os.getpid())
        (init,) = children(nsjail)
        os.kill(init, signal.SIGTERM)
        assert jail.run(shell("echo alive")).stdout.text() == "alive\n"


@pytest.mark.threat("forge the word of either init", layer="init, pid namespace")
def test_what_attacks_the_init_or_forges_its_word_is_contained(kind: InitKind) -> None:
    plan, hasher = plan_of(kind), TreeHasher()
    with Sentinels(plan.ids, hasher) as sentinels:
        setting = Setting(sandbox(kind).open, runtime(), plan.ids, hasher, sentinels)
        mode = sandbox(kind).capabilities().mode
        results = run_profile(setting, Profile.VISIBLE, mode, chosen(PROBES))
    assert {result.probe for result in results} == set(PROBES)
    assert {result.containment for result in results} == {Containment.CONTAINED}


@contextmanager
def bare(kind: InitKind) -> Iterator[Jail]:
    """A jail without a supervisor: the test itself talks with its init."""
    plan = plan_of(kind)
    jail = launch(plan, layout_of(spec(), plan.init), LIMITS, 1 << 20, loopback=False)
    try:
        jail.handshake()
        yield jail
    finally:
        jail.close()


def order(jail: Jail, message: bytes, request: bytes = b"", streams: int = 3) -> None:
    """Send one message, with a request and so many streams if there is a request."""
    fds = []
    if request:
        fds = [
            os.memfd_create("request"),
            *(os.open("/dev/null", os.O_RDWR) for _ in range(streams)),
        ]
        os.write(fds[0], request)
    try:
        socket.send_fds(jail.control, [message], fds)
    finally:
        for fd in fds:
            os.close(fd)


def request_for(line: bytes) -> bytes:
    """A request that runs a line of shell."""
    return encode_request((b"/bin/sh", b"-c", line), [(b"A", b"1")], b"/", resource_limits(LIMITS))


def test_what_is_no_request_is_refused_and_harms_nothing(kind: InitKind) -> None:
    sound = request_for(b"exit 7")
    spoiled = [sound[:-1], sound + b"\0", b"\xff" * 64, b"marshal", sound[:40], b"\0" * 4096]
    spoiled.append(b"\1\0\0\0\2\0\0\0x\0\0" + sound)
    spoiled.append(sound + b"\0" * MOST_REQUEST_BYTES)
    with bare(kind) as jail:
        for number, data in enumerate(spoiled, 1):
            order(jail, b"start %d" % number, data)
            assert jail.control.recv(4096) == b"failed %d request:22" % number
        order(jail, b"kill 3")
        order(jail, b"what is this")
        order(jail, b"kill 99", sound)
        order(jail, b"start 99", sound)
        assert jail.control.recv(4096) == b"started 99"
        record = parse_record(jail.control.recv(4096), 99)
        assert record is not None
        assert record.exit_code == 7


def test_an_order_to_kill_that_comes_with_the_start_is_obeyed(kind: InitKind) -> None:
    with bare(kind) as jail:
        for number in range(1, 6):
            order(jail, b"start %d" % number, request_for(b"sleep 600"))
            order(jail, b"kill %d" % number)
            assert jail.control.recv(4096) == b"started %d" % number
            record = parse_record(jail.control.recv(4096), number)
            assert record is not None
            assert record.signal == signal.SIGKILL


def test_an_order_without_its_streams_ends_the_jail(kind: InitKind) -> None:
    with bare(kind) as jail:
        order(jail, b"start 1", request_for(b"true"), streams=2)
        assert gone(jail)


def test_a_message_that_was_cut_ends_the_jail(kind: InitKind) -> None:
    with bare(kind) as jail:
        order(jail, b"kill 1" + b"1" * 8192)
        assert gone(jail)


@pytest.mark.parametrize("line", [b"", b"trap '' HUP INT TERM; setsid sleep 600 & sleep 600"])
def test_the_end_of_its_socket_ends_the_jail(kind: InitKind, line: bytes) -> None:
    with bare(kind) as jail:
        if line:
            order(jail, b"start 1", request_for(line))
            assert jail.control.recv(4096) == b"started 1"
        (nsjail,) = children(os.getpid())
        watched = Watched(descendants(nsjail))
        jail.control.shutdown(socket.SHUT_RDWR)
        assert watched.all_ended()


def gone(jail: Jail) -> bool:
    """Whether the init hangs up, and has nothing more to say."""
    try:
        return jail.control.recv(4096) == b""
    except ConnectionError:
        return True


def test_only_the_one_in_python_needs_an_interpreter() -> None:
    need(InitKind.COMPILED)
    empty = attrs.evolve(runtime(), mounts=())
    with session(runtime=empty) as jail:
        assert jail.run(shell("echo alive")).stdout.text() == "alive\n"
    with pytest.raises(SandboxFailed) as failed:
        sandbox(InitKind.PYTHON).open(spec(runtime=empty))
    assert (failed.value.stage, failed.value.detail) == ("start", "init")


@pytest.mark.parametrize("content", [b"", b"not a program", b"#!/bin/sh\nexit 0\n"])
def test_a_compiled_one_that_fails_its_trial_is_not_used(content: bytes) -> None:
    need(InitKind.COMPILED)
    program = os.memfd_create("broken")
    try:
        os.write(program, content)
        broken = Init(InitKind.COMPILED, "sha256:0", "present", "compiled", program=program)
        plan = _tried(attrs.evolve(plan_of(InitKind.COMPILED), init=broken))
    finally:
        os.close(program)
    assert (plan.init.kind, plan.init.state) == (InitKind.PYTHON, "degraded")
    assert "fails its trial" in plan.init.found


@pytest.mark.parametrize("linking", init_build.LINKING, ids=" ".join)
def test_however_it_is_linked_it_passes_its_trial(
    linking: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under both policies, which allow what a C library does at its start."""
    need(InitKind.COMPILED)
    monkeypatch.setattr(init_build, "LINKING", (linking,))
    built = init_build.build(tmp_path / "inits")
    assert built.program, built.reason
    monkeypatch.setattr("assay_sandbox.init_choice.build", lambda: built)
    init = compiled_or_python.__wrapped__()
    assert init.program is not None
    try:
        for policy in PolicyKind:
            _, plan = _measured(policy, InitKind.COMPILED)
            assert plan is not None
            try_init(attrs.evolve(plan, init=init))
    finally:
        os.close(init.program)


def test_the_wider_policy_has_the_same_init() -> None:
    need(InitKind.COMPILED)
    with CompatSandbox().open(spec()) as jail:
        assert jail.run(Command((PYTHON, b"-c", b"import os; os.abort()"))).signal == 6
    assert CompatSandbox().capabilities().layers["init"] == "present: compiled"


def refusal(outcome: Outcome) -> str:
    """Why a command was not started."""
    assert outcome.status is OutcomeStatus.SETUP_FAILED
    return outcome.detail


def plan_of(kind: InitKind) -> LaunchPlan:
    """How jails with this init are started."""
    _, plan = _measured(PolicyKind.STANDARD, kind)
    assert plan is not None
    assert plan.init.kind is kind
    return plan

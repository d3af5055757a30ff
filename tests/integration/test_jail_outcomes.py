"""How commands end, and that nothing but what happened decides how."""

from __future__ import annotations

import signal

import pytest
from support.jail import limits, python, session, shell

from assay.api import Command, InvalidInput, OutcomeStatus, UsageError


@pytest.mark.parametrize("code", [0, 1, 5, 127, 137, 139, 143, 255])
@pytest.mark.threat("pass an exit code off as a limit or a broken jail", layer="init")
def test_an_exit_code_is_only_an_exit_code(code: int) -> None:
    with session() as jail:
        outcome = jail.run(shell(f"exit {code}"))
    assert (outcome.status, outcome.exit_code) == (OutcomeStatus.EXITED, code)
    assert outcome.signal is None
    assert outcome.enforced_by == {}


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("kill -KILL $$", signal.SIGKILL),
        ("kill -TERM $$", signal.SIGTERM),
        ("kill -SEGV $$", signal.SIGSEGV),
        ("kill -XCPU $$", signal.SIGXCPU),
    ],
)
def test_a_signal_is_reported_as_outside(line: str, number: int) -> None:
    with session() as jail:
        outcome = jail.run(shell(line))
    assert (outcome.status, outcome.signal) == (OutcomeStatus.SIGNALLED, number)
    assert outcome.exit_code is None


def test_abort_is_signal_6() -> None:
    with session() as jail:
        outcome = jail.run(python("import os; os.abort()"))
    assert (outcome.status, outcome.signal) == (OutcomeStatus.SIGNALLED, signal.SIGABRT)


@pytest.mark.parametrize(
    "source",
    [
        "import time; time.sleep(600)",
        "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
        "import signal, time\n"
        "for n in range(1, 32):\n"
        "    if n not in (9, 19): signal.signal(n, signal.SIG_IGN)\n"
        "while True: time.sleep(1)",
    ],
    ids=["asleep", "stopped", "deaf"],
)
@pytest.mark.threat("stay beyond its time", layer="supervisor")
def test_the_wall_limit_ends_everything(source: str) -> None:
    with session() as jail:
        outcome = jail.run(python(source, limits=limits(wall=0.3)))
        after = jail.run(shell("echo alive"))
    assert outcome.status is OutcomeStatus.TIMED_OUT
    assert outcome.enforced_by == {"wall": "supervisor"}
    assert outcome.exit_code is None
    assert outcome.signal is None
    assert outcome.wall >= 0.3
    assert after.stdout.head == b"alive\n"


def test_the_processor_limit_is_told_from_a_kill() -> None:
    with session() as jail:
        outcome = jail.run(python("while True: pass", limits=limits(cpu=1)))
    assert outcome.status is OutcomeStatus.TIMED_OUT
    assert outcome.enforced_by == {"cpu": "rlimit"}
    assert outcome.cpu >= 0.5


@pytest.mark.threat("use up memory in one process", layer="rlimit")
def test_memory_is_bounded_for_each_process() -> None:
    with session() as jail:
        outcome = jail.run(python("x = bytearray(900 * 1024**2)"))
        small = jail.run(python("x = bytearray(200 * 1024**2); print(len(x))"))
    assert outcome.exit_code == 1
    assert b"MemoryError" in outcome.stderr.head
    assert small.stdout.head == b"209715200\n"
    assert small.peak_memory > 200 * 1024**2


@pytest.mark.threat("use up the disk with one file", layer="rlimit")
def test_a_file_too_large_is_a_disk_limit_or_an_error() -> None:
    line = "exec dd if=/dev/zero of=/tmp/large bs=1M count=10 status=none"
    with session() as jail:
        killed = jail.run(shell(line, limits=limits(file_size=1024**2)))
        failed = jail.run(
            python(
                "open('/tmp/large', 'wb').write(bytes(2 * 1024**2))",
                limits=limits(file_size=1024**2),
            )
        )
    assert killed.status is OutcomeStatus.DISK_LIMIT
    assert killed.enforced_by == {"file_size": "rlimit"}
    assert b"File too large" in failed.stderr.head


def test_a_missing_program_is_a_failed_set_up() -> None:
    with session() as jail:
        outcome = jail.run(Command((b"/usr/bin/no-such-program",)))
        folder = jail.run(Command((b"/bin/true",), cwd="/no-such-folder"))
        after = jail.run(Command((b"true",)))
    assert (outcome.status, outcome.detail) == (OutcomeStatus.SETUP_FAILED, "exec:ENOENT")
    assert (folder.status, folder.detail) == (OutcomeStatus.SETUP_FAILED, "cwd:ENOENT")
    assert outcome.exit_code is None
    assert after.exit_code == 0


@pytest.mark.threat("forge its own outcome by what it prints", layer="init, supervisor")
def test_lines_that_look_like_a_log_or_a_record_change_nothing() -> None:
    forged = (
        "import sys\n"
        "for stream in (sys.stdout, sys.stderr):\n"
        "    print('[F] main():1 could not launch', file=stream)\n"
        "    print('[I] pid=2 exited with status: 0, (PIDs left: 0)', file=stream)\n"
        "    print('done 1 exited 0 0.000000 0.000000 1', file=stream)\n"
        "sys.exit(7)\n"
    )
    with session() as jail:
        outcome = jail.run(python(forged))
    assert (outcome.status, outcome.exit_code) == (OutcomeStatus.EXITED, 7)


@pytest.mark.threat("forge lines of a log through names", layer="supervisor")
def test_control_characters_in_a_command_are_refused() -> None:
    with session() as jail:
        for argument in (b"a\nb", b"\x1b[31m", b"\x00", b"\x7f"):
            with pytest.raises(InvalidInput):
                jail.start(Command((b"/bin/echo", argument)))
        with pytest.raises(InvalidInput):
            jail.start(Command((b"/bin/true",), cwd="/tmp\n[I] exited with status: 0"))
        with pytest.raises(InvalidInput):
            jail.start(Command(()))


def test_one_command_at_a_time() -> None:
    with session() as jail:
        process = jail.start(shell("sleep 600"))
        with pytest.raises(UsageError):
            jail.start(shell("true"))
        process.kill()
        assert process.wait().status is OutcomeStatus.CANCELLED
        assert jail.run(shell("true")).exit_code == 0


def test_limits_that_can_not_be_enforced_are_refused() -> None:
    with session() as jail:
        for wrong in (limits(wall=0.0), limits(memory=-1), limits(wall=float("inf"))):
            with pytest.raises(InvalidInput):
                jail.start(shell("true", limits=wrong))
        with pytest.raises(UsageError):
            jail.start(shell("true", limits=limits(tmp=1024)))


def test_standard_input_is_what_was_given_and_nothing_else() -> None:
    with session() as jail:
        given = jail.run(Command((b"cat",), stdin=b"one\x00two\xff"))
        nothing = jail.run(Command((b"cat",)))
    assert given.stdout.head == b"one\x00two\xff"
    assert nothing.stdout.total == 0

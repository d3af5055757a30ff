"""Who dies with whom: nothing of a jail outlives its session, its nsjail or its supervisor."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.cgroups import groups_of
from support.jail import limits, python, sandbox, session, shell, spec
from support.processes import Watched, children, descendants, open_descriptors
from support.supervisor import next_start, supervisor

from assay.api import OutcomeStatus, SandboxFailed, UsageError
from assay_sandbox.inits import InitKind
from assay_sandbox.notes import notes_folder
from assay_sandbox.session import JailSession

TROUBLE = (
    "import os, signal, sys, time\n"
    "for n in range(1, 32):\n"
    "    if n not in (9, 17, 19): signal.signal(n, signal.SIG_IGN)\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork():\n"
    "        os._exit(0)\n"
    "    os.kill(os.getpid(), signal.SIGSTOP)\n"
    "print('up', flush=True)\n"
    "os.write(int(os.environ['ASSAY_CHANNEL_UP']), b'\\0\\0\\0\\2up')\n"
    "while True: time.sleep(1)\n"
)

PLAIN = (
    "import os, time\n"
    "os.write(int(os.environ['ASSAY_CHANNEL_UP']), b'\\0\\0\\0\\2up')\n"
    "time.sleep(600)\n"
)
DEAF_TO_DEATH = "import ctypes; ctypes.CDLL(None).prctl(1, 0)\n" + TROUBLE
PROGRAMS = {"plain": PLAIN, "trouble": TROUBLE, "deaf to its parent's death": DEAF_TO_DEATH}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.threat("outlive the supervisor", layer="init, pid namespace, seccomp")
def test_nothing_outlives_a_supervisor_and_the_next_start(number: int) -> None:
    """Five jails at once: each program; one whose nsjail, one whose init somebody stopped."""
    sources = [*PROGRAMS.values(), TROUBLE, TROUBLE]
    with supervisor(spec(), sources) as (process, jails):
        others, stopped = jails[:4], jails[4]
        assert all(len(descendants(nsjail)) >= 2 for nsjail in jails)
        ended = Watched({process.pid}.union(*({nsjail} | descendants(nsjail) for nsjail in others)))
        kept = Watched({stopped} | descendants(stopped))
        os.kill(others[3], signal.SIGSTOP)
        (init,) = children(stopped)
        os.kill(init, signal.SIGSTOP)
        process.send_signal(number)
        process.wait()
    assert ended.all_ended()
    next_start()
    assert kept.all_ended()
    assert groups_of(process.pid) == set()
    assert list(notes_folder().glob(f"*.{process.pid}.*")) == []


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.threat("outlive nsjail", layer="pid namespace, seccomp")
def test_nothing_outlives_a_killed_nsjail(number: int, program: str) -> None:
    with broken(PROGRAMS[program]) as (nsjail, _):
        os.kill(nsjail, number)


@pytest.mark.parametrize("kind", InitKind)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.threat("outlive the init", layer="pid namespace")
def test_nothing_outlives_a_killed_init(program: str, kind: InitKind) -> None:
    with broken(PROGRAMS[program], kind) as (_, init):
        os.kill(init, signal.SIGKILL)


@pytest.mark.parametrize("kind", InitKind)
@pytest.mark.parametrize("target", [0, 1], ids=["nsjail", "init"])
def test_closing_ends_what_somebody_stopped(target: int, kind: InitKind) -> None:
    with session(kind) as jail:
        process = jail.start(python(TROUBLE), ("up",))
        assert process.channels["up"].recv(10, _soon()) == b"up"
        pair = only_jail()
        watched = Watched({pair[0]} | descendants(pair[0]))
        os.kill(pair[target], signal.SIGSTOP)
        jail.close()
        assert watched.all_ended(0)


def test_a_session_outlives_the_thread_that_opened_it() -> None:
    opened: list[JailSession] = []
    thread = threading.Thread(target=lambda: opened.append(sandbox().open(spec())))
    thread.start()
    thread.join()
    with opened[0] as jail:
        outcome = jail.run(shell("echo alive"))
    assert outcome.stdout.text() == "alive\n"


def test_an_nsjail_that_can_not_be_started_is_a_failure_of_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nsjail"
    monkeypatch.setattr("assay_sandbox.nsjail_process.nsjail_program", lambda: str(program))
    sandbox()
    for fill in (lambda: None, program.touch):
        fill()
        with pytest.raises(SandboxFailed) as failed:
            sandbox().open(spec())
        assert failed.value.stage == "nsjail"


@pytest.mark.threat("outlive its session", layer="init, pid namespace")
def test_closing_ends_everything_inside_before_it_returns() -> None:
    with session() as jail:
        process = jail.start(python(TROUBLE), ("up",))
        assert process.channels["up"].recv(10, _soon()) == b"up"
        nsjail, _ = only_jail()
        watched = Watched({nsjail} | descendants(nsjail))
        jail.close()
        assert watched.all_ended(0)
        assert process.wait().status is OutcomeStatus.CANCELLED
        jail.close()
        with pytest.raises(UsageError):
            jail.start(shell("true"))


def test_closing_while_another_thread_waits() -> None:
    results = []
    started = threading.Event()

    def wait() -> None:
        process = jail.start(shell("sleep 600"))
        started.set()
        results.append(process.wait())

    with session() as jail:
        thread = threading.Thread(target=wait)
        thread.start()
        assert started.wait(30)
        jail.close()
        thread.join()
    assert results[0].status is OutcomeStatus.CANCELLED


def test_who_is_interrupted_while_waiting_has_no_jail_any_more() -> None:
    def interrupt() -> None:
        while len(descendants(os.getpid())) < 3:
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with session() as jail:
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            jail.run(shell("sleep 600"))
        thread.join()
        with pytest.raises(SandboxFailed):
            jail.run(shell("true"))


@pytest.mark.threat("exhaust the supervisor over time", layer="supervisor")
def test_fifty_time_outs_leave_no_zombie_and_no_descriptor() -> None:
    with session() as jail:
        jail.run(shell("true"))
        descriptors = open_descriptors()
        for _ in range(50):
            outcome = jail.run(shell("sleep 30", limits=limits(wall=0.02)))
            assert outcome.status is OutcomeStatus.TIMED_OUT
        assert open_descriptors() == descriptors
        assert "Z" not in children(os.getpid()).values()


@pytest.mark.threat("fill the process table", layer="rlimit, cgroup")
def test_a_fork_bomb_is_bounded_and_gone() -> None:
    bomb = (
        "import os, time\n"
        "born = 0\n"
        "for _ in range(5000):\n"
        "    try:\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(60)\n"
        "            os._exit(0)\n"
        "        born += 1\n"
        "    except OSError:\n"
        "        break\n"
        "print(born, flush=True)\n"
        "time.sleep(60)\n"
    )
    with session() as jail:
        outcome = jail.run(python(bomb, limits=limits(wall=2.0, processes=20)))
        after = jail.run(shell("echo alive"))
    assert outcome.status is OutcomeStatus.TIMED_OUT
    assert 1 <= int(outcome.stdout.head) < 20
    assert after.stdout.head == b"alive\n"


@pytest.mark.threat("fill the process table with the dead", layer="init")
def test_orphans_do_not_pile_up_as_zombies() -> None:
    source = (
        "import os\n"
        "for _ in range(300):\n"
        "    if os.fork() == 0:\n"
        "        if os.fork() == 0: os._exit(0)\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
        "print('all')\n"
    )
    with session() as jail:
        assert jail.run(python(source)).stdout.head == b"all\n"


def test_a_deadline_of_wait_kills() -> None:
    with session() as jail:
        outcome = jail.start(shell("sleep 600")).wait(0.0)
    assert outcome.status is OutcomeStatus.TIMED_OUT
    assert outcome.enforced_by == {"deadline": "supervisor"}


@pytest.mark.threat("act on the next command of its session", layer="init")
def test_the_last_command_is_gone_before_the_next_starts() -> None:
    with session() as jail:
        jail.run(shell("(while :; do echo tick >> /tmp/ticks; sleep 0.01; done) & sleep 0.2"))
        first = jail.run(shell("wc -l < /tmp/ticks"))
        second = jail.run(shell("sleep 0.2; wc -l < /tmp/ticks"))
    assert int(first.stdout.head) > 0
    assert first.stdout == second.stdout


@contextmanager
def broken(source: str, kind: InitKind = InitKind.COMPILED) -> Iterator[tuple[int, int]]:
    """A busy jail, given as nsjail and init; the block kills one, and all of it is over."""
    with session(kind) as jail:
        process = jail.start(python(source), ("up",))
        assert process.channels["up"].recv(10, _soon()) == b"up"
        nsjail, init = only_jail()
        watched = Watched(descendants(nsjail))
        yield nsjail, init
        with pytest.raises(SandboxFailed):
            process.wait()
        assert watched.all_ended()
        with pytest.raises(SandboxFailed):
            jail.run(shell("true"))


def only_jail() -> tuple[int, int]:
    """nsjail and init of the only jail of this process."""
    (nsjail,) = children(os.getpid())
    (init,) = children(nsjail)
    return nsjail, init


def _soon() -> float:
    return time.monotonic() + 30


class _SlowStart(subprocess.Popen[bytes]):
    """Comes back late, as on a busy host: when its process has a child, or had the time."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        deadline = time.monotonic() + 0.5
        while not children(self.pid) and time.monotonic() < deadline:
            time.sleep(0.01)


def test_the_kernel_takes_a_jail_before_its_supervisor_however_busy_the_host_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("assay_sandbox.nsjail_process.subprocess.Popen", _SlowStart)
    with session() as jail:
        outcome = jail.run(shell("cat /proc/self/oom_score_adj"))
    assert outcome.stdout.text() == "500\n"

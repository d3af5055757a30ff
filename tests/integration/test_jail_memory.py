"""The memory of a whole jail: bounded, told from other ends, and never carried over."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from support.jail import limits, python, sandbox, session, shell
from support.processes import children

from assay.api import Limits, Outcome, OutcomeStatus, SandboxFailed

MIB = 1024**2
SMALL = limits(memory=128 * MIB)
LAYERS = {"cgroup", "systemd scope", "watchdog"}

MANY = (
    "import os, time\n"
    "for _ in range(6):\n"
    "    if os.fork() == 0:\n"
    "        held = bytearray(60 * 1024**2)\n"
    "        time.sleep(60)\n"
    "        os._exit(0)\n"
    "time.sleep(60)\n"
)


def in_force() -> str:
    """The layer that bounds memory here, without its state."""
    return sandbox().capabilities().layers["memory"].partition(": ")[2]


def assert_limited(outcome: Outcome) -> None:
    assert outcome.status is OutcomeStatus.MEMORY_LIMIT
    assert outcome.exit_code is None
    assert outcome.signal is None
    assert list(outcome.enforced_by) == ["memory"]
    layer = outcome.enforced_by["memory"]
    assert layer in LAYERS
    assert in_force().startswith(layer)
    assert outcome.peak_memory > 128 * MIB


@pytest.mark.threat("use up memory with many processes", layer="cgroup, systemd scope, watchdog")
def test_many_processes_are_bounded_together_and_the_jail_lives_on() -> None:
    with session() as jail:
        assert_limited(jail.run(python(MANY, limits=SMALL)))
        after = jail.run(python("print(len(bytearray(100 * 1024**2)))", limits=SMALL))
    assert (after.status, after.stdout.text()) == (OutcomeStatus.EXITED, "104857600\n")
    assert after.enforced_by == {}
    assert after.peak_memory < 250 * MIB


@pytest.mark.threat("have the next jail pay for what this one took", layer="cgroup, watchdog")
def test_a_jail_begins_at_nothing_whatever_the_one_before_took() -> None:
    with session() as jail:
        assert_limited(jail.run(python(MANY, limits=SMALL)))
    with session() as jail:
        outcome = jail.run(python("print(len(bytearray(60 * 1024**2)))", limits=SMALL))
    assert (outcome.status, outcome.enforced_by) == (OutcomeStatus.EXITED, {})
    assert 60 * MIB < outcome.peak_memory < 125 * MIB
    assert outcome.cpu < 5.0


@pytest.mark.threat("hide that memory ran out", layer="cgroup, systemd scope, watchdog")
def test_a_parent_that_outlives_the_kill_and_exits_well_does_not_hide_it() -> None:
    source = MANY.replace("time.sleep(60)\n        os._exit", "time.sleep(5)\n        os._exit")
    source = source.rpartition("time.sleep")[0] + "for _ in range(6): os.wait()\n"
    with session() as jail:
        assert_limited(jail.run(python(source, limits=SMALL)))


@pytest.mark.threat("use up memory that processes share", layer="cgroup, systemd scope, watchdog")
def test_memory_between_processes_is_counted_too() -> None:
    source = (
        "import mmap, os, time\n"
        "for _ in range(5):\n"
        "    if os.fork() == 0:\n"
        "        shared = mmap.mmap(-1, 80 * 1024**2)\n"
        "        for at in range(0, len(shared), 4096): shared[at] = 1\n"
        "        time.sleep(60)\n"
        "time.sleep(60)\n"
    )
    with session() as jail:
        assert_limited(jail.run(python(source, limits=SMALL)))


def test_pages_that_forked_processes_share_count_once() -> None:
    source = (
        "import os, time\n"
        "held = bytearray(90 * 1024**2)\n"
        "for _ in range(5):\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(0.5)\n"
        "        os._exit(0)\n"
        "for _ in range(5): os.wait()\n"
        "print(len(held))\n"
    )
    with session() as jail:
        outcome = jail.run(python(source, limits=SMALL))
    assert (outcome.status, outcome.exit_code) == (OutcomeStatus.EXITED, 0)
    assert outcome.peak_memory > 90 * MIB


def test_files_in_memory_have_room_beside_the_programs() -> None:
    fill = "with open('/tmp/{0}', 'wb') as f: f.write(bytes(30 * 1024**2))\n"
    source = (
        fill.format("a") + fill.format("b") + "held = bytearray(100 * 1024**2)\nprint(len(held))"
    )
    with session() as jail:
        outcome = jail.run(python(source, limits=SMALL))
    assert (outcome.status, outcome.exit_code) == (OutcomeStatus.EXITED, 0)


@pytest.mark.threat("pass one end off as another", layer="supervisor, init")
def test_time_outs_exit_codes_and_kills_are_not_memory() -> None:
    hold = "held = bytearray(100 * 1024**2)\n"
    with session() as jail:
        slow = jail.run(python(hold + "import time; time.sleep(60)", limits=tight(wall=0.5)))
        code = jail.run(python(hold + "import sys; sys.exit(137)", limits=SMALL))
        killed = jail.run(python(hold + "import os; os.kill(os.getpid(), 9)", limits=SMALL))
        refused = jail.run(python("bytearray(200 * 1024**2)", limits=SMALL))
    assert (slow.status, slow.enforced_by) == (OutcomeStatus.TIMED_OUT, {"wall": "supervisor"})
    assert (code.status, code.exit_code) == (OutcomeStatus.EXITED, 137)
    assert (killed.status, killed.signal) == (OutcomeStatus.SIGNALLED, signal.SIGKILL)
    assert (refused.status, refused.exit_code) == (OutcomeStatus.EXITED, 1)
    assert b"MemoryError" in refused.stderr.head


@pytest.mark.threat("use up what another jail may hold", layer="cgroup, systemd scope, watchdog")
def test_jails_at_the_same_time_do_not_share_limits() -> None:
    results = []

    def hold() -> None:
        with session() as jail:
            source = "import time; x = bytearray(100 * 1024**2); time.sleep(0.7); print('kept')"
            results.append(jail.run(python(source, limits=SMALL)))

    threads = [threading.Thread(target=hold) for _ in range(2)]
    for thread in threads:
        thread.start()
    with session() as jail:
        limited = jail.run(python(MANY, limits=SMALL))
    for thread in threads:
        thread.join()
    assert_limited(limited)
    assert [outcome.stdout.text() for outcome in results] == ["kept\n"] * 2


@pytest.mark.threat("blame the sandbox by having its init killed", layer="cgroup")
def test_the_init_may_be_what_the_kernel_takes() -> None:
    """Then the command has reached its limit, and the session is over."""
    if os.geteuid() != 0 or not in_force().startswith("cgroup"):
        pytest.skip("only the kernel chooses so, and only root can move its choice")
    wait = (
        "import os\n"
        "channel = int(os.environ['ASSAY_CHANNEL_GO'])\n"
        "os.write(channel, b'\\0\\0\\0\\2up')\n"
        "os.read(channel, 8)\n"
    )
    with session() as jail:
        process = jail.start(python(wait + MANY, limits=SMALL), ("go",))
        assert process.channels["go"].recv(10, time.monotonic() + 30) == b"up"
        Path(f"/proc/{_init()}/oom_score_adj").write_text("1000")
        process.channels["go"].send(b"go")
        outcome = process.wait()
        with pytest.raises(SandboxFailed):
            jail.run(shell("true"))
    assert_limited(outcome)


def tight(wall: float) -> Limits:
    """Little memory, and little time."""
    return limits(memory=128 * MIB, wall=wall)


def _init() -> int:
    """The first process that this process's only nsjail started."""
    (nsjail,) = children(os.getpid())
    (init,) = children(nsjail)
    return init

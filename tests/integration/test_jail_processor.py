"""The processor time of a whole jail: many processes gain nothing, and nothing is carried over."""

from __future__ import annotations

import pytest
from support.jail import limits, python, sandbox, session

from assay.api import OutcomeStatus

ONE_SECOND = limits(cpu=1, processes=16)
LAYERS = {"cgroup", "systemd scope", "watchdog"}

SHORT = (
    "import os, time\n"
    "def work(seconds):\n"
    "    while time.process_time() < seconds: pass\n"
    "while True:\n"
    "    for _ in range(2):\n"
    "        if os.fork() == 0:\n"
    "            work(0.3)\n"
    "            os._exit(0)\n"
    "    os.wait(), os.wait()\n"
)
# So the kernel tells nobody of a child's end, and `wait` returns when none is left.
UNHEARD = "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n" + SHORT.replace(
    "    os.wait(), os.wait()\n", "    try: os.wait()\n    except ChildProcessError: pass\n"
)
ONCE = "import time\nwhile time.process_time() < 0.7: pass\nprint('done')\n"


def in_force() -> str:
    """The layer that counts processor time here, with its state."""
    return sandbox().capabilities().layers["processor"]


@pytest.mark.threat(
    "use up the processors with many short processes", layer="cgroup, systemd scope, watchdog"
)
def test_many_short_processes_use_no_more_than_one_and_the_jail_lives_on() -> None:
    with session() as jail:
        outcome = jail.run(python(SHORT, limits=ONE_SECOND))
        after = jail.run(python(ONCE, limits=ONE_SECOND))
    assert outcome.status is OutcomeStatus.TIMED_OUT
    assert list(outcome.enforced_by) == ["cpu"]
    layer = outcome.enforced_by["cpu"]
    assert layer in LAYERS
    assert in_force().partition(": ")[2].startswith(layer)
    assert 1.0 < outcome.cpu < 10.0
    assert after.stdout.text() == "done\n"


@pytest.mark.threat(
    "hide processor time in processes that nobody waits for", layer="cgroup, systemd scope"
)
def test_processes_whose_end_nobody_hears_of_count_too() -> None:
    """What they used is in no parent's account, so only living ones and groups are seen."""
    with session() as jail:
        outcome = jail.run(python(UNHEARD, limits=limits(cpu=1, processes=16, wall=10.0)))
    assert outcome.status is OutcomeStatus.TIMED_OUT
    assert list(outcome.enforced_by) == ["cpu"] or in_force() == "degraded: watchdog"


@pytest.mark.threat("use up the processor, deaf to signals", layer="rlimit")
def test_one_process_is_ended_by_the_kernel_itself() -> None:
    with session() as jail:
        outcome = jail.run(python("while True: pass", limits=ONE_SECOND))
        deaf = jail.run(
            python(
                "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass",
                limits=ONE_SECOND,
            )
        )
    assert (outcome.status, outcome.enforced_by) == (OutcomeStatus.TIMED_OUT, {"cpu": "rlimit"})
    assert deaf.status is OutcomeStatus.TIMED_OUT
    assert list(deaf.enforced_by) == ["cpu"]

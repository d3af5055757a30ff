"""An nsjail that is started ahead: one jail's own, never shared, and gone when nobody asks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from support.cgroups import groups_of, own_groups
from support.jail import limits, python, sandbox, session, shell, spec
from support.processes import Watched, children, descendants, open_descriptors
from support.supervisor import next_start

from assay.api import OutcomeStatus, SandboxFailed
from assay_sandbox.layout import Layout, layout_of
from assay_sandbox.memory import memory_layer
from assay_sandbox.notes import notes_folder
from assay_sandbox.textproto import Message

MIB = 1024**2
MANY = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        held = bytearray(60 * 1024**2)
        time.sleep(60)
        os._exit(0)
time.sleep(60)
"""


@pytest.fixture
def spare() -> Iterator[int]:
    """The spare of this process, which is left by the first jail."""
    with sandbox().warm():
        assert not children(os.getpid())
        with session():
            pass
        yield only_spare()


def only_spare() -> int:
    """The only child of this process: it waits, with nothing below it."""
    (nsjail,) = children(os.getpid())
    assert not descendants(nsjail)
    return nsjail


def test_the_next_jail_is_made_of_it_and_leaves_another(spare: int) -> None:
    with session() as jail:
        assert spare in children(os.getpid())
        assert len(descendants(spare)) == 1
        assert jail.run(shell("echo alive")).stdout.text() == "alive\n"
        (other,) = set(children(os.getpid())) - {spare}
        assert not descendants(other)
    assert only_spare() == other


@pytest.mark.threat(
    "reach another jail of a sandbox that is kept warm", layer="pid namespace, mount namespace"
)
def test_two_at_once_share_nothing(spare: int) -> None:
    show = "readlink /proc/self/ns/*; cat /proc/self/cgroup; ls /tmp; touch /tmp/mine"
    with session() as first, session() as second:
        told = [jail.run(shell(show)).stdout.text().splitlines() for jail in (first, second)]
        if memory_layer().place is not None:
            assert len(own_groups()) == 3 * len({group.parent for group in own_groups()})
    ours = {os.readlink(f"/proc/self/ns/{name}") for name in os.listdir("/proc/self/ns")}
    spaces = [{line for line in lines if "[" in line} for lines in told]
    assert spaces[0] & spaces[1] <= ours
    assert all("mine" not in lines for lines in told)
    assert spare not in children(os.getpid())


def test_its_bounds_are_those_of_its_own_jail(spare: int) -> None:
    """The jail that left it had a smaller /tmp; the one that leaves the next, a larger one."""
    fill = shell("for n in 1 2 3 4 5 6; do head -c 40M /dev/zero > /tmp/$n || exit 1; done")
    with session(limits=limits(tmp=256 * MIB, memory=32 * MIB)) as jail:
        assert spare in children(os.getpid())
        assert jail.run(fill).exit_code == 0
        (other,) = set(children(os.getpid())) - {spare}
    with session(limits=limits(tmp=64 * MIB, memory=128 * MIB)) as jail:
        assert other in children(os.getpid())
        assert jail.run(python(MANY)).status is OutcomeStatus.MEMORY_LIMIT


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_one_that_died_meanwhile_is_replaced_in_silence(spare: int, number: int) -> None:
    watched = Watched({spare})
    os.kill(spare, number)
    assert watched.all_ended()
    with session() as jail:
        assert spare not in children(os.getpid())
        assert jail.run(shell("echo alive")).stdout.text() == "alive\n"


def test_only_the_last_of_its_keepers_ends_it(spare: int) -> None:
    descriptors = open_descriptors()
    with sandbox().warm():
        pass
    assert only_spare() == spare
    assert open_descriptors() == descriptors


def test_without_a_keeper_there_is_none() -> None:
    with sandbox().warm():
        pass
    with session():
        assert len(children(os.getpid())) == 1


def test_a_jail_that_can_not_start_says_why_in_a_log_of_its_own(
    spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> Layout:
        absent = Message()
        absent.text("dst", "/absent")
        absent.text("src", "/absent")
        absent.flag("is_bind", True)
        layout = layout_of(*arguments)  # type: ignore[arg-type]
        return attrs.evolve(layout, mounts=(*layout.mounts, absent))

    with monkeypatch.context() as patched:
        patched.setattr("assay_sandbox.sandbox.layout_of", broken)
        with pytest.raises(SandboxFailed) as failed:
            sandbox().open(spec())
    assert (failed.value.stage, failed.value.detail) == ("start", "mounts")
    assert spare not in children(os.getpid())
    with session() as jail:
        assert jail.run(shell("echo alive")).stdout.text() == "alive\n"


def test_one_that_can_not_be_started_is_no_fault_of_the_jail_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise SandboxFailed("nsjail", "it can't be started")

    monkeypatch.setattr("assay_sandbox.spares.start_waiting", fail)
    with sandbox().warm():
        for _ in range(2):
            with session() as jail:
                assert jail.run(shell("echo alive")).stdout.text() == "alive\n"
                assert len(children(os.getpid())) == 1


FORKING = """
import os, signal, sys
from support.jail import sandbox, session, shell
from support.processes import children
with sandbox().warm():
    with session():
        pass
    (spare,) = children(os.getpid())
    if (child := os.fork()) == 0:
        with session() as jail:
            said = jail.run(shell("echo own")).stdout.text()
            alone = len(children(os.getpid())) == 1
        os._exit(0 if said == "own\\n" and alone and not children(os.getpid()) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert set(children(os.getpid())) == {spare}
    if os.fork() == 0:
        print(spare, flush=True)
        signal.pause()
    signal.pause()
"""


@pytest.mark.parametrize("stopped", [False, True])
def test_it_ends_with_its_supervisor_even_when_a_fork_of_that_lives_on(stopped: bool) -> None:
    places = [str(Path(__file__).parents[1]), *sys.path]
    with subprocess.Popen(
        [sys.executable, "-c", FORKING],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
    ) as process:
        assert process.stdout is not None
        spare = int(process.stdout.readline())
        (fork,) = set(children(process.pid)) - {spare}
        watched, forked = Watched({spare}), Watched({fork})
        if stopped:
            os.kill(spare, signal.SIGSTOP)
        process.kill()
        process.wait()
        assert watched.all_ended()
        os.kill(fork, signal.SIGKILL)
        assert forked.all_ended()
    next_start()
    assert groups_of(process.pid) == set()
    assert list(notes_folder().glob(f"*.{process.pid}.*")) == []

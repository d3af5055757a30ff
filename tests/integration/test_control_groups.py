"""Control groups that root gave to a user, and those that a dead supervisor left."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.processes import Watched
from support.users import as_ordinary_user, system_python_problem

from assay_sandbox.cgroup_place import Place, find_place
from assay_sandbox.cgroup_tree import make_group, remove_group, remove_leftovers
from assay_sandbox.pids import namespace

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives groups away")


@pytest.fixture
def place() -> Place:
    """Where root's groups are."""
    found = find_place(
        Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text(), 0
    )
    if not isinstance(found, Place):
        pytest.skip(found.reason)
    return found


HELD = """
import json, subprocess, sys, time
from assay.api import Limits
from assay_sandbox.memory import memory_layer, open_hold
BOMB = "held = bytearray(200 * 1024**2)"
layer, limits = memory_layer(), Limits(memory=64 * 1024**2)
hold = open_hold(layer, limits, 0)
program = [*hold.prefix, sys.executable, "-I", "-c", BOMB]
bomb = hold.start(lambda: subprocess.Popen(program, env=hold.environment))
guard = hold.started(bomb.pid, bomb.pid)
code = bomb.wait()
reached = guard.reached()
peak = guard.peak().memory
hold.release()
print(json.dumps([layer.state, layer.layer, code, reached.limit, reached.layer, peak]))
"""


@pytest.fixture
def given(place: Place) -> Iterator[int]:
    """A user to whom root gave folders, as the fix of `assay doctor` says; nobody else has it."""
    if place.version != 1:
        pytest.skip("version 2 is given away by the service manager")
    user = 300_000 + os.getpid()
    folders = [folder.with_name(f"assay-{user}") for folder in place.folders]
    for folder in folders:
        folder.mkdir()
        os.chown(folder, user, -1)
    yield user
    for folder in folders:
        folder.rmdir()


def test_a_user_makes_groups_in_what_root_gave(given: int) -> None:
    problem = system_python_problem()
    if problem and "CI" not in os.environ:
        pytest.skip(problem)
    finished = as_ordinary_user("-c", HELD, user=given)
    assert finished.code == 0, finished.output
    *told, peak = json.loads(finished.output)
    assert told == ["present", "cgroup v1", -9, "memory", "cgroup"]
    assert peak == (64 + 32) * 1024**2


@pytest.mark.threat("outlive a supervisor that was killed", layer="cgroup")
def test_what_a_dead_supervisor_left_is_killed_and_removed(place: Place) -> None:
    """A group is named after its supervisor, so that nobody takes one that is in use."""
    name = f"assay-test-{os.getpid()}"
    place = Place(
        place.version, place.memory.with_name(name), place.pids.with_name(name), ours=True
    )
    alive = make_group(place, 0)
    left = [folder.with_name(f"{namespace()}.1.1.7") for folder in alive.folders]
    foreign = [folder.with_name("1.1.1.7") for folder in alive.folders]
    for folder in (*left, *foreign):
        folder.mkdir()
    with subprocess.Popen(["/bin/sleep", "600"]) as stray:
        for folder in left:
            (folder / "cgroup.procs").write_text(f"{stray.pid}\n")
        watched = Watched({stray.pid})
        remove_leftovers(place)
        assert watched.all_ended()
    assert [folder for folder in left if folder.exists()] == []
    assert all(folder.exists() for folder in (*alive.folders, *foreign))
    for folder in foreign:
        folder.rmdir()
    remove_group(place, alive)
    assert not any(folder.exists() for folder in alive.folders)

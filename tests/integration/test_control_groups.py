"""Control groups that root gave to a user, and those that a dead supervisor left."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from support.processes import Watched
from support.users import ORDINARY_ID, as_ordinary_user, system_python_problem

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


@pytest.fixture
def given(place: Place) -> Iterator[Place]:
    """Folders of the ordinary user, as the fix of `assay doctor` makes them."""
    if place.version != 1:
        pytest.skip("version 2 is given away by the service manager")
    theirs = attrs.evolve(
        place,
        memory=place.memory.with_name(f"assay-{ORDINARY_ID}"),
        pids=place.pids.with_name(f"assay-{ORDINARY_ID}"),
        ours=False,
    )
    for folder in theirs.folders:
        folder.mkdir()
        os.chown(folder, ORDINARY_ID, -1)
    yield theirs
    for folder in theirs.folders:
        folder.rmdir()


def test_a_user_makes_groups_in_what_root_gave(given: Place) -> None:
    problem = system_python_problem()
    if problem and "CI" not in os.environ:
        pytest.skip(problem)
    finished = as_ordinary_user(
        *("-m", "pytest", "-q", "-rs", "-k", "together or codes"),
        "tests/integration/test_jail_memory.py",
    )
    assert finished.code == 0, finished.output
    assert "skipped" not in finished.output
    assert [folder for top in given.folders for folder in top.iterdir() if folder.is_dir()] == []


def test_what_a_dead_supervisor_left_is_killed_and_removed(place: Place) -> None:
    """A group is named after its supervisor, so that nobody takes one that is in use."""
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

"""Where control groups can be made, on hosts of every kind, as folders of plain files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.api import Limits, OutcomeStatus
from assay_sandbox.cgroup_place import NoPlace, Place, find_place
from assay_sandbox.cgroups import Group
from assay_sandbox.guard import Peak
from assay_sandbox.scopes import scope_command

ROOT, USER = 0, 1000
BOTH = "cpu memory pids"


def first(root: Path) -> str:
    """Version 1, one hierarchy for each controller, beside an empty version 2."""
    for name in ("memory", "pids", "cpu", "unified"):
        (root / name).mkdir()
    (root / "unified/cgroup.controllers").write_text("\n")
    lines = [
        f"30 20 0:25 / {root}/{name} rw,relatime shared:9 - cgroup cgroup rw,{name}"
        for name in ("cpu", "memory", "pids")
    ]
    return "\n".join([*lines, f"34 20 0:29 / {root}/unified rw - cgroup2 cgroup2 rw\n"])


def test_processor_time_is_counted_where_version_1_can(tmp_path: Path) -> None:
    mounts = first(tmp_path)
    (tmp_path / "cpuacct").mkdir()
    mounts += "36 20 0:31 / /mnt/odd\x85\u2028\rname rw - tmpfs none rw\n"
    mounts += f"35 20 0:30 / {tmp_path}/cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    memory, pids, counter = (tmp_path / name for name in ("memory", "pids", "cpuacct"))
    place = find_place(mounts, "", ROOT)
    assert place == Place(1, memory / "assay", pids / "assay", True, counter / "assay")
    for folder in (memory, pids):
        (folder / f"assay-{USER}").mkdir()
    # A user to whom root gave only the other two is bounded all the same.
    given = find_place(mounts, "", USER)
    assert given == Place(1, memory / f"assay-{USER}", pids / f"assay-{USER}", False)
    (counter / "cpuacct.usage").write_text("2500000000\n")
    assert Group(1, memory, pids, 0, counter=counter).processor_seconds() == 2.5
    assert Group(1, memory, pids, 0).processor_seconds() is None


def second(root: Path, *, gives: str = BOTH, inner: bool = False, busy: bool = False) -> str:
    """Version 2; `inner`: the top that is seen is not the real one."""
    (root / "cgroup.controllers").write_text(BOTH + "\n")
    (root / "cgroup.subtree_control").write_text(gives + "\n")
    (root / "cgroup.procs").write_text("1\n" if busy else "")
    if inner:
        (root / "cgroup.type").write_text("domain\n")
    return f"30 20 0:25 / {root} rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"


def test_root_makes_its_own_folders_in_either_version(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir(), two.mkdir()
    assert find_place(first(one), "", ROOT) == Place(
        1, one / "memory/assay", one / "pids/assay", True
    )
    assert find_place(second(two), "0::/\n", ROOT) == Place(2, two / "assay", two / "assay", True)


@pytest.mark.parametrize(
    ("options", "possible"),
    [
        ({"gives": "", "busy": True}, True),
        ({"gives": "", "inner": True}, True),
        ({"gives": "", "inner": True, "busy": True}, False),
        ({"gives": BOTH, "inner": True, "busy": True}, True),
    ],
    ids=["the real top", "an empty container", "a busy container", "set up"],
)
def test_a_group_that_holds_processes_gives_no_controllers(
    options: dict[str, bool], possible: bool, tmp_path: Path
) -> None:
    found = find_place(second(tmp_path, **options), "0::/\n", ROOT)  # type: ignore[arg-type]
    assert isinstance(found, Place) is possible
    if isinstance(found, NoPlace):
        assert "Delegate=yes" in found.fix


def test_a_user_gets_what_was_made_for_them(tmp_path: Path) -> None:
    mountinfo = first(tmp_path)
    missing = find_place(mountinfo, "", USER)
    assert isinstance(missing, NoPlace)
    assert f"-o {USER} {tmp_path}/memory/assay-{USER} " in missing.fix
    for name in ("memory", "pids"):
        (tmp_path / name / f"assay-{USER}").mkdir()
    found = find_place(mountinfo, "", USER)
    assert found == Place(
        1, tmp_path / f"memory/assay-{USER}", tmp_path / f"pids/assay-{USER}", False
    )


def test_a_user_gets_the_nearest_group_above_that_is_theirs(tmp_path: Path) -> None:
    mountinfo = second(tmp_path)
    slice_ = tmp_path / "user.slice/app.slice"
    slice_.mkdir(parents=True)
    own = "1:name=systemd:/elsewhere\n0::/user.slice/app.slice/terminal.scope\n"
    for folder, gives in ((slice_, BOTH), (slice_.parent, "cpu")):
        (folder / "cgroup.procs").write_text("")
        (folder / "cgroup.subtree_control").write_text(gives + "\n")
    assert find_place(mountinfo, own, USER) == Place(
        2, slice_ / f"assay-{USER}", slice_ / f"assay-{USER}", True
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_what_belongs_to_somebody_else_is_not_used(tmp_path: Path) -> None:
    mountinfo = second(tmp_path)
    tmp_path.chmod(0o500)
    assert isinstance(find_place(mountinfo, "0::/a/b\n", USER), NoPlace)


@pytest.mark.parametrize("own", ["", "0::/\n", "0::/../../etc\n", "0::/gone\n", "junk"])
def test_odd_groups_of_a_process_lead_nowhere(own: str, tmp_path: Path) -> None:
    assert isinstance(find_place(second(tmp_path, gives=""), own, USER), NoPlace)


@pytest.mark.parametrize("mountinfo", ["", "22 1 8:1 / / rw - ext4 /dev/vda rw\n"])
def test_a_host_without_groups_says_so(mountinfo: str) -> None:
    found = find_place(mountinfo, "", ROOT)
    assert isinstance(found, NoPlace)
    assert "no control groups" in found.reason


def test_a_group_of_version_2_is_bounded_counted_and_read(tmp_path: Path) -> None:
    folder = tmp_path / "group"
    folder.mkdir()
    for name, text in (
        ("memory.max", "max"),
        ("memory.swap.max", "max"),
        ("memory.peak", "5000"),
        ("memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n"),
        ("pids.max", "max"),
        ("cgroup.procs", ""),
        ("pids.peak", "3"),
        ("cpu.stat", "usage_usec 1500000\nuser_usec 1000000\n"),
    ):
        (folder / name).write_text(text)
    group = Group(2, folder, folder, room=4096)
    assert not group.bounds(Limits())
    group.begin(Limits(memory=8192, processes=10))
    assert group.bounds(Limits(memory=8192))
    assert not group.bounds(Limits(memory=4096))
    written = [
        (folder / name).read_text() for name in ("memory.max", "memory.swap.max", "pids.max")
    ]
    assert written == ["12288\n", "0\n", "14\n"]
    assert group.reached() is None
    assert group.peak() == Peak()
    assert group.processor_seconds() == 1.5
    (folder / "memory.peak").write_text("9000")
    (folder / "memory.events").write_text("oom 4\noom_kill 3\n")
    reached = group.reached()
    assert reached is not None
    assert (reached.status, reached.layer) == (OutcomeStatus.MEMORY_LIMIT, "cgroup")
    (folder / "pids.peak").write_text("7")
    assert group.peak() == Peak(memory=9000, processes=5)
    group.begin(Limits())
    assert group.reached() is None
    assert group.peak() == Peak()


def test_a_scope_is_asked_for_with_all_of_its_limits() -> None:
    command = scope_command("systemd-run", Limits(memory=1000, processes=5), 24)
    other = scope_command("systemd-run", Limits(memory=1000, processes=5), 24)
    assert command[:3] == ["systemd-run", "--user", "--scope"]
    assert "--property=MemoryMax=1024" in command
    assert "--property=MemorySwapMax=0" in command
    assert "--property=TasksMax=9" in command
    assert command[-1] == "--"
    assert command != other

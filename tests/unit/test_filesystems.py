"""File systems are told by their mounts; workspaces go where it is quick and there is room."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from attrs import evolve
from support.trees import IN_MEMORY, File, make, nothing_leaks, small_disk

from assay import filesystems, placement
from assay.api import HostIds
from assay.filesystems import FileSystem, create_after_delete, file_system
from assay.host_checks import check_host, judge_place, judge_speed, judge_store
from assay.placement import Need, best_place, need_of

GIB = 1024**3
DISK = FileSystem("ext4", False, True, True, 100 * GIB, 10**6, True)
MEMORY = FileSystem("tmpfs", False, True, True, 10 * GIB, 10**6)

MOUNTS = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 27 0:27 / /a rw,relatime shared:1 - tmpfs tmpfs rw
31 27 0:27 / /a rw,relatime - xfs /dev/vdb rw
32 27 0:28 / /with\040space rw - btrfs /dev/vdc rw
"""


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("/", "ext4"),
        ("/a", "xfs"),
        ("/a/b", "xfs"),
        ("/ab", "ext4"),
        ("/proc/1", "proc"),
        ("/with space/x", "btrfs"),
    ],
)
def test_the_nearest_and_last_mount_holds_a_folder(
    place: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS)
    monkeypatch.setattr(filesystems, "MOUNTS", tmp_path / "mountinfo")
    assert filesystems._mounted(place)[0] == kind
    monkeypatch.setattr(filesystems, "MOUNTS", tmp_path / "absent")
    assert filesystems._mounted(place)[0] == "unknown"


def test_a_journal_is_told_where_the_kernel_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filesystems, "EXT4", tmp_path)
    for name, task in (("vda", "123\n"), ("vdb", "<none>\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "journal_task").write_text(task)
    assert [filesystems._journal(f"/dev/{name}") for name in ("vda", "vdb", "vdc")] == [
        True,
        False,
        None,
    ]


def test_flags_and_room_of_a_file_system(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "size=4m,nr_inodes=100,noexec,nosuid") as disk:
        found = file_system(disk)
    assert (found.kind, found.in_memory, found.executable, found.setuid) == (
        "tmpfs",
        True,
        False,
        False,
    )
    assert 0 < found.free <= 4 * 1024**2
    assert 0 < (found.inodes or 0) < 100
    with pytest.raises(OSError):
        file_system(tmp_path / "absent")


def test_memory_bounds_what_is_free_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if IN_MEMORY is None or file_system(Path(IN_MEMORY)).kind != "tmpfs":
        pytest.skip("there is no tmpfs")
    (tmp_path / "meminfo").write_text("MemTotal: 100 kB\nMemAvailable: 7 kB\n")
    monkeypatch.setattr(filesystems, "MEMORY", tmp_path / "meminfo")
    assert file_system(Path(IN_MEMORY)).free == 7 * 1024


def test_measuring_leaves_nothing(tmp_path: Path) -> None:
    with nothing_leaks(tmp_path):
        assert create_after_delete(tmp_path) > 0


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[Path, FileSystem]:
    """A host whose file systems are as a test says; nothing is given by the environment."""
    found: dict[Path, FileSystem] = {}
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    for name in ("memory", "usual", "other", "store"):
        (tmp_path / name).mkdir()
        found[tmp_path / name] = DISK
    found[tmp_path / "memory"] = MEMORY
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "usual"))
    monkeypatch.setattr(placement, "CANDIDATES", (tmp_path / "memory", tmp_path / "other"))
    monkeypatch.setattr(placement, "file_system", found.__getitem__)
    return found


def test_memory_is_best_then_the_first_that_is_not_slow(
    hosts: dict[Path, FileSystem], tmp_path: Path
) -> None:
    def best(need: Need = Need()) -> str:  # noqa: B008
        return best_place(tmp_path / "store", None, need).name

    assert best() == "memory"
    # What is in memory takes it away from others: only half of it may be needed.
    assert best(Need(5 * GIB, 0)) == "memory"
    assert best(Need(5 * GIB + 1, 0)) == "other"
    assert best(Need(0, 10**6 + 1)) == "memory"
    hosts[tmp_path / "memory"] = evolve(MEMORY, executable=False)
    assert best() == "other"
    hosts[tmp_path / "other"] = evolve(DISK, journal=False)
    assert best() == "usual"
    hosts[tmp_path / "usual"] = evolve(DISK, read_only=True)
    assert best() == "store"
    hosts[tmp_path / "store"] = evolve(DISK, journal=False)
    assert best() == "other"


def test_what_is_given_is_taken_whatever_it_is(
    hosts: dict[Path, FileSystem], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "usual"))
    hosts[tmp_path / "usual"] = evolve(DISK, executable=False, free=0)
    assert best_place(tmp_path / "store", None, Need()) == tmp_path / "usual"


@pytest.mark.usefixtures("hosts")
def test_where_jails_can_not_get_in_workspaces_are_beside_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "usual"))
    (tmp_path / "usual").chmod(0o700)
    nobody = HostIds(200_001, 200_001)
    assert best_place(tmp_path / "store", nobody, Need()) == tmp_path / "store"


def test_what_is_needed_is_the_largest_tree_for_each_worker(tmp_path: Path) -> None:
    small = make(tmp_path / "small", {"a": File(b"1")})
    large = make(tmp_path / "large", {"d": {"a": File(b"1" * 5000), "b": File()}, "e": {}})
    none, alone = need_of([], 3), need_of([str(small), str(large)], 1)
    assert alone.size - none.size // 3 == 3 * 8192
    assert alone.entries - none.entries // 3 == 3 * 4
    assert need_of([str(large), str(small)], 4).size == 4 * alone.size
    assert need_of([str(tmp_path / "absent")], 3) == none


@pytest.mark.parametrize(
    ("found", "states"),
    [
        (DISK, ["present", "present", "degraded"]),
        (MEMORY, ["present", "present", "present"]),
        (evolve(MEMORY, executable=False), ["degraded", "present", "present"]),
        (evolve(MEMORY, setuid=False), ["present", "present", "present"]),
        (evolve(MEMORY, inodes=None), ["present", "present", "present"]),
        (evolve(MEMORY, inodes=1000), ["present", "degraded", "present"]),
        (evolve(MEMORY, free=GIB), ["present", "degraded", "present"]),
    ],
)
def test_doctor_judges_where_workspaces_are(found: FileSystem, states: list[str]) -> None:
    findings = judge_place(found)
    assert [finding.state for finding in findings] == states
    assert all(finding.fix for finding in findings if finding.state != "present")
    flags = ("noexec" in findings[0].found, "nosuid" in findings[0].found)
    assert flags == (not found.executable, not found.setuid)


@pytest.mark.parametrize(
    ("ratio", "found", "state"),
    [
        (1.1, DISK, "present"),
        (4.0, DISK, "degraded"),
        (1.1, evolve(DISK, journal=False), "degraded"),
        (1.1, MEMORY, "present"),
    ],
)
def test_doctor_judges_how_quickly_workspaces_are_made(
    ratio: float, found: FileSystem, state: str
) -> None:
    finding = judge_speed(ratio, found)
    assert finding.state == state
    assert f"{ratio:.1f}" in finding.found
    assert finding.optional is (state != "present")


def test_doctor_judges_where_the_store_is() -> None:
    assert judge_store(DISK).state == "present"
    assert judge_store(evolve(DISK, free=GIB)).state == "degraded"
    assert judge_store(evolve(DISK, executable=False)).state == "absent"


def test_doctor_looks_at_this_host_and_tells_no_path(tmp_path: Path) -> None:
    findings = check_host(tmp_path / "not/there/yet", None)
    assert [finding.layer for finding in findings] == [
        "workspaces",
        "workspace room",
        "disk",
        "workspace speed",
        "store",
    ]
    assert all(str(tmp_path) not in finding.found + finding.fix for finding in findings)
    assert not (tmp_path / "not").exists()


def test_doctor_tells_of_a_temporary_folder_that_can_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "given")
    monkeypatch.setattr("assay.host_checks.best_place", lambda *_: tmp_path / "absent")
    first, *_ = check_host(tmp_path, None)
    assert (first.layer, first.state, first.optional) == ("workspaces", "absent", False)
    assert os.listdir(tmp_path) == []

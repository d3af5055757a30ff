"""Descriptor access: nothing is followed, nothing is waited for, all of ours is removed."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from support.trees import (
    File,
    deep,
    make,
    mode_of,
    mounted_folder,
    nothing_leaks,
    ordinary_folder,
    rel,
    run_ordinary,
    small_disk,
)

from assay.api import NoSpace, TreeLimit, TreeRefused
from assay.api.files import (
    copy_fault,
    open_root,
    opened,
    read_file,
    remove_tree,
    write_new,
)


def read(folder: Path, path: str, cap: int = 100) -> bytes:
    with opened(open_root(folder)) as root, nothing_leaks():
        return read_file(root, rel(path), cap)


def remove(folder: Path) -> None:
    with opened(open_root(folder.parent)) as parent, nothing_leaks():
        remove_tree(parent, folder.name)
    assert not os.path.lexists(folder)


def test_reads_up_to_the_cap(tmp_path: Path) -> None:
    make(tmp_path, {"d": {"é": File(b"12345")}, "empty": File()})
    assert read(tmp_path, "d/é", 5) == b"12345"
    assert read(tmp_path, "empty", 0) == b""
    with pytest.raises(TreeLimit):
        read(tmp_path, "d/é", 4)


@pytest.mark.parametrize("path", ["x", "d/x", "f/x", "d"])
def test_absent_files_are_absent(tmp_path: Path, path: str) -> None:
    make(tmp_path, {"d": {}, "f": File()})
    with pytest.raises(FileNotFoundError) as error:
        read(tmp_path, path)
    assert str(tmp_path) not in str(error.value)


@pytest.mark.parametrize("path", ["link", "dir/inner", "pipe", "socket", "twice"])
@pytest.mark.threat("have the host read something else", layer="collector")
def test_anything_but_a_plain_file_is_refused(tmp_path: Path, path: str) -> None:
    make(tmp_path, {"real": {"inner": File(b"x")}, "twice": File()})
    (tmp_path / "link").symlink_to("real/inner")
    (tmp_path / "dir").symlink_to("real")
    os.link(tmp_path / "twice", tmp_path / "again")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
    with pytest.raises(TreeRefused) as error:
        read(tmp_path, path)
    assert error.value.path == path


def test_a_root_that_is_a_link_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(OSError):
        open_root(tmp_path / "link")


def test_new_files_have_exactly_the_mode_that_was_asked_for(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        with opened(open_root(tmp_path)) as root:
            write_new(root, "f", b"x", 0o755)
            with pytest.raises(FileExistsError):
                write_new(root, "f", b"y", 0o755)
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "f") == 0o755
    assert (tmp_path / "f").read_bytes() == b"x"


@pytest.mark.threat("leave a tree that can't be removed", layer="collector")
def test_removes_trees_deeper_than_any_path(tmp_path: Path) -> None:
    remove(deep(tmp_path / "t", 1500))


def test_removes_wide_trees_and_every_kind(tmp_path: Path) -> None:
    tree = make(tmp_path / "t", {f"d{i}": {"x": {"y": File()}, "e": {}} for i in range(20)})
    os.mkfifo(tree / "pipe")
    (tree / "gone").symlink_to("/nonexistent")
    (tree / os.fsdecode(b"caf\xe9")).touch()
    remove(tree)


def test_removes_a_file_a_link_and_nothing_beyond(tmp_path: Path) -> None:
    outside = make(tmp_path / "outside", {"f": File(b"kept")})
    tree = make(tmp_path / "t", {"d": {}})
    (tree / "d/link").symlink_to(outside)
    (tmp_path / "link").symlink_to(outside)
    remove(tree)
    remove_link = tmp_path / "link"
    with opened(open_root(tmp_path)) as parent:
        remove_tree(parent, "link")
        with pytest.raises(FileNotFoundError):
            remove_tree(parent, "link")
    assert not os.path.lexists(remove_link)
    assert (outside / "f").read_bytes() == b"kept"


B14 = """
    from assay.api.files import open_root, remove_tree
    victim = folder / "victim"
    victim.write_text("v")
    victim.chmod(0o400)
    (folder / "outside").mkdir(mode=0o500)
    locked = folder / "ws" / "locked"
    (locked / "none" / "in").mkdir(parents=True)
    (locked / "l").symlink_to("../../victim")
    (locked / "o").symlink_to("../../outside")
    for path, mode in ((locked / "none" / "in", 0o300), (locked / "none", 0), (locked, 0o500)):
        path.chmod(mode)
    (folder / "ws").chmod(0o000)
    remove_tree(open_root(folder), "ws")
    print(sorted(p.name for p in folder.iterdir()), oct(victim.stat().st_mode & 0o777),
          oct((folder / "outside").stat().st_mode & 0o777))
    (folder / "outside").rmdir()
"""


@pytest.mark.threat("have the host change modes through links", layer="collector")
def test_b14_locked_trees_are_removed_without_touching_what_links_point_to() -> None:
    with ordinary_folder() as folder:
        out = run_ordinary(B14, folder)
    assert out.split("\n")[0] == "['outside', 'victim'] 0o400 0o500"


def test_removal_that_fails_can_be_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = make(tmp_path / "t", {f"d{i}": {"e": {"f": File()}} for i in range(5)})
    real, calls = os.rmdir, iter(range(100))

    def rmdir(path: str | bytes, *, dir_fd: int | None = None) -> None:
        if next(calls) == 3:
            raise OSError(16, "busy")
        real(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "rmdir", rmdir)
    with opened(open_root(tmp_path)) as parent, nothing_leaks(), pytest.raises(OSError):
        remove_tree(parent, "t")
    remove(tree)


def test_faults_name_the_error_and_no_place() -> None:
    fault = copy_fault(OSError(28, "No space left on device", "/secret/place"), "copy")
    assert isinstance(fault, NoSpace)
    assert str(fault) == "copy: ENOSPC"
    assert not isinstance(copy_fault(OSError(5, "I/O error"), "copy"), NoSpace)


@pytest.mark.parametrize("inside", ["", "/d", "/d/e"])
@pytest.mark.threat("have the host remove what is mounted in a tree", layer="collector")
def test_what_is_mounted_in_a_tree_is_never_entered(tmp_path: Path, inside: str) -> None:
    place = Path(f"{tmp_path}/t{inside}")
    place.parent.mkdir(parents=True, exist_ok=True)
    with small_disk(place, "size=1m") as disk:
        make(disk, {"foreign": File(b"kept")})
        with (
            opened(open_root(tmp_path)) as parent,
            opened(open_root(disk)) as mounted,
            nothing_leaks(),
        ):
            with pytest.raises(OSError):
                remove_tree(parent, "t")
            assert os.listdir(mounted) == ["foreign"]
    remove(tmp_path / "t")


@pytest.mark.parametrize("inside", ["", "/d", "/d/e"])
@pytest.mark.threat("have the host remove a folder that is mounted in a tree", layer="collector")
def test_a_mounted_folder_of_the_same_file_system_is_never_entered(
    tmp_path: Path, inside: str
) -> None:
    """It has the device number of what is around it."""
    precious = tmp_path / "precious"
    (precious / "d").mkdir(parents=True)
    make(precious, {"foreign": File(b"kept"), "d/foreign": File(b"kept")})
    with mounted_folder(precious, Path(f"{tmp_path}/t{inside}")):
        with opened(open_root(tmp_path)) as parent, nothing_leaks(), pytest.raises(OSError):
            remove_tree(parent, "t")
        assert sorted(os.listdir(precious)) == ["d", "foreign"]
        assert os.listdir(precious / "d") == ["foreign"]
    remove(tmp_path / "t")

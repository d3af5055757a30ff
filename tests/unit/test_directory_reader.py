"""The folder reader never follows a link, never blocks and never leaves its root."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from support.suites import write

from assay.api import InvalidInput, RelPath, SuiteFiles, SuiteReader, TreeLimit, TreeRefused
from assay.plugins import Registry


def opened(root: Path) -> SuiteFiles:
    reader: SuiteReader = Registry().load("assay.suite_readers", "dir")()
    return reader.open(str(root))


def test_reads_regular_files_and_knows_absence(tmp_path: Path) -> None:
    files = opened(write(tmp_path, {"a/b/c.txt": b"x\r\n"}))
    assert files.read(RelPath("a/b/c.txt"), 3) == b"x\r\n"
    assert files.read(RelPath("a/b/none"), 3) is None
    assert files.read(RelPath("none/b/c.txt"), 3) is None
    assert files.name == tmp_path.name


def test_cap_is_exact(tmp_path: Path) -> None:
    files = opened(write(tmp_path, {"f": b"xxxx"}))
    assert files.read(RelPath("f"), 4) == b"xxxx"
    with pytest.raises(TreeLimit, match="f: file is larger than 3 bytes"):
        files.read(RelPath("f"), 3)


def test_links_are_refused_wherever_they_stand(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"secret": "x"})
    root = write(tmp_path / "suite", {"real/f": "x"})
    (root / "folder").symlink_to(outside)
    (root / "real/file").symlink_to(outside / "secret")
    files = opened(root)
    for path in ("folder/secret", "real/file"):
        with pytest.raises(TreeRefused, match="symbolic link is not allowed"):
            files.read(RelPath(path), 9)
    with pytest.raises(TreeRefused, match="folder: symbolic link"):
        files.folders(None)
    with pytest.raises(TreeRefused, match="real/file: symbolic link"):
        files.files(RelPath("real"))
    with pytest.raises(TreeRefused):
        files.host_folder(RelPath("folder"))


def test_special_files_are_refused_without_opening_them(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "sock"))
    files = opened(tmp_path)
    for name in ("pipe", "sock"):
        with pytest.raises(TreeRefused, match="special file"):
            files.read(RelPath(name), 9)


def test_a_file_is_no_folder_and_a_folder_no_file(tmp_path: Path) -> None:
    files = opened(write(tmp_path, {"f": "x", "d/g": "x"}))
    with pytest.raises(TreeRefused):
        files.read(RelPath("d"), 9)
    with pytest.raises(TreeRefused):
        files.read(RelPath("f/g"), 9)
    with pytest.raises(TreeRefused):
        files.host_folder(RelPath("f"))


def test_listings_are_sorted_and_absence_is_empty(tmp_path: Path) -> None:
    files = opened(write(tmp_path, {"z/b": "", "z/a/c": "", "y/q": "", "top": ""}))
    assert files.folders(None) == ("y", "z")
    assert files.folders(RelPath("none")) == ()
    assert files.files(RelPath("z")) == ("a/c", "b")
    assert files.files(RelPath("none")) == ()
    assert files.host_folder(RelPath("none")) is None
    assert files.host_folder(RelPath("z/a")) == str(tmp_path / "z/a")


@pytest.mark.parametrize("name", [b"caf\xe9", b"back\\slash", b"new\nline", b"dot."])
def test_unsafe_names_are_refused_by_name(tmp_path: Path, name: bytes) -> None:
    (tmp_path / "d").mkdir()
    Path(os.fsdecode(os.path.join(os.fsencode(tmp_path / "d"), name))).write_text("")
    with pytest.raises(TreeRefused, match="unsafe name") as caught:
        opened(tmp_path).files(RelPath("d"))
    assert "\n" not in str(caught.value)


def test_deep_folders_end_in_an_error(tmp_path: Path) -> None:
    (tmp_path / "/".join(["d"] * 70)).mkdir(parents=True)
    with pytest.raises(TreeLimit, match="nested deeper"):
        opened(tmp_path).files(RelPath("d"))


@pytest.mark.parametrize("location", ["none", "a\0b"])
def test_a_missing_suite_is_named_without_its_place(tmp_path: Path, location: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        opened(tmp_path / location)
    assert str(tmp_path) not in str(caught.value)

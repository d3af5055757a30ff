"""Marked folders: made whole or not at all, held while they are used, removed by their maker."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.trees import nothing_leaks

from assay.api import CleanupFailed, CopyFailed, NoSpace, UsageError
from assay.api.folders import MARKER, MarkedFolder, folder_kind, read_marker, temporary_folder
from assay.api.makers import this_process


def test_a_folder_says_whose_it_is(tmp_path: Path) -> None:
    with nothing_leaks(tmp_path):
        folder = MarkedFolder.make("ws", tmp_path)
        assert folder_kind(folder.name) == "ws"
        content = (folder.path / MARKER).read_bytes()
        assert read_marker(content, folder.name) == this_process()
        assert str(tmp_path) not in content.decode()
        assert folder.path.stat().st_mode & 0o777 == 0o700
        folder.remove()
        folder.remove()


@pytest.mark.parametrize("kind", ["", "x", "Ws", "a-b", "a/b", "a" * 17])
def test_kinds_are_short_words(tmp_path: Path, kind: str) -> None:
    with nothing_leaks(tmp_path), pytest.raises(UsageError):
        MarkedFolder.make(kind, tmp_path)


@pytest.mark.parametrize(
    "name", ["assay-ws-1234567", "assay-ws-123456789", "xassay-ws-12345678", "assay-12345678"]
)
def test_other_names_are_not_ours(name: str) -> None:
    assert folder_kind(name) is None


def test_a_folder_is_held_by_its_maker_and_by_nobody_when_it_is_dead(tmp_path: Path) -> None:
    folder = MarkedFolder.make("ws", tmp_path)
    other = os.open(folder.path, os.O_RDONLY)
    with pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(folder.fd)
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(other)
    os.close(folder.parent_fd)


def test_a_program_that_is_started_does_not_inherit_the_hold(tmp_path: Path) -> None:
    folder = MarkedFolder.make("ws", tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        close_fds=False,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"\n"
        os.close(folder.fd)
        other = os.open(folder.path, os.O_RDONLY)
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        child.kill()
    os.close(other)
    os.close(folder.parent_fd)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 10,
        b"[" * 10_000,
        b"[]",
        b"{}",
        b'"x"',
        json.dumps({"schema": "assay-folder-1", "folder": "f", "maker": {}}).encode(),
        json.dumps({"schema": "assay-folder-1", "folder": "f", "maker": 3}).encode(),
        json.dumps(
            {
                "schema": "assay-folder-1",
                "folder": "f",
                "maker": {"boot": "b", "space": True, "pid": "1", "started": 1},
            }
        ).encode(),
    ],
)
def test_a_marker_of_another_shape_names_nobody(content: bytes) -> None:
    assert read_marker(content, "f") is None


def test_a_folder_that_can_not_be_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "full")

    monkeypatch.setattr("assay.api.folders.write_new", full)
    with nothing_leaks(tmp_path), pytest.raises(NoSpace), temporary_folder("check", tmp_path):
        raise AssertionError("the block must not run")
    with pytest.raises(CopyFailed), temporary_folder("check", tmp_path / "absent"):
        raise AssertionError("the block must not run")


def test_a_block_has_a_folder_for_its_time(tmp_path: Path) -> None:
    with nothing_leaks(tmp_path):
        with temporary_folder("check", tmp_path, mode=0o711) as folder:
            (folder / "deep/er").mkdir(parents=True)
            assert folder.stat().st_mode & 0o777 == 0o711
        with pytest.raises(ZeroDivisionError), temporary_folder("check", tmp_path):
            raise ZeroDivisionError


def busy(monkeypatch: pytest.MonkeyPatch, times: int) -> list[float]:
    """Make the removal of folders fail so often with EBUSY, as some file systems do."""
    real, left = os.rmdir, [times]
    waits: list[float] = []

    def rmdir(path: str | bytes, *, dir_fd: int | None = None) -> None:
        if left[0]:
            left[0] -= 1
            raise OSError(16, "busy")
        real(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "rmdir", rmdir)
    monkeypatch.setattr("time.sleep", waits.append)
    return waits


def test_a_busy_folder_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = MarkedFolder.make("ws", tmp_path)
    (folder.path / "tree").mkdir()
    with nothing_leaks():
        waits = busy(monkeypatch, 3)
    folder.remove()
    assert len(waits) == 3
    assert waits == sorted(waits)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_stays_busy_is_told_and_keeps_its_marker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = MarkedFolder.make("ws", tmp_path)
    (folder.path / "tree").mkdir()
    with monkeypatch.context() as patch:
        busy(patch, 100)
        with pytest.raises(CleanupFailed, match=folder.name):
            folder.remove()
    assert (folder.path / MARKER).exists()
    folder.remove()
    assert os.listdir(tmp_path) == []


def test_what_a_block_raised_is_the_cause_of_a_failed_removal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boom = ZeroDivisionError()
    busy(monkeypatch, 100)
    with pytest.raises(CleanupFailed) as error, temporary_folder("check", tmp_path):
        raise boom
    assert error.value.__cause__ is boom


CHILD = """
import os, sys
os.chdir(sys.argv[1])
held = open("held", "w")
print("ready", flush=True)
for number in range(1_000_000):
    try:
        open(f"new-{number % 50}", "w").close()
    except OSError:
        break
input()
"""


def test_a_child_that_holds_files_and_makes_new_ones_is_no_hindrance(tmp_path: Path) -> None:
    folder = MarkedFolder.make("ws", tmp_path)
    tree = folder.path / "tree"
    tree.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tree)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        try:
            folder.remove()
        except CleanupFailed:
            # It may be faster than we are; when it is dead, nothing is in the way.
            child.kill()
            child.wait()
            folder.remove()
        child.kill()
    assert os.listdir(tmp_path) == []

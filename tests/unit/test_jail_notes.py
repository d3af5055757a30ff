"""Notes of jails: whom the next start may end, and whom never."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay_sandbox import notes
from assay_sandbox.pids import is_orphaned, namespace, new_name, start_time

BOOT = notes.BOOT.read_text()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of notes, empty and private."""
    place = tmp_path / "notes"
    place.mkdir(mode=0o700)
    monkeypatch.setattr(notes, "notes_folder", lambda: place)
    return place


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that a note may name."""
    with subprocess.Popen(["/bin/sleep", "600"]) as stray:
        yield stray
        stray.kill()


def dead_name() -> str:
    """A name that a supervisor gave which is no more: process 1 never started so late."""
    return f"{namespace()}.1.99999999.1"


def test_names_tell_whether_their_maker_lives() -> None:
    assert not is_orphaned(new_name())
    assert new_name() != new_name()
    assert is_orphaned(dead_name())
    for other in (f"{namespace() + 1}.1.99999999.1", "1.1.1", "x", "", "1.1.1.1/..", "١.1.1.1"):
        assert not is_orphaned(other)


def test_a_note_lasts_as_long_as_its_jail(folder: Path) -> None:
    first, second = notes.Note(), notes.Note()
    for note in (first, second):
        note.add(os.getpid())
        note.add(os.getpid())
    line = f"{os.getpid()} {start_time(os.getpid())}\n"
    assert [path.read_text() for path in folder.iterdir()] == [BOOT + 2 * line] * 2
    notes.end_leftovers()
    assert len(list(folder.iterdir())) == 2
    first.remove()
    second.remove()
    second.remove()
    assert not folder.exists()


@pytest.mark.threat("outlive a power cut of its supervisor", layer="supervisor")
def test_what_a_dead_supervisor_noted_is_ended(
    folder: Path, process: subprocess.Popen[bytes]
) -> None:
    (folder / dead_name()).write_text(f"{BOOT}{process.pid} {start_time(process.pid)}\n")
    notes.end_leftovers()
    assert process.wait() == -9
    assert not folder.exists()


@pytest.mark.parametrize(
    "text",
    [
        "{boot}{pid} 1\n",
        "another-boot\n{pid} {start}\n",
        "{pid} {start}\n",
        "",
        "{boot}{pid}\n{pid} {start} {start}\n-{pid} {start}\n",
    ],
    ids=["another process", "another boot", "no boot", "empty", "junk"],
)
def test_nobody_else_is_ended(text: str, folder: Path, process: subprocess.Popen[bytes]) -> None:
    filled = text.format(boot=BOOT, pid=process.pid, start=start_time(process.pid))
    (folder / dead_name()).write_text(filled)
    notes.end_leftovers()
    assert process.poll() is None
    assert not folder.exists()


def test_a_folder_that_others_can_write_is_not_trusted(
    folder: Path, process: subprocess.Popen[bytes]
) -> None:
    (folder / dead_name()).write_text(f"{BOOT}{process.pid} {start_time(process.pid)}\n")
    folder.chmod(0o777)
    notes.end_leftovers()
    notes.Note().add(os.getpid())
    assert process.poll() is None
    assert [path.name for path in folder.iterdir()] == [dead_name()]


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{BOOT}{os.getpid()} {start_time(os.getpid())}\n")
    (folder / dead_name()).symlink_to(secret)
    notes.end_leftovers()
    assert secret.exists()
    assert not folder.exists()

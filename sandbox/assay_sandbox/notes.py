"""Notes of living jails, by which the next start ends what a lost supervisor left running.

A jail ends with its supervisor, unless somebody stopped its init meanwhile. A note names the
processes by number and start time, within one start of the host, so that no other process that
got such a number later is ever taken for them.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import stat
import tempfile
from pathlib import Path

from assay_sandbox.pids import is_orphaned, new_name, start_time

__all__ = ["Note", "end_leftovers", "notes_folder"]

BOOT = Path("/proc/sys/kernel/random/boot_id")
MOST_BYTES = 4096
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
ATTEMPTS = 20


class Note:
    """The note of one jail; without a folder for it, nothing is written."""

    def __init__(self) -> None:
        self._folder, self._name = notes_folder(), new_name()
        self._file: int | None = None

    def add(self, pid: int) -> None:
        """A process of the jail."""
        line = f"{pid} {start_time(pid)}\n"
        if self._file is None:
            self._file = self._open()
            line = boot() + line
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.write(self._file, line.encode("ascii"))

    def remove(self) -> None:
        """The jail is dead; the folder goes with the last note."""
        if self._file is not None:
            self.close()
            with contextlib.suppress(OSError):
                os.unlink(self._folder / self._name)
            with contextlib.suppress(OSError):
                os.rmdir(self._folder)

    def close(self) -> None:
        """Write no more, and leave it where it is."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> int | None:
        for _ in range(ATTEMPTS):
            with contextlib.suppress(OSError):
                os.mkdir(self._folder, 0o700)
            if self._folder.exists() and not _is_ours(self._folder):
                return None
            try:
                return os.open(self._folder / self._name, APPEND, 0o600)
            except FileNotFoundError:
                # Another jail has just ended, and took the folder away.
                continue
            except OSError:
                return None
        return None


@functools.cache
def boot() -> str:
    """The name of this start of the host, as a line."""
    return BOOT.read_text()


def notes_folder() -> Path:
    """Where this user's notes are: gone when the host starts anew, if it has such a place."""
    user = os.geteuid()
    if user == 0:
        return Path("/run/assay")
    for place in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{user}"):
        if place.startswith("/") and _is_ours(Path(place)):
            return Path(place) / "assay"
    return Path(tempfile.gettempdir()) / f"assay-jails-{user}"


def end_leftovers() -> None:
    """Kill what the jails of dead supervisors left, and remove their notes."""
    folder = notes_folder()
    if not _is_ours(folder):
        return
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if is_orphaned(name):
                _end(folder / name)
                (folder / name).unlink()
        folder.rmdir()


def _end(path: Path) -> None:
    try:
        descriptor = os.open(path, READ)
    except OSError:
        return
    try:
        lines = os.read(descriptor, MOST_BYTES).decode("ascii", "replace").splitlines()
    finally:
        os.close(descriptor)
    if not lines or lines[0] != boot().strip():
        return
    for line in reversed(lines[1:]):
        pid, _, started = line.partition(" ")
        if pid.isdecimal() and started.isdecimal():
            _kill(int(pid), int(started))


def _kill(pid: int, started: int) -> None:
    with contextlib.suppress(OSError):
        process = os.pidfd_open(pid)
        try:
            if start_time(pid) == started:
                signal.pidfd_send_signal(process, signal.SIGKILL)
        finally:
            os.close(process)


def _is_ours(folder: Path) -> bool:
    """Whether it is a folder into which only this user can write."""
    try:
        info = folder.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(info.st_mode)
        and info.st_uid == os.geteuid()
        and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )

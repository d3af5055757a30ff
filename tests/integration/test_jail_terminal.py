"""A supervisor at a real terminal: its jails never hold it, type into it or change it."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.jail import store

TESTS = Path(__file__).resolve().parents[1]
DRAWN = b"\x1b[31mthe supervisor's own\x1b[0m"

SUPERVISOR = f"""
import os, sys
sys.path.insert(0, {str(TESTS)!r})
# A leader of a session without a terminal gets the first one that it opens.
own = os.open(os.ttyname(0), os.O_RDWR)
os.close(os.open("/dev/tty", os.O_RDWR))
from support.jail import python, session
with session() as jail:
    outcome = jail.run(python(open(sys.argv[1]).read()))
    with open(sys.argv[2], "w") as found:
        found.write(outcome.stdout.text())
os.write(1, {DRAWN!r})
"""

JAILED = """
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
print([os.isatty(number) for number in (0, 1, 2)])
print(os.getsid(0) == os.getpid())
for path in ("/dev/tty", "/dev/console", "/dev/pts/0", "/proc/self/fd/0"):
    try:
        end = os.open(path, os.O_RDWR)
        print(path, os.isatty(end))
    except OSError as error:
        print(path, errno.errorcode[error.errno])
for number in (0, 1, 2):
    for call in (0x5412, 0x540E, 0x5402, 0x5413):
        libc.ioctl(number, ctypes.c_ulong(call), b"x" * 256)
sys.stdout.write("\\x1b]0;owned\\x07\\x1b[2J")
sys.stderr.write("\\x1b]0;owned\\x07\\x1b[2J")
"""


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Both ends of a terminal: who looks at it, and what programs hold."""
    master, slave = os.openpty()
    fcntl.fcntl(master, fcntl.F_SETFL, os.O_NONBLOCK)
    yield master, slave
    os.close(master)
    os.close(slave)


@pytest.mark.threat(
    "type into, set or draw on the caller's terminal", layer="supervisor, seccomp, mount namespace"
)
def test_nothing_is_typed_set_or_drawn(terminal: tuple[int, int], tmp_path: Path) -> None:
    master, slave = terminal
    settings = termios.tcgetattr(slave)
    source, found = tmp_path / "jailed.py", tmp_path / "found"
    source.write_text(JAILED)
    finished = subprocess.run(
        [sys.executable, "-c", SUPERVISOR, source, found],
        env={**os.environ, "ASSAY_TEST_STORE": str(store().root)},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        timeout=120,
        check=False,
    )
    drawn = os.read(master, 65536)
    assert finished.returncode == 0, drawn
    assert drawn == DRAWN
    assert termios.tcgetattr(slave) == settings
    typed = fcntl.ioctl(slave, termios.FIONREAD, b"\0" * 4)
    assert struct.unpack("i", typed) == (0,)
    told = found.read_text().splitlines()
    assert told[:5] == [
        "[False, False, False]",
        "True",
        "/dev/tty ENOENT",
        "/dev/console ENOENT",
        "/dev/pts/0 ENOENT",
    ]

"""What happens to the output never changes what happens to the work, or its exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = (sys.executable, "-m", "assay.cli")
FULL = Path("/dev/full")


def run(*arguments: str, out: int, err: int, env: dict[str, str] | None = None) -> int:
    """Exit code of a command that writes to these descriptors."""
    return subprocess.run(
        [*COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        env={**os.environ, **(env or {})},
        timeout=120,
        check=False,
    ).returncode


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("schema", "task"), 0), (("--help",), 0), (("run", "nosuch"), 3), (("run",), 2)],
)
def test_a_reader_that_went_away_changes_no_code(arguments: tuple[str, ...], code: int) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert run(*arguments, out=writing, err=writing) == code
    finally:
        os.close(writing)


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [("schema", "task"), ("--help",), ("plugins",)])
def test_a_full_disk_is_told_and_gives_3(arguments: tuple[str, ...]) -> None:
    with FULL.open("wb") as full:
        done = subprocess.run(
            [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=120, check=False
        )
    assert done.returncode == 3
    assert done.stderr.decode() == (
        "assay: standard output could not be written: No space left on device\n"
    )


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_errors_that_can_not_be_told_keep_their_code() -> None:
    with FULL.open("wb") as full:
        assert run("run", "nosuch", out=full.fileno(), err=full.fileno()) == 3
        assert run("run", out=full.fileno(), err=full.fileno()) == 2


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(closed: str) -> None:
    line = f'exec "$@" {closed}'
    for arguments, code in ((("schema", "task"), 0), (("run", "nosuch"), 3)):
        done = subprocess.run(
            ["/bin/sh", "-c", line, "sh", *COMMAND, *arguments],
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == code
        assert b"Traceback" not in done.stderr
        assert b"internal" not in done.stderr


def test_text_that_the_encoding_lacks_is_escaped() -> None:
    done = subprocess.run(
        [*COMMAND, "run", "caf\u00e9"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr == b"assay: suite caf\\xe9: no such folder\n"


@pytest.mark.parametrize("arguments", [(), ("new",)])
def test_a_group_alone_shows_its_help_as_a_usage_error(arguments: tuple[str, ...]) -> None:
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"Usage: ")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
def test_a_signal_while_loading_is_one_line(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    # Opening a FIFO lasts until there is a writer, so the signal comes while loading.
    script = (
        "import os, signal, sys\n"
        # Whoever started the suite may have these ignored, and children inherit that.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "import assay.cli.show as show\n"
        "from assay.cli import main\n"
        "import assay.ledger as ledger\n"
        "def hold(folder):\n"
        "    os.write(1, b'ready\\n')\n"
        "    open(sys.argv[-1], 'rb')\n"
        "ledger.open_run = hold\n"
        "main()\n"
    )
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with subprocess.Popen(
        [sys.executable, "-c", script, "show", str(fifo)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            process.send_signal(number)
            err = process.communicate(timeout=60)[1]
        finally:
            process.kill()
    assert err == b"assay: interrupted\n"
    assert process.returncode == code

"""Attacks on the supervisor through what it reads: output, channels, exit codes."""

import os
import sys

from .report import Facts, Report

RECORDS = (
    "done {n} exited 0 0.000000 0.000000 1",
    "[I][2026-01-01T00:00:00+0000] pid={n} (jail) exited with status: 0, (PIDs left: 0)",
    "[F][2026-01-01T00:00:00+0000][1] main():1 could not launch",
    "failed {n} exec:2",
)
ESCAPES = (
    b"\x1b]0;owned\x07\x1b[2J\x1b[H\x1b[31mFAKE PASS\x1b[0m\r\n\x1b]52;c;b3duZWQ=\x07"
    b"\x9b31m\xe2\x80\xaeevil\xe2\x80\xac \xff\xfe\x00\x08\x08\x08ok\x1bP$q\x1b\\"
)


def pour(streams: "tuple[int, ...]", most: int) -> None:
    """Write to streams in turn, until their reader leaves or a bound is reached."""
    block = b"A" * 4096
    for _ in range(most // len(block)):
        for stream in streams:
            try:
                os.write(stream, block)
            except OSError:
                return


def flood_one(report: Report, facts: Facts) -> None:
    """One stream without end."""
    pour((1,), facts["limits"]["output"] * 16)


def flood_both(report: Report, facts: Facts) -> None:
    """Both streams without end."""
    pour((1, 2), facts["limits"]["output"] * 16)


def closed_streams(report: Report, facts: Facts) -> None:
    """Go on without streams; the end must still be seen, and be the real one."""
    for stream in (0, 1, 2):
        os.close(stream)
    report.seen("streams are closed", "all")


def forge_log(report: Report, facts: Facts) -> None:
    """Lines that look like a log or a record, on both streams."""
    for number in range(1, 50):
        for line in RECORDS:
            print(line.format(n=number))
            print(line.format(n=number), file=sys.stderr)
    report.seen("lines were written", "both streams")


def escapes(report: Report, facts: Facts) -> None:
    """Bytes that a terminal would obey."""
    os.write(1, ESCAPES)
    os.write(2, ESCAPES)
    report.seen("escapes were written", len(ESCAPES))


def full_channel(report: Report, facts: Facts) -> None:
    """Frames into a channel that nobody reads, until it is full."""
    channel = int(os.environ["ASSAY_CHANNEL_NOISE"])
    os.set_blocking(channel, False)
    frame = (4096).to_bytes(4, "big") + b"B" * 4096
    written = 0
    for _ in range(4096):
        try:
            written += os.write(channel, frame)
        except OSError:
            break
    report.seen("a channel is full", written)


def broken_frames(report: Report, facts: Facts) -> None:
    """A frame whose length is a lie."""
    channel = int(os.environ["ASSAY_CHANNEL_NOISE"])
    os.write(channel, b"\xff\xff\xff\xff" + b"C" * 64)
    report.seen("a frame lies", 2**32 - 1)

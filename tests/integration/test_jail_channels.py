"""Private channels between host and jail."""

from __future__ import annotations

import time

import pytest
from support.jail import python, session

from assay.api import ChannelFault, OutcomeStatus, UsageError

ECHO = """
import os, socket
end = socket.socket(fileno=int(os.environ["ASSAY_CHANNEL_TALK"]))
stream = end.makefile("rwb")
while header := stream.read(4):
    stream.write(header + stream.read(int.from_bytes(header, "big"))[::-1])
    stream.flush()
"""


def soon() -> float:
    return time.monotonic() + 20


def test_frames_go_both_ways() -> None:
    with session() as jail:
        process = jail.start(python(ECHO), ("talk",))
        channel = process.channels["talk"]
        for message in (b"abc", b"", b"x" * 300_000):
            channel.send(message)
            assert channel.recv(1 << 20, soon()) == message[::-1]
        channel.close()
        assert process.wait().exit_code == 0


def test_the_end_of_the_jailed_side_is_the_end_of_the_stream() -> None:
    with session() as jail:
        process = jail.start(python("print('bye')"), ("talk",))
        assert process.channels["talk"].recv(1024, soon()) is None
        assert process.wait().exit_code == 0
        with pytest.raises(ChannelFault):
            process.channels["talk"].send(b"x" * (1 << 22))


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ("b'\\xff\\xff\\xff\\xff'", "larger than"),
        ("b'\\x00\\x00'", "inside a frame's length"),
        ("b'\\x00\\x00\\x00\\x05abc'", "inside a frame"),
    ],
)
@pytest.mark.threat("use up the supervisor's memory by false lengths", layer="supervisor")
def test_broken_frames_are_faults(written: str, rule: str) -> None:
    source = f"import os; os.write(int(os.environ['ASSAY_CHANNEL_TALK']), {written})"
    with session() as jail:
        process = jail.start(python(source), ("talk",))
        channel = process.channels["talk"]
        with pytest.raises(ChannelFault, match=rule):
            channel.recv(1024, soon())
        with pytest.raises(ChannelFault, match="out of step"):
            channel.recv(1024, soon())
        process.wait()


@pytest.mark.threat("make the supervisor wait for an answer", layer="supervisor")
def test_silence_ends_at_the_deadline() -> None:
    with session() as jail:
        process = jail.start(python("import time; time.sleep(600)"), ("talk",))
        with pytest.raises(ChannelFault, match="silent"):
            process.channels["talk"].recv(1024, time.monotonic() + 0.05)
        process.kill()
        assert process.wait().status is OutcomeStatus.CANCELLED


def test_two_channels_are_apart() -> None:
    source = (
        "import os\n"
        "for name in ('one', 'two'):\n"
        "    fd = int(os.environ['ASSAY_CHANNEL_' + name.upper()])\n"
        "    os.write(fd, b'\\x00\\x00\\x00\\x03' + name.encode())\n"
    )
    with session() as jail:
        process = jail.start(python(source), ("one", "two"))
        assert process.channels["two"].recv(10, soon()) == b"two"
        assert process.channels["one"].recv(10, soon()) == b"one"
        process.wait()


def test_channel_names_are_words() -> None:
    with session() as jail:
        for names in (("A",), ("a b",), ("a", "a"), ("",)):
            with pytest.raises(UsageError):
                jail.start(python(""), names)

"""Frames of the wire over real sockets, whole, in pieces and hostile."""

import contextlib
import socket
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay_graders.wire.faults import WireFault
from assay_graders.wire.frames import FrameStream


@contextlib.contextmanager
def fed(*pieces: bytes, cap: int = 1024):
    """A stream whose other end has written these pieces and is closed."""
    ours, theirs = socket.socketpair()

    def write() -> None:
        with theirs, contextlib.suppress(OSError):
            for piece in pieces:
                theirs.sendall(piece)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield FrameStream(ours.fileno(), cap)
    finally:
        ours.close()
        writer.join()


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=300), max_size=5), st.integers(1, 50))
def test_frames_come_back_whatever_the_pieces(frames, size):
    stream = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    with fed(*pieces) as reader:
        assert [reader.recv() for _ in frames] == frames
        assert reader.recv() is None


@given(st.binary(max_size=200))
@settings(max_examples=60)
def test_any_bytes_are_frames_an_end_or_a_fault(stream):
    with fed(stream) as reader, contextlib.suppress(WireFault):
        left = len(stream)
        while (frame := reader.recv()) is not None:
            left -= 4 + len(frame)
        assert left == 0


@pytest.mark.parametrize(
    "stream", [b"\0", b"\0\0\0\5abc", b"\xff\xff\xff\xff", b"\0\0\x04\x01" + b"x" * 1025]
)
def test_a_fault_stays_a_fault(stream):
    with fed(stream) as reader:
        for _ in range(2):
            with pytest.raises(WireFault):
                reader.recv()
        with pytest.raises(WireFault):
            reader.send(b"x")


def test_sending_is_capped_and_says_when_nobody_listens():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sender = FrameStream(ours.fileno(), cap=8)
        with pytest.raises(WireFault):
            sender.send(b"x" * 9)
        sender.send(b"x" * 8)
        assert theirs.recv(64) == b"\0\0\0\x08" + b"x" * 8
        theirs.close()
        with pytest.raises(WireFault):
            sender.send(b"x")
        with pytest.raises(WireFault):
            sender.recv()

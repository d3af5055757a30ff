"""Properties of what carries untrusted bytes: configuration, capture, frames."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.api import ChannelFault, SandboxFailed
from assay_sandbox.capture import StreamCapture
from assay_sandbox.channel import SocketChannel
from assay_sandbox.textproto import Message, quote


def unquote(text: str) -> bytes:
    """Read a quoted literal as protobuf's text format does, independently of the writer."""
    assert text[0] == text[-1] == '"'
    out, at, inner = bytearray(), 0, text[1:-1]
    while at < len(inner):
        if inner[at] == "\\":
            out.append(int(inner[at + 1 : at + 4], 8))
            at += 4
        else:
            assert inner[at] != '"'
            out.append(ord(inner[at]))
            at += 1
    return bytes(out)


@given(st.binary(max_size=5000))
def test_any_bytes_are_quoted_exactly_on_one_ascii_line(value: bytes) -> None:
    quoted = quote(value)
    assert quoted.isascii()
    assert quoted.isprintable()
    assert unquote(quoted) == value


ODD_TEXT = (
    *(
        "a:b",
        "a,b",
        'a"b',
        "a\\b",
        "é",
        "a b",
        "a{b}",
        "#a",
        "a'b",
        "\\n",
        "\\012",
        "a\x85b",
        "\u2028",
    ),
    *("a\nb", "a\tb", "a\0b", "a\x1bb", "a\x7fb", "\ud800", "a\udcff"),
    *("x" * 4096, "x" * 4097, "é" * 2048, "é" * 2049),
)


@given(st.text(max_size=300) | st.text(st.characters(), max_size=20) | st.sampled_from(ODD_TEXT))
@pytest.mark.threat("write lines into the jail's configuration", layer="supervisor")
def test_text_is_written_exactly_or_refused(value: str) -> None:
    message = Message()
    forbidden = any(ord(char) < 32 or ord(char) == 127 for char in value)
    surrogate = any("\ud800" <= char <= "\udfff" for char in value)
    try:
        message.text("dst", value)
    except SandboxFailed:
        assert forbidden or surrogate or len(value.encode("utf-8", "surrogatepass")) > 4096
        return
    assert not forbidden
    line = message.encode().decode("ascii")
    assert line.count("\n") == 1
    assert unquote(line.removeprefix("dst: ").rstrip("\n")) == value.encode()


@given(st.lists(st.binary(max_size=40), max_size=12), st.integers(1, 100))
def test_both_ends_are_kept_and_all_is_counted(parts: list[bytes], cap: int) -> None:
    stream = StreamCapture(cap)
    for part in parts:
        stream.feed(part)
    whole, kept = b"".join(parts), stream.captured()
    assert kept.total == len(whole)
    assert kept.truncated is (len(whole) > cap)
    assert len(kept.head) + len(kept.tail) <= cap
    assert whole.startswith(kept.head)
    assert whole.endswith(kept.tail)
    if not kept.truncated:
        assert kept.head == whole


@given(st.text(alphabet="aé€😀", min_size=1, max_size=60), st.integers(1, 200))
def test_valid_text_stays_valid_when_cut(text: str, cap: int) -> None:
    stream = StreamCapture(cap)
    stream.feed(text.encode())
    kept = stream.captured()
    kept.head.decode("utf-8", "strict")
    kept.tail.decode("utf-8", "strict")
    if kept.truncated:
        assert len(kept.head) > cap // 2 - 4
        assert len(kept.tail) > cap - cap // 2 - 4


@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(max_size=3000), max_size=8), st.integers(1, 700))
def test_frames_survive_any_cutting_of_the_stream(messages: list[bytes], step: int) -> None:
    ours, theirs = socket.socketpair()
    channel = SocketChannel(ours)
    stream = b"".join(len(message).to_bytes(4, "big") + message for message in messages)

    def write() -> None:
        with theirs:
            for at in range(0, len(stream), step):
                theirs.sendall(stream[at : at + step])

    thread = threading.Thread(target=write)
    thread.start()
    deadline = time.monotonic() + 20
    received = []
    while (frame := channel.recv(3000, deadline)) is not None:
        received.append(frame)
    thread.join()
    channel.close()
    assert received == messages


@settings(max_examples=50)
@given(st.binary(max_size=60), st.integers(0, 20))
@pytest.mark.threat("break the framing of channels", layer="supervisor")
def test_hostile_streams_end_in_a_frame_an_end_or_a_fault(data: bytes, cap: int) -> None:
    ours, theirs = socket.socketpair()
    channel = SocketChannel(ours)
    theirs.sendall(data)
    theirs.close()
    taken = 0
    try:
        while (frame := channel.recv(cap, time.monotonic() + 20)) is not None:
            assert len(frame) <= cap
            assert data[taken + 4 : taken + 4 + len(frame)] == frame
            taken += 4 + len(frame)
        assert taken == len(data)
    except ChannelFault:
        with pytest.raises(ChannelFault):
            channel.recv(cap, time.monotonic())
    finally:
        channel.close()

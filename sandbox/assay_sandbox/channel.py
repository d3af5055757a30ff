"""Private framed channels between the host and a jailed process, over a socketpair.

A frame is its length as four bytes, big-endian, and then the bytes. Whatever else the peer
does is a ChannelFault: the supervisor never waits beyond a deadline, and never takes in more
than a cap and what one read gives.
"""

from __future__ import annotations

import re
import select
import socket
import struct
import time

from assay.api import ChannelFault, UsageError

__all__ = ["SocketChannel", "channel_variable"]

HEADER_BYTES = 4
LARGEST_FRAME = 2**32 - 1
READ_BYTES = 1 << 16
PATIENCE = 0.05
"""Seconds that one read may block: what arrives sooner costs a single system call."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")


def channel_variable(name: str) -> str:
    """The environment variable that holds a channel's descriptor number inside the jail."""
    if _NAME.fullmatch(name) is None:
        raise UsageError("a channel's name is a lower-case word of at most 32 characters")
    return f"ASSAY_CHANNEL_{name.upper()}"


class SocketChannel:
    """The host's end of one channel."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(True)
        seconds, micros = divmod(round(PATIENCE * 1_000_000), 1_000_000)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", seconds, micros))
        self._end = end
        self._received: bytes | bytearray = b""
        self._broken = False

    def send(self, message: bytes) -> None:
        """Send one frame; ends at the latest when the command does. Raises ChannelFault."""
        if len(message) > LARGEST_FRAME:
            raise UsageError("a frame is at most 4 GiB")
        left = memoryview(len(message).to_bytes(HEADER_BYTES, "big") + message)
        while left:
            try:
                left = left[self._end.send(left, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, None)
            except OSError:
                raise ChannelFault("the jailed end of the channel is closed") from None

    def recv(self, cap: int, deadline: float) -> bytes | None:
        """The next frame of at most `cap` bytes, or None at the end of the stream.

        `deadline` is on the monotonic clock. After a ChannelFault the channel is unusable.
        """
        if self._broken:
            raise ChannelFault("the channel is out of step after an earlier fault")
        try:
            return self._next_frame(cap, deadline)
        except ChannelFault:
            self._broken = True
            raise

    def _next_frame(self, cap: int, deadline: float) -> bytes | None:
        if not self._fill(HEADER_BYTES, deadline):
            if self._received:
                raise ChannelFault("the stream ended inside a frame's length")
            return None
        size = int.from_bytes(self._received[:HEADER_BYTES], "big")
        if size > cap:
            raise ChannelFault(f"a frame is larger than {cap} bytes")
        end = HEADER_BYTES + size
        if not self._fill(end, deadline):
            raise ChannelFault("the stream ended inside a frame")
        frame = bytes(self._received[HEADER_BYTES:end])
        # Nearly always nothing follows, so that nothing has to be moved.
        if len(self._received) == end:
            self._received = b""
        else:
            del self._buffer()[:end]
        return frame

    def _fill(self, wanted: int, deadline: float) -> bool:
        """Read until `wanted` bytes are there; False when the stream ends before."""
        while (missing := wanted - len(self._received)) > 0:
            try:
                if deadline - time.monotonic() < PATIENCE:
                    self._wait(select.POLLIN, deadline)
                data = self._end.recv(max(READ_BYTES, min(missing, 1 << 20)))
            except BlockingIOError:
                self._wait(select.POLLIN, deadline)
                continue
            except OSError:
                data = b""
            if not data:
                return False
            if self._received:
                self._buffer().extend(data)
            else:
                self._received = data
        return True

    def receive_socket(self, deadline: float) -> socket.socket | None:
        """A socket that the peer hands over, or None if it hands over nothing."""
        self._wait(select.POLLIN, deadline)
        _, descriptors, _, _ = socket.recv_fds(self._end, 1, 1)
        return socket.socket(fileno=descriptors[0]) if descriptors else None

    def _buffer(self) -> bytearray:
        """What was received, in a form that can change."""
        if isinstance(self._received, bytes):
            self._received = bytearray(self._received)
        return self._received

    def _wait(self, event: int, deadline: float | None) -> None:
        poll = select.poll()
        try:
            poll.register(self._end, event)
        except ValueError:
            raise ChannelFault("the channel is closed") from None
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        if not poll.poll(left):
            raise ChannelFault("the jailed end stayed silent until the deadline")

    def close(self) -> None:
        """Close the host's end; idempotent."""
        self._end.close()

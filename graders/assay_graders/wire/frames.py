"""Frames on a stream: four bytes of length, big-endian, then the bytes."""

from __future__ import annotations

import os

from .faults import WireFault

__all__ = ["MAX_FRAME_BYTES", "FrameStream"]

MAX_FRAME_BYTES = 16 * 1024**2
_HEADER_BYTES = 4
_READ_BYTES = 1 << 16


class FrameStream:
    """Both directions of a connected descriptor, blocking.

    After a fault the position in the stream is unknown, so every later call is a fault too.
    """

    def __init__(self, descriptor: int, cap: int = MAX_FRAME_BYTES) -> None:
        self._descriptor = descriptor
        self._cap = cap
        self._received: bytes | bytearray = b""
        self._broken = False

    def send(self, payload: bytes) -> None:
        """Send one frame of at most the cap; raises WireFault."""
        self._usable()
        if len(payload) > self._cap:
            raise WireFault("a frame to send is larger than the cap")
        frame = len(payload).to_bytes(_HEADER_BYTES, "big") + payload
        self._broken = True
        try:
            written = os.write(self._descriptor, frame)
            left = memoryview(frame)[written:]
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError:
            raise WireFault("the other end is closed") from None
        self._broken = False

    def recv(self) -> bytes | None:
        """The next frame, None at the end of the stream; raises WireFault."""
        self._usable()
        self._broken = True
        if not self._fill(_HEADER_BYTES):
            if self._received:
                raise WireFault("the stream ended inside a frame's length")
            self._broken = False
            return None
        size = int.from_bytes(self._received[:_HEADER_BYTES], "big")
        if size > self._cap:
            raise WireFault("a frame is larger than the cap")
        if not self._fill(_HEADER_BYTES + size):
            raise WireFault("the stream ended inside a frame")
        end = _HEADER_BYTES + size
        frame = bytes(self._received[_HEADER_BYTES:end])
        # Nearly always nothing follows, so that nothing has to be moved.
        if len(self._received) == end:
            self._received = b""
        else:
            del self._buffer()[:end]
        self._broken = False
        return frame

    def _usable(self) -> None:
        if self._broken:
            raise WireFault("the stream is out of step after an earlier fault")

    def _fill(self, wanted: int) -> bool:
        while len(self._received) < wanted:
            try:
                data = os.read(self._descriptor, max(_READ_BYTES, wanted - len(self._received)))
            except OSError:
                data = b""
            if not data:
                return False
            if self._received:
                self._buffer().extend(data)
            else:
                self._received = data
        return True

    def _buffer(self) -> bytearray:
        """What was received, in a form that can change."""
        if isinstance(self._received, bytes):
            self._received = bytearray(self._received)
        return self._received

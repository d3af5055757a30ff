"""Keeps the first and last bytes of a stream of any length, and counts all of it."""

from __future__ import annotations

from assay.api import Captured

__all__ = ["StreamCapture"]

LONGEST_CHARACTER = 4


class StreamCapture:
    """One stream of a command; everything is kept up to `cap` bytes."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    @property
    def exceeded(self) -> bool:
        """More than `cap` bytes have come."""
        return self.total > self._cap

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        self._head += data[: self._cap - len(self._head)]
        self._tail += data
        del self._tail[: max(0, len(self._tail) - self._cap)]

    def captured(self) -> Captured:
        """What is kept; when cut, half of `cap` from either end, at character boundaries."""
        if not self.exceeded:
            return Captured(bytes(self._head), b"", self.total, False)
        half = self._cap // 2
        tail = bytes(self._tail[len(self._tail) - (self._cap - half) :])
        return Captured(cut_end(bytes(self._head[:half])), cut_start(tail), self.total, True)


def cut_end(data: bytes) -> bytes:
    """Without a UTF-8 character that the end of the data cuts off."""
    for back in range(1, min(LONGEST_CHARACTER, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return data[:-back] if length > back else data
    return data


def cut_start(data: bytes) -> bytes:
    """Without the rest of a UTF-8 character that the start of the data cuts off."""
    for at, byte in enumerate(data[: LONGEST_CHARACTER - 1]):
        if byte & 0xC0 != 0x80:
            return data[at:]
    return data[LONGEST_CHARACTER - 1 :]

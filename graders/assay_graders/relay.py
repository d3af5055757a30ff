"""Hands frames from a driver's jail to a worker's and back, unread, within limits.

The host never decodes what crosses: it sees lengths and counts. The conversation alternates
strictly, so one thread is enough; a worker that breaks the framing, stays silent or dies is
reported to the driver in one word, and replaced when the driver asks for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from attrs import define, field, frozen

from assay.api import Channel, ChannelFault, Outcome, OutcomeStatus, Process
from assay_graders.isolation.protocol import (
    ANSWER,
    ENVELOPE,
    FORWARD,
    LOST,
    MILLISECONDS,
    RESTART,
    WIRE,
)
from assay_graders.wire.frames import MAX_FRAME_BYTES

__all__ = ["Relay", "RelayLimits"]


@frozen
class RelayLimits:
    """Bounds of one grading; `call_seconds` 0 leaves a call to the deadline."""

    deadline: float
    call_seconds: float = 0.0
    traffic: int = 1024**3
    starts: int = 200


@define
class Relay:
    """One driver, one worker at a time. `start(seconds)` starts a worker."""

    start: Callable[[float], Process]
    limits: RelayLimits
    trips: int = 0
    traffic: int = 0
    starts: int = 0
    answers: int = 0
    broken: bool = False
    ended: list[Outcome] = field(factory=list)
    _worker: Process | None = None
    _is_fresh: bool = False

    def open(self) -> None:
        """Start the first worker, so that it gets ready while the driver does."""
        self._restart()

    def serve(self, driver: Channel) -> None:
        """Relay until the driver closes its end or breaks the framing."""
        try:
            while True:
                envelope = driver.recv(MAX_FRAME_BYTES + ENVELOPE, self.limits.deadline)
                if envelope is None:
                    return
                driver.send(self._reply(envelope))
        except ChannelFault:
            return

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.kill()
            outcome = self._worker.wait()
            if outcome.status is not OutcomeStatus.CANCELLED:
                self.ended.append(outcome)
            self._worker = None

    def _reply(self, envelope: bytes) -> bytes:
        if envelope[:1] == RESTART:
            if not self._is_fresh:
                self._restart()
            return ANSWER
        if envelope[:1] != FORWARD or self._worker is None:
            return LOST + b"gone"
        self._is_fresh = False
        left = int.from_bytes(envelope[1 : 1 + MILLISECONDS], "big") / 1000
        return self._exchange(self._worker.channels[WIRE], envelope[1 + MILLISECONDS :], left)

    def _exchange(self, worker: Channel, frame: bytes, left: float) -> bytes:
        now = time.monotonic()
        until = self.limits.deadline
        if self.limits.call_seconds:
            until = min(until, now + self.limits.call_seconds)
        if left:
            until = min(until, now + left)
        self.trips += 1
        self.traffic += len(frame)
        try:
            worker.send(frame)
            answer = worker.recv(MAX_FRAME_BYTES, until)
        except ChannelFault:
            return LOST + self._fault(until)
        if answer is None:
            return LOST + b"died"
        self.answers += 1
        self.traffic += len(answer)
        if self.traffic > self.limits.traffic:
            return LOST + b"traffic"
        return ANSWER + answer

    def _fault(self, until: float) -> bytes:
        if time.monotonic() >= until:
            return b"silent"
        self.broken = True
        return b"framing"

    def _restart(self) -> None:
        self.close()
        left = self.limits.deadline - time.monotonic()
        if self.starts < self.limits.starts and left > 0:
            self._worker = self.start(left)
            self.starts += 1
            self._is_fresh = True

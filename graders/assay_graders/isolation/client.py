"""The driver's side of the exchange: one request, its callbacks, its answer.

Whatever interrupts an exchange leaves the worker out of step, so it counts as lost and the
next test gets a fresh one. What happened is noted here and not only raised: a test that
swallows an exception changes nothing about how it is judged.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from ..wire.faults import WireFault
from ..wire.frames import MAX_FRAME_BYTES, FrameStream
from ..wire.stdlib import BUILTIN_TYPES
from ..wire.text import pack, unpack
from ..wire.values import REFERENCE, Codec
from .noted import Noted
from .notes import Notes
from .own_paths import names_own_path
from .protocol import (
    ANSWER,
    FORWARD,
    MAX_NESTING,
    MILLISECONDS,
    OK,
    RAISE,
    REFUSED,
    RESTART,
    WITH,
)
from .refusals import Refusal, TimeUp, WorkerLost
from .verdicts import cuts_short, is_verdict

__all__ = ["Client"]


_BUILT_IN = frozenset(BUILTIN_TYPES.values())


class Client:
    """Speaks to the host on one channel; what it leaves to others are its public attributes."""

    def __init__(
        self, stream: FrameStream, codec: Codec, max_trips: int, max_level: int = 4
    ) -> None:
        self._stream = stream
        self._codec = codec
        self._max_trips = max_trips
        self._thread = threading.get_ident()
        self._nesting = 0
        self._asking = 0
        self.notes = Notes(codec)
        self._is_lost = False
        self._random = b""
        self._in_frame = False
        self._is_due = False
        self.max_level = max_level
        self.tests = "/"
        self.is_in_test = False
        self.until = 0.0
        self.generation = 1
        self.total_trips = 0
        self.faults = 0
        self.noted = Noted()
        self.before: tuple[Callable[[], None], ...] = ()
        self.asked = ContextVar("asked", default=False)
        self.now = time.monotonic
        """Held here, whatever tests replace it by."""
        self.refer: Callable[[Any], Any] = _nothing
        self.resolve: Callable[[Any], Any] = _nothing
        self.answer_back: Callable[[Any, list[Any]], Any] = _nothing
        self.describe_error: Callable[[BaseException], Any] = _nothing
        self.additions: Callable[[], list[Any]] = list

    def begin(self) -> Noted:
        """Start counting for a test, on a fresh worker when the one before was lost."""
        self.noted = Noted()
        self.is_in_test = True
        if self._is_lost:
            self._stream.send(RESTART)
            if self._stream.recv() != ANSWER:
                raise WorkerLost("restart")
            self._is_lost = False
            self.generation += 1
        return self.noted

    @property
    def is_lost(self) -> bool:
        """Whether there is no worker until the next test begins."""
        return self._is_lost

    def time_is_up(self) -> None:
        """The test in progress reached its time limit: raise TimeUp, now or after the answer.

        Between a request and its answer it may not strike: the host knows the limit, and answers
        in time.
        """
        self._is_due = self._in_frame
        if not self._in_frame:
            self.noted.lost = self.noted.lost or "time"
            raise TimeUp("the test took too long")

    def uses(self, feature: str) -> None:
        """Note that the test in progress used a feature."""
        self.noted.features.add(feature)

    def refuse(self, code: str, *, by_test: bool = False) -> Refusal:
        """A refusal to raise, noted for the test in progress.

        What the candidate asked for in the middle of a call is never the test's doing alone.
        """
        refusal = Refusal(code, by_test=by_test and not self._asking and not self.asked.get())
        self.noted.refusals.append(refusal)
        return refusal

    def encode(self, value: Any) -> Any:
        """The tree of an argument."""
        try:
            return self._codec.encode(value, self.refer)
        except WireFault:
            raise self.refuse("argument-size") from None

    def reference(self, value: Any) -> Any:
        """The tree of what is never plain."""
        return (REFERENCE, self.refer(value))

    def written(self, value: Any) -> bytes:
        """A value's content as bytes, to see whether it changes; nothing of it is lent."""
        try:
            return pack(self._codec.encode(value, lambda part: f"{id(part):x}"))
        except WireFault:
            return b""

    def decode(self, tree: Any) -> Any:
        """The value of a tree that the worker sent."""
        try:
            return self._codec.decode(tree, self.resolve)
        except WireFault as fault:
            raise self._lose("protocol", fault) from None

    def request(self, word: str, *parts: Any) -> list[Any]:
        """Send a request of trees and words; the answer's parts, or the candidate's exception.

        Raises Refusal, WorkerLost, or what interrupted the exchange.
        """
        if threading.get_ident() != self._thread:
            raise self.refuse("thread", by_test=True)
        if self._is_lost:
            raise self._lose(self.noted.lost or "gone")
        for prepare in self.before:
            prepare()
        if self._nesting >= MAX_NESTING:
            raise self._lose("nesting")
        number = self._number()
        frame = self._packed([number, word, *parts])
        self._count_trip()
        self._nesting += 1
        in_step = False
        try:
            self._send(frame)
            answer = self._answered(number)
            in_step = True
        finally:
            self._nesting -= 1
            if not in_step:
                self._is_lost = True
                self.noted.lost = self.noted.lost or "interrupted"
        # A filter may turn a warning into an exception: never in the middle of an exchange.
        if self._nesting == 0:
            self.notes.warn()
        return self._outcome(answer)

    def _number(self) -> int:
        """A number that the worker can't know before it is asked."""
        if not self._random:
            self._random = os.urandom(6 * 500)
        number, self._random = int.from_bytes(self._random[:6], "big"), self._random[6:]
        return number

    def _outcome(self, answer: list[Any]) -> list[Any]:
        if answer[1] == OK and len(answer) >= 3:
            return answer[2:]
        if answer[1] == RAISE and len(answer) == 3:
            raise self.error_of(answer[2])
        if answer[1] == REFUSED:
            raise self.refuse("value")
        raise self._lose("protocol")

    def error_of(self, payload: Any) -> BaseException:
        """An exception of the candidate's."""
        error = self.decode((REFERENCE, payload))
        if not isinstance(error, BaseException):
            raise self._lose("protocol")
        self.uses("errors" if type(error) in _BUILT_IN else "own-errors")
        return error

    def _answered(self, number: int) -> list[Any]:
        while True:
            message = self._received()
            if message[0] == number:
                return message
            if type(message[0]) is not int or message[0] >= 0:
                raise self._lose("protocol")
            self._asked(message)

    def _asked(self, message: list[Any]) -> None:
        """Answer what the worker asks in the middle of a call."""
        self._count_trip()
        self.noted.is_asked = True
        self._asking += 1
        try:
            answer = self._answer_to(*message)
        finally:
            self._asking -= 1
        self._send(self._packed(answer))

    def _answer_to(self, number: int, word: Any, *parts: Any) -> list[Any]:
        try:
            result = self.answer_back(word, list(parts))
        except Exception as error:
            # The verdict of an assertion must not be in the candidate's hands.
            self.noted.failed_back |= is_verdict(error) or cuts_short(error, self.tests)
            return [number, RAISE, ("ref", self.describe_error(error))]
        return [number, OK, self.encode(result)]

    def _count_trip(self) -> None:
        if self.noted.trips >= self._max_trips:
            raise self._lose("trips")
        self.noted.trips += 1
        self.total_trips += 1

    def _packed(self, message: list[Any]) -> bytes:
        """A message as a frame; refused when it names what only this jail's /tmp has."""
        added = self.additions()
        if added:
            message = [message[0], WITH, added, *message[1:]]
        try:
            frame = pack(message)
        except WireFault:
            raise self.refuse("argument-size") from None
        if len(frame) > MAX_FRAME_BYTES:
            raise self.refuse("argument-size")
        if names_own_path(frame):
            raise self.refuse("path")
        return frame

    def _send(self, frame: bytes) -> None:
        # Until the host has answered: else its answer would be taken for that to a later request.
        self._in_frame = True
        left = 0 if not self.until else max(1, round((self.until - self.now()) * 1000))
        try:
            self._stream.send(FORWARD + left.to_bytes(MILLISECONDS, "big") + frame)
        except WireFault as fault:
            self._in_frame = False
            raise self._lose("gone", fault) from None

    def _received(self) -> list[Any]:
        """The worker's next message without what it noted by the way."""
        try:
            try:
                envelope = self._stream.recv() or b""
            finally:
                self._in_frame = False
            if self._is_due:
                self.time_is_up()
            if envelope[:1] != ANSWER:
                raise self._lose(envelope[1:].decode("ascii") or "gone")
            message = unpack(envelope[1:])
            if type(message) is not list or len(message) < 3:
                raise WireFault("a message is not a list")
            *message, noted = message
            for feature in self.notes.pass_on(noted):
                self.uses(feature)
        except WireFault as fault:
            raise self._lose("protocol", fault) from None
        return message

    def lose_protocol(self) -> WorkerLost:
        """The worker broke a rule of the exchange; an exception to raise."""
        return self._lose("protocol")

    def _lose(self, code: str, cause: BaseException | None = None) -> WorkerLost:
        """The worker is not to be used any more; an exception to raise, noted for the test."""
        self._is_lost = True
        self.faults += code == "protocol"
        self.noted.lost = self.noted.lost or code
        error = WorkerLost(code)
        error.__cause__ = cause
        return error


def _nothing(*_: Any) -> Any:
    raise Refusal("set-up", by_test=True)

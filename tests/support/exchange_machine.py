"""A state machine of driver, host and a hostile worker, for drivers of any language.

The relay is the real one; the worker is a thread that plays one behaviour for each request that
reaches it. After anything but an honest answer the test counts as lost, and the next one has a
fresh worker.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping

from attrs import frozen
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from assay.api import Channel, Outcome, OutcomeStatus
from assay_graders.isolation.protocol import WIRE
from assay_graders.relay import Relay, RelayLimits
from assay_graders.wire.frames import MAX_FRAME_BYTES, FrameStream
from assay_sandbox.channel import SocketChannel

__all__ = ["HOSTILE_BYTES", "ExchangeMachine", "Script", "framed"]

CALL_SECONDS = 0.3
Said = Callable[[int, int], bytes | None]
"""What a worker says to a request, by its number and its value; None ends the process."""


def framed(body: bytes) -> bytes:
    """A frame with this body."""
    return len(body).to_bytes(4, "big") + body


HOSTILE_BYTES: Mapping[str, Said] = {
    "giant prefix": lambda n, v: b"\xff" * 9,
    "frame above the cap": lambda n, v: (MAX_FRAME_BYTES + 1).to_bytes(4, "big"),
    "no JSON": lambda n, v: framed(b"{[}"),
    "no UTF-8": lambda n, v: framed(b'"\xff"'),
    "deep JSON": lambda n, v: framed(b"[" * 50_000),
    "empty list": lambda n, v: framed(b"[]"),
    "silence": lambda n, v: b"",
    "death": lambda n, v: None,
}
"""What is hostile in every language."""


@frozen
class Script:
    """What a worker can do. `read` gives number and value of a request.

    `hostile` behaviours are no answers. `late` ones say more behind an honest answer.
    """

    read: Callable[[bytes], tuple[int, int]]
    honest: Callable[[int, int], bytes]
    hostile: Mapping[str, Said]
    late: Mapping[str, Callable[[int, int], bytes]]


class Worker:
    """A process whose jailed side is a thread of this one; implements `assay.api.Process`."""

    def __init__(self, behaviours: queue.Queue[str], script: Script) -> None:
        mine, theirs = socket.socketpair()
        self._channel = SocketChannel(mine)
        self._end = theirs
        self._behaviours = behaviours
        self._script = script
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def channels(self) -> Mapping[str, Channel]:
        return {WIRE: self._channel}

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)

    def wait(self, deadline: float | None = None) -> Outcome:
        self._thread.join()
        self._end.close()
        self._channel.close()
        return Outcome(OutcomeStatus.CANCELLED)

    def _serve(self) -> None:
        stream = FrameStream(self._end.fileno())
        with contextlib.suppress(Exception):
            while (received := stream.recv()) is not None:
                self._play(self._behaviours.get_nowait(), *self._script.read(received))

    def _play(self, behaviour: str, number: int, value: int) -> None:
        honest = self._script.honest(number, value)
        if behaviour == "honest":
            self._end.sendall(honest)
        elif behaviour in self._script.late:
            self._end.sendall(honest + self._script.late[behaviour](number, value))
        elif behaviour == "death in a frame":
            self._end.sendall(honest[:6])
            self._end.shutdown(socket.SHUT_RDWR)
        else:
            said = self._script.hostile[behaviour](number, value)
            if said is None:
                self._end.shutdown(socket.SHUT_RDWR)
            else:
                self._end.sendall(said)


class ExchangeMachine(RuleBasedStateMachine):
    """Whatever the worker does, no request gets another's answer. An honest one is `value + 1`."""

    script: Script

    def __init__(self) -> None:
        super().__init__()
        host, self.driver = socket.socketpair()
        self.behaviours: queue.Queue[str] = queue.Queue()
        limits = RelayLimits(deadline=time.monotonic() + 120, call_seconds=CALL_SECONDS)
        self.relay = Relay(self._start, limits)
        self.relay.open()
        channel = SocketChannel(host)
        self.thread = threading.Thread(target=self._host, args=(channel,))
        self.thread.start()
        self.stale = False
        self.starts = 1
        self.open_client()

    @abstractmethod
    def open_client(self) -> None:
        """Have a client on `self.driver`."""

    @abstractmethod
    def request(self, value: int, *, begins: bool) -> tuple[int | None, str]:
        """The answer to a request, None without one, and how the worker was lost, if so."""

    def _start(self, _: float) -> Worker:
        return Worker(self.behaviours, self.script)

    def _host(self, channel: SocketChannel) -> None:
        try:
            self.relay.serve(channel)
        finally:
            self.relay.close()
            channel.close()

    def ask(self, behaviour: str, value: int) -> tuple[int | None, str]:
        self.behaviours.put(behaviour)
        return self.request(value, begins=True)

    @precondition(lambda self: not self.stale)
    @rule(value=st.integers(-99, 99))
    def an_honest_answer_arrives(self, value: int) -> None:
        assert self.ask("honest", value) == (value + 1, "")

    @precondition(lambda self: not self.stale)
    @rule(value=st.integers(-99, 99), data=st.data())
    def whatever_else_is_said_is_no_answer(self, value: int, data: st.DataObject) -> None:
        behaviours = [*sorted(self.script.hostile), "death in a frame"]
        answer, lost = self.ask(data.draw(st.sampled_from(behaviours)), value)
        assert answer is None
        assert lost
        self.starts += 1

    @precondition(lambda self: not self.stale)
    @rule(value=st.integers(-99, 99), data=st.data())
    def an_answer_with_something_behind_it_arrives(self, value: int, data: st.DataObject) -> None:
        behaviour = data.draw(st.sampled_from(sorted(self.script.late)))
        assert self.ask(behaviour, value) == (value + 1, "")
        self.stale = True

    @precondition(lambda self: self.stale)
    @rule(value=st.integers(-99, 99))
    def what_came_early_answers_nothing(self, value: int) -> None:
        answer, lost = self.ask("honest", value)
        assert answer is None
        assert lost in ("protocol", "framing")
        self.stale = False
        self.starts += 1
        self.behaviours = queue.Queue()

    @precondition(lambda self: not self.stale)
    @rule()
    def in_one_test_a_lost_worker_stays_lost(self) -> None:
        assert self.ask("death", 1) == (None, "died")
        for _ in range(2):
            assert self.request(1, begins=False) == (None, "died")
        self.starts += 1

    @invariant()
    def a_worker_is_started_for_each_one_that_was_lost(self) -> None:
        assert self.relay.starts in (self.starts, self.starts - 1)

    def teardown(self) -> None:
        self.driver.close()
        self.thread.join()
        assert not self.thread.is_alive()

"""Driver, host and a hostile worker: whatever the worker does, no call gets another's answer.

The client and the relay are the real ones; the worker is a thread that plays one behaviour for
each request that reaches it. After anything but an honest answer the test counts as lost, and
the next one has a fresh worker.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Mapping

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from assay.api import Channel, Outcome, OutcomeStatus
from assay_graders.isolation.client import Client
from assay_graders.isolation.protocol import ENVELOPE, WIRE
from assay_graders.isolation.refusals import Refusal, WorkerLost
from assay_graders.relay import Relay, RelayLimits
from assay_graders.wire.faults import WireFault
from assay_graders.wire.frames import MAX_FRAME_BYTES, FrameStream
from assay_graders.wire.text import pack, unpack
from assay_graders.wire.values import Codec
from assay_sandbox.channel import SocketChannel

CALL_SECONDS = 0.3
TREE = ("t", [])


def frame(message: object) -> bytes:
    body = pack(message)
    return len(body).to_bytes(4, "big") + body


HOSTILE = {
    "wrong number": lambda n, v: frame([n + 1, "ok", v + 1, [], []]),
    "number as text": lambda n, v: frame([str(n), "ok", v + 1, [], []]),
    "giant prefix": lambda n, v: b"\xff" * 9,
    "frame above the cap": lambda n, v: (MAX_FRAME_BYTES + 1).to_bytes(4, "big"),
    "no JSON": lambda n, v: b"\0\0\0\3{[}",
    "deep JSON": lambda n, v: (50_000).to_bytes(4, "big") + b"[" * 50_000,
    "no list": lambda n, v: frame(("t", [n])),
    "empty list": lambda n, v: frame([]),
    "unknown word": lambda n, v: frame([n, "fine", v, [], []]),
    "no notes": lambda n, v: frame([n, "ok", v]),
    "notes that are none": lambda n, v: frame([n, "ok", v, [], [["stdout", 5]]]),
    "a warning that is none": lambda n, v: frame([n, "ok", v, [], [["warning", "int", "x"]]]),
    "raises no exception": lambda n, v: frame([n, "raise", ["b", "int"], []]),
    "raises an unknown token": lambda n, v: frame([n, "raise", ["d", 9], []]),
    "calls back without a token": lambda n, v: frame([-1, "call-back", "x", TREE, ("d", []), []]),
    "asks for an unknown word": lambda n, v: frame([-1, "getattr", 1, "x", []]),
    "a positive question": lambda n, v: frame([1, "next-back", 1, []]),
    "cut": lambda n, v: frame([n, "ok", v + 1, [], []])[:-1],
    "silence": lambda n, v: b"",
    "death": lambda n, v: None,
    "death in a frame": lambda n, v: None,
    "flood": lambda n, v: frame([-5, "x", []]) * 3_000,
}
LATE = {
    "one more answer": lambda n, v: frame([n, "ok", v, [], []]),
    "answers to all numbers": lambda n, v: b"".join(
        frame([k, "ok", v, [], []]) for k in range(-3, 40)
    ),
    "a giant prefix behind": lambda n, v: b"\xff" * 9,
}


class Worker:
    """A process whose jailed side is a thread of this one; implements `assay.api.Process`."""

    def __init__(self, behaviours: queue.Queue[str]) -> None:
        mine, theirs = socket.socketpair()
        self._channel = SocketChannel(mine)
        self._end = theirs
        self._behaviours = behaviours
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
                number, _, value = unpack(received)
                self._play(self._behaviours.get_nowait(), number, value)

    def _play(self, behaviour: str, number: int, value: int) -> None:
        honest = frame([number, "ok", value + 1, [], []])
        if behaviour == "honest":
            self._end.sendall(honest)
        elif behaviour in LATE:
            self._end.sendall(honest + LATE[behaviour](number, value))
        else:
            sent = HOSTILE[behaviour](number, value)
            if behaviour == "death in a frame":
                self._end.sendall(honest[:6])
            if sent is None:
                self._end.shutdown(socket.SHUT_RDWR)
            else:
                self._end.sendall(sent)


class Exchange(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        host, driver = socket.socketpair()
        self.driver = driver
        self.behaviours: queue.Queue[str] = queue.Queue()
        limits = RelayLimits(deadline=time.monotonic() + 120, call_seconds=CALL_SECONDS)
        self.relay = Relay(lambda _: Worker(self.behaviours), limits)
        self.relay.open()
        channel = SocketChannel(host)
        self.thread = threading.Thread(target=self._host, args=(channel,))
        self.thread.start()
        stream = FrameStream(driver.fileno(), MAX_FRAME_BYTES + ENVELOPE)
        self.client = Client(stream, Codec(), max_trips=1_000)
        self.client.answer_back = self.refuse_token
        self.client.resolve = self.refuse_reference
        self.stale = False
        self.starts = 1

    def refuse_token(self, *_: object) -> object:
        raise self.client.lose_protocol()

    def refuse_reference(self, _: object) -> object:
        raise WireFault("a reference to nothing")

    def _host(self, channel: SocketChannel) -> None:
        try:
            self.relay.serve(channel)
        finally:
            self.relay.close()
            channel.close()

    def ask(self, behaviour: str, value: int) -> tuple[int | None, str]:
        self.behaviours.put(behaviour)
        noted = self.client.begin()
        try:
            answer = self.client.request("f", value)
        except (WorkerLost, Refusal):
            return None, noted.lost
        assert answer[1] == []
        return answer[0], noted.lost

    @precondition(lambda self: not self.stale)
    @rule(value=st.integers(-99, 99))
    def an_honest_answer_arrives(self, value: int) -> None:
        assert self.ask("honest", value) == (value + 1, "")

    @precondition(lambda self: not self.stale)
    @rule(value=st.integers(-99, 99), behaviour=st.sampled_from(sorted(HOSTILE)))
    def whatever_else_is_said_is_no_answer(self, value: int, behaviour: str) -> None:
        answer, lost = self.ask(behaviour, value)
        assert answer is None
        assert lost
        self.starts += 1

    @precondition(lambda self: not self.stale)
    @rule(value=st.integers(-99, 99), behaviour=st.sampled_from(sorted(LATE)))
    def an_answer_with_something_behind_it_arrives(self, value: int, behaviour: str) -> None:
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
        self.relay.start = lambda _: Worker(self.behaviours)

    @precondition(lambda self: not self.stale)
    @rule()
    def in_one_test_a_lost_worker_stays_lost(self) -> None:
        self.behaviours.put("death")
        noted = self.client.begin()
        for _ in range(3):
            try:
                self.client.request("f", 1)
            except WorkerLost:
                continue
            raise AssertionError("a lost worker answered")
        assert noted.lost == "died"
        self.starts += 1

    @invariant()
    def a_worker_is_started_for_each_one_that_was_lost(self) -> None:
        assert self.relay.starts in (self.starts, self.starts - 1)

    def teardown(self) -> None:
        self.driver.close()
        self.thread.join()
        assert not self.thread.is_alive()


TestExchange = Exchange.TestCase
TestExchange.settings = settings(max_examples=12, stateful_step_count=12, deadline=None)

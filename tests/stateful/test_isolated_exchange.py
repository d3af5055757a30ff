"""The driver of isolated Python tests and a hostile worker."""

from __future__ import annotations

from hypothesis import settings
from support.exchange_machine import HOSTILE_BYTES, ExchangeMachine, Script, framed

from assay_graders.isolation.client import Client
from assay_graders.isolation.protocol import ENVELOPE
from assay_graders.isolation.refusals import Refusal, WorkerLost
from assay_graders.wire.faults import WireFault
from assay_graders.wire.frames import MAX_FRAME_BYTES, FrameStream
from assay_graders.wire.text import pack, unpack
from assay_graders.wire.values import Codec

TREE = ("t", [])


def frame(message: object) -> bytes:
    return framed(pack(message))


def read(payload: bytes) -> tuple[int, int]:
    number, _, value = unpack(payload)
    return number, value


HOSTILE = {
    **HOSTILE_BYTES,
    "wrong number": lambda n, v: frame([n + 1, "ok", v + 1, [], []]),
    "number as text": lambda n, v: frame([str(n), "ok", v + 1, [], []]),
    "no list": lambda n, v: frame(("t", [n])),
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
    "flood": lambda n, v: frame([-5, "x", []]) * 3_000,
}
LATE = {
    "one more answer": lambda n, v: frame([n, "ok", v, [], []]),
    "answers to all numbers": lambda n, v: b"".join(
        frame([k, "ok", v, [], []]) for k in range(-3, 40)
    ),
    "a giant prefix behind": lambda n, v: b"\xff" * 9,
}


class Exchange(ExchangeMachine):
    script = Script(
        read=read,
        honest=lambda n, v: frame([n, "ok", v + 1, [], []]),
        hostile=HOSTILE,
        late=LATE,
    )

    def open_client(self) -> None:
        stream = FrameStream(self.driver.fileno(), MAX_FRAME_BYTES + ENVELOPE)
        self.client = Client(stream, Codec(), max_trips=1_000)
        self.client.answer_back = self.refuse_token
        self.client.resolve = self.refuse_reference

    def refuse_token(self, *_: object) -> object:
        raise self.client.lose_protocol()

    def refuse_reference(self, _: object) -> object:
        raise WireFault("a reference to nothing")

    def request(self, value: int, *, begins: bool) -> tuple[int | None, str]:
        noted = self.client.begin() if begins else self.client.noted
        try:
            answer = self.client.request("f", value)
        except (WorkerLost, Refusal):
            return None, noted.lost
        assert answer[1] == []
        return answer[0], noted.lost


TestExchange = Exchange.TestCase
TestExchange.settings = settings(max_examples=12, stateful_step_count=12, deadline=None)

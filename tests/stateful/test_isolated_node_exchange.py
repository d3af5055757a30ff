"""The driver of isolated Node tests and a hostile worker."""

from __future__ import annotations

import contextlib
import json

from hypothesis import settings
from support.exchange_machine import HOSTILE_BYTES, ExchangeMachine, Script, framed
from support.node_process import node_process


def frame(message: object) -> bytes:
    return framed(json.dumps(message).encode("ascii"))


def read(payload: bytes) -> tuple[int, int]:
    number, _, value = json.loads(payload)
    return number, value


REST = ([], [], False)
HOSTILE = {
    **HOSTILE_BYTES,
    "wrong number": lambda n, v: frame([n + 1, "ok", v + 1, *REST]),
    "number as text": lambda n, v: frame([str(n), "ok", v + 1, *REST]),
    "an object": lambda n, v: frame({"0": n, "length": 6}),
    "unknown word": lambda n, v: frame([n, "fine", v, *REST]),
    "a word of the language": lambda n, v: frame([n, "constructor", v, *REST]),
    "too few parts": lambda n, v: frame([n, "ok", v, [], []]),
    "no changes": lambda n, v: frame([n, "ok", v, None, [], False]),
    "changes of what was not sent": lambda n, v: frame([n, "ok", v, [[0, ["a"]]], [], False]),
    "exports that are none": lambda n, v: frame([n, "ok", v, [], [["x", 0, 1]], False]),
    "busy in words": lambda n, v: frame([n, "ok", v, [], [], "no"]),
    "raises an unknown token": lambda n, v: frame([n, "raise", ["#", "L", 9], *REST]),
    "calls back without a token": lambda n, v: frame([-1, "call-back", "x", [], []]),
    "asks for an unknown word": lambda n, v: frame([-1, "constructor", 1, [], []]),
    "a positive question": lambda n, v: frame([1, "next-back", 1, [], []]),
    "half a number": lambda n, v: frame([-1.5, "next-back", 1, [], []]),
    "cut": lambda n, v: frame([n, "ok", v + 1, *REST])[:-1],
    "flood": lambda n, v: frame([-5, "x", []]) * 3_000,
}
LATE = {
    "one more answer": lambda n, v: frame([n, "ok", v, *REST]),
    "answers to all numbers": lambda n, v: b"".join(
        frame([k, "ok", v, *REST]) for k in range(-3, 40)
    ),
    "a giant prefix behind": lambda n, v: b"\xff" * 9,
}


class Exchange(ExchangeMachine):
    script = Script(
        read=read,
        honest=lambda n, v: frame([n, "ok", v + 1, *REST]),
        hostile=HOSTILE,
        late=LATE,
    )

    def open_client(self) -> None:
        self.opened = contextlib.ExitStack()
        number = self.driver.fileno()
        process = node_process("client", str(number), descriptors=(number,))
        self.client = self.opened.enter_context(process)

    def request(self, value: int, *, begins: bool) -> tuple[int | None, str]:
        said = self.client.ask(f"{'begin' if begins else 'again'} {value}")
        return said["answer"], said["lost"]

    def teardown(self) -> None:
        self.opened.close()
        super().teardown()


TestExchange = Exchange.TestCase
TestExchange.settings = settings(max_examples=8, stateful_step_count=12, deadline=None)

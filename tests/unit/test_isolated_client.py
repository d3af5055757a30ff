"""The time limit of a test never leaves an answer of the host unread."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assay_graders.isolation.client import Client
from assay_graders.isolation.protocol import ANSWER, ENVELOPE, RESTART
from assay_graders.isolation.refusals import TimeUp
from assay_graders.wire.text import pack, unpack
from assay_graders.wire.values import Codec


class Host:
    """Answers each frame once; `strike` is called at a chosen moment, like a signal."""

    def __init__(self) -> None:
        self.unread: list[bytes] = []
        self.strikes: dict[str, Callable[[], None]] = {}

    def send(self, envelope: bytes) -> None:
        self._strike("before send")
        if envelope == RESTART:
            self.unread.append(ANSWER)
        else:
            number = unpack(envelope[ENVELOPE:])[0]
            self.unread.append(ANSWER + pack([number, "ok", 7, [], []]))
        self._strike("after send")

    def recv(self) -> bytes:
        self._strike("before recv")
        answer = self.unread.pop(0)
        self._strike("after recv")
        return answer

    def _strike(self, moment: str) -> None:
        self.strikes.pop(moment, lambda: None)()


@pytest.mark.parametrize("moment", ["before send", "after send", "before recv", "after recv"])
def test_time_is_up_in_the_middle_of_an_exchange(moment: str):
    host = Host()
    client = Client(host, Codec(), max_trips=9)  # type: ignore[arg-type]
    noted = client.begin()
    host.strikes[moment] = client.time_is_up

    with pytest.raises(TimeUp):
        client.request("f")

    assert host.unread == []
    assert noted.lost == "time"
    client.begin()
    assert client.request("f") == [7, []]
    assert client.generation == 2


def test_time_is_up_outside_of_an_exchange():
    client = Client(Host(), Codec(), max_trips=9)  # type: ignore[arg-type]
    noted = client.begin()

    with pytest.raises(TimeUp):
        client.time_is_up()

    assert noted.lost == "time"
    assert client.request("f") == [7, []]

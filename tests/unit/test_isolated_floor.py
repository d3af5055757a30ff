"""Threads of a worker speak one after the other, and answers come in the order of a stack."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

import pytest

from assay_graders.isolation.floor import Floor

SECONDS = 20


class Speaker:
    """One thread that does what it is told, and says when it is done."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self._tasks: queue.Queue[tuple[object, tuple[object, ...]] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def start(self, function: object, *arguments: object) -> None:
        self.done.clear()
        self._tasks.put((function, arguments))

    def stop(self) -> None:
        self._tasks.put(None)
        self._thread.join(SECONDS)

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            function, arguments = task
            function(*arguments)  # type: ignore[operator]
            self.done.set()


@pytest.fixture
def speakers() -> Iterator[tuple[Speaker, Speaker]]:
    made = Speaker(), Speaker()
    yield made
    for speaker in made:
        speaker.stop()


def test_a_question_waits_until_something_is_asked(speakers: tuple[Speaker, Speaker]):
    sent: list[bytes] = []
    floor = Floor(sent.append)
    speakers[0].start(floor.ask, -1, b"question")
    assert sent == []

    floor.begin(7)
    assert speakers[0].done.wait(SECONDS)
    floor.end()
    floor.answer(7, b"answer")

    assert sent == [b"question", b"answer"]


def test_an_answer_waits_for_what_began_after_its_request(speakers: tuple[Speaker, Speaker]):
    sent: list[bytes] = []
    floor = Floor(sent.append)
    first, second = speakers
    floor.begin(1)
    first.start(floor.ask, -1, b"asks")
    assert first.done.wait(SECONDS)
    floor.begin(2)
    second.start(floor.ask, -2, b"asks too")
    assert second.done.wait(SECONDS)
    first.start(floor.answer, 2, b"inner")
    assert not first.done.wait(0.05)
    floor.end()
    assert first.done.wait(SECONDS)
    floor.end()
    floor.answer(1, b"outer")

    assert sent == [b"asks", b"asks too", b"inner", b"outer"]


def test_one_question_at_a_time(speakers: tuple[Speaker, Speaker]):
    sent: list[bytes] = []
    floor = Floor(sent.append)
    floor.begin(1)
    floor.ask(-1, b"one")
    speakers[0].start(floor.ask, -2, b"two")
    assert not speakers[0].done.wait(0.05)
    floor.end()
    assert speakers[0].done.wait(SECONDS)

    assert sent == [b"one", b"two"]

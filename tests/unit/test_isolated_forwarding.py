"""What is handed on ahead of a request, and what is refused because it can't be."""

from __future__ import annotations

import builtins
import datetime
import io
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

from assay_graders.isolation.forwarding import Forwarding
from assay_graders.isolation.noted import Noted
from assay_graders.isolation.refusals import Refusal


class Client:
    """Notes what is sent; as a driver's client it has a worker of some generation."""

    def __init__(self) -> None:
        self.generation = 1
        self.noted = Noted()
        self.sent: list[tuple[str, Any]] = []
        self.used: list[str] = []
        self.fails = False

    def uses(self, feature: str) -> None:
        self.used.append(feature)

    def encode(self, value: Any) -> Any:
        return value

    def request(self, word: str, kind: str, state: Any) -> list[Any]:
        assert word == "forward"
        if self.fails:
            raise OSError
        self.sent.append((kind, state))
        return [None, []]

    def refuse(self, code: str, *, by_test: bool = False) -> Refusal:
        return Refusal(code, by_test=by_test)


ALL = ["argv", "clock", "cwd", "environ", "random", "stdin"]


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test changes comes back."""
    monkeypatch.setattr(sys, "argv", [""])
    for function in ("seed", "setstate"):
        monkeypatch.setattr(random, function, getattr(random, function))


def forwarding(*declared: str) -> tuple[Client, Forwarding]:
    client = Client()
    return client, Forwarding(client, list(declared))  # type: ignore[arg-type]


Patch = pytest.MonkeyPatch
CHANGES: dict[str, tuple[str, Callable[[Patch], Any]]] = {
    "argv": ("argv", lambda patch: patch.setattr(sys, "argv", ["a"])),
    "argv in place": ("argv", lambda patch: sys.argv.append("a")),
    "stdin": ("stdin", lambda patch: patch.setattr(sys, "stdin", io.StringIO("a"))),
    "input": ("input", lambda patch: patch.setattr(builtins, "input", len)),
    "clock": ("clock", lambda patch: patch.setattr(time, "time", lambda: 5.0)),
    "class": ("clock", lambda patch: patch.setattr(datetime, "date", int)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_not_declared_is_refused(change: str, monkeypatch: Patch):
    client, forwards = forwarding()
    kind, make = CHANGES[change]
    forwards.before()
    with monkeypatch.context() as patch:
        make(patch)
        with pytest.raises(Refusal) as refused:
            forwards.before()
        sys.argv[:] = [""]

    assert refused.value.code == ("clock" if kind == "clock" else "process-state")
    assert refused.value.by_test
    forwards.before()
    assert client.sent == []


@pytest.mark.parametrize("part", ["asked", "written"])
def test_what_the_candidate_has_a_part_in_makes_no_grader_unfit(part: str):
    client, forwards = forwarding()
    client.noted.is_asked = part == "asked"
    client.noted.features |= {"write-back"} if part == "written" else set()
    sys.argv.append("written by the candidate")

    with pytest.raises(Refusal, match="process-state") as refused:
        forwards.before()

    assert not refused.value.by_test


def test_nothing_is_sent_where_nothing_changed():
    client, forwards = forwarding(*ALL)

    forwards.before()

    assert client.sent == []


def test_a_change_is_sent_once_and_again_when_it_is_undone(monkeypatch: Patch):
    client, forwards = forwarding("argv", "stdin", "environ")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "argv", ["p", "x"])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff")))
        patch.setattr(builtins, "input", len)
        patch.setenv("A_NAME", "a")
        patch.setenv("PYTEST_OTHER", "hidden")
        patch.delenv("PATH")
        for _ in range(2):
            forwards.before()
    sent, client.sent = client.sent, []
    forwards.before()

    assert sent == [
        ("argv", ["p", "x"]),
        ("stdin", b"\xff"),
        ("input", len),
        ("environ", {"A_NAME": "a", "PATH": None}),
    ]
    assert client.sent == [("argv", None), ("stdin", None), ("input", None), ("environ", None)]
    assert set(client.used) == {"forwarding"}


def test_input_that_a_test_reads_itself_is_not_sent(monkeypatch: Patch):
    client, forwards = forwarding("stdin")
    stream = io.StringIO("one\ntwo\n")
    monkeypatch.setattr(sys, "stdin", stream)
    stream.readline()

    forwards.before()

    assert client.sent == [("stdin", "two\n")]
    assert stream.read() == "two\n"


@pytest.mark.parametrize("stream", [object(), Path, io.StringIO], ids=["object", "class", "shut"])
def test_input_of_another_kind_is_refused(stream: Any, monkeypatch: Patch):
    _, forwards = forwarding("stdin")
    if stream is io.StringIO:
        stream = io.StringIO()
        stream.close()
    monkeypatch.setattr(sys, "stdin", stream)

    with pytest.raises(Refusal, match="process-state"):
        forwards.before()


def test_a_seed_is_the_whole_state_at_the_next_request():
    client, forwards = forwarding("random")
    random.seed(3)
    random.random()

    forwards.before()
    random.random()
    forwards.before()

    assert [kind for kind, _ in client.sent] == ["random"]
    source = random.Random(3)
    source.random()
    assert client.sent[0][1] == source.getstate()


def test_a_folder_elsewhere_is_refused(tmp_path: Path, monkeypatch: Patch):
    (tmp_path / "a").mkdir()
    (tmp_path / "b/c").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "b")
    client, forwards = forwarding("cwd")

    monkeypatch.chdir("c")
    forwards.before()
    assert client.sent == [("cwd", str(tmp_path / "b/c"))]
    for place in (tmp_path / "a", tmp_path):
        monkeypatch.chdir(place)
        with pytest.raises(Refusal, match="process-state"):
            forwards.before()


def test_the_frozen_clock_is_sent_whenever_it_moves():
    client, forwards = forwarding("clock")
    with freeze_time("2020-01-02 03:04:05", tz_offset=2) as frozen:
        forwards.before()
        forwards.before()
        frozen.tick()
        forwards.before()
    forwards.before()

    fields = [state and state[:3] for _, state in client.sent]
    assert fields == [
        [[2020, 1, 2, 3, 4, 5, 0], 7200.0, False],
        [[2020, 1, 2, 3, 4, 6, 0], 7200.0, False],
        None,
    ]


@pytest.mark.parametrize("declared", [(), ("clock",)])
def test_a_clock_that_moves_by_being_read_is_refused(declared: tuple[str, ...]):
    _, forwards = forwarding(*declared)
    with freeze_time("2020-01-02", auto_tick_seconds=1), pytest.raises(Refusal, match="clock"):
        forwards.before()


def test_another_worker_gets_it_again():
    client, forwards = forwarding("argv")
    sys.argv = ["a"]
    forwards.before()
    client.generation = 2
    forwards.before()

    assert client.sent == [("argv", ["a"])] * 2


def test_a_worker_that_can_not_follow_is_at_fault_itself():
    client, forwards = forwarding("argv")
    client.fails = True
    sys.argv = ["a"]

    with pytest.raises(Refusal, match="forward") as refused:
        forwards.before()

    assert not refused.value.by_test


def test_what_tests_may_do_to_their_process_is_what_is_declared():
    _, forwards = forwarding("environ")
    assert forwards.allows("os.putenv")
    assert forwards.allows("os.unsetenv")
    assert not forwards.allows("os.chdir")
    assert not forwards.allows("os.system")
    assert "environ" not in os.environ

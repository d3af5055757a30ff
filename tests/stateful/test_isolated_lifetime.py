"""Objects of both processes live as long as somebody has them, and are the same meanwhile."""

from __future__ import annotations

import gc
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from support.isolated_pair import pair

from assay_graders.isolation import places

SOURCE = """
import gc
class Thing:
    def __init__(self, n): self.n = n
class Slotted(Thing):
    __slots__ = ("other",)
class Two(Slotted, Thing): pass
class Left:
    pass
class Right:
    pass
class Both(Left, Right):
    def __init__(self, n): self.n = n
class Number(int):
    @property
    def n(self): return int(self)
class Text(str):
    @property
    def n(self): return int(str(self))
class Failed(Exception):
    @property
    def n(self): return self.args[0]
KINDS = [Thing, Slotted, Two, Both, Number, Text]
kept = {}
def make(kind, n):
    made = KINDS[kind](n)
    return made
def keep(thing, key): kept[key] = thing
def get(key): return kept[key]
def forget(key): kept.pop(key, None)
def fail(n, own): raise (Failed if own else ValueError)(n)
def batch(count): return [Thing(n) for n in range(count)]
def number(thing): return thing.n
def call(function, n): return function(n)
def same(one, other): return one is other
def kept_same(key, thing): return kept.get(key) is thing
def objects():
    return next(o for o in gc.get_objects() if type(o).__name__ == "Objects")
def table():
    gc.collect()
    return len(objects()._objects)
def borrowed():
    gc.collect()
    return len(objects().borrowed._watched)
"""


class Own:
    """An object of the tests' that is handed over."""

    def __init__(self, n: int) -> None:
        self.n = n


class Lifetime(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        # Each death is told with the message after the next, so that an early one would show.
        self.stack.enter_context(mock.patch.object(places, "_AT_ONCE", 1))
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.cand, self.exchange = self.stack.enter_context(pair(folder, SOURCE))
        self.mine: dict[int, tuple[Any, int]] = {}
        self.theirs: dict[int, tuple[Any, int]] = {}
        self.keys = 0

    def has(self, value: Any, n: int) -> None:
        self.mine[self.keys] = value, n
        self.keys += 1

    @rule(kind=st.integers(0, 5), n=st.integers(0, 99), count=st.integers(1, 5))
    def make(self, kind: int, n: int, count: int) -> None:
        for _ in range(count):
            value = self.cand.make(kind, n)
        self.has(value, n)

    @rule(n=st.integers(0, 99), own=st.booleans(), is_kept=st.booleans())
    def fail(self, n: int, own: bool, is_kept: bool) -> None:
        with pytest.raises(self.cand.Failed if own else ValueError) as caught:
            self.cand.fail(n, own)
        assert caught.value.args == (n,)
        if is_kept and own:
            self.has(caught.value, n)

    @rule(data=st.data(), key=st.integers(0, 3))
    def hand_over(self, data: st.DataObject, key: int) -> None:
        if self.mine:
            value, n = self.mine[data.draw(st.sampled_from(sorted(self.mine)))]
            assert self.cand.number(value) == n
            self.cand.keep(value, key)
            self.theirs[key] = value, n

    @rule(n=st.integers(0, 99), key=st.integers(0, 3), is_kept=st.booleans())
    def lend(self, n: int, key: int, is_kept: bool) -> None:
        own = Own(n)
        assert self.cand.number(own) == n
        assert self.cand.same(own, own)
        assert self.cand.call(lambda m: m + n, 1) == n + 1
        if is_kept:
            self.cand.keep(own, key)
            self.theirs[key] = own, n

    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        if self.mine:
            del self.mine[data.draw(st.sampled_from(sorted(self.mine)))]
            gc.collect()

    @rule(key=st.integers(0, 3))
    def forget(self, key: int) -> None:
        self.theirs.pop(key, None)
        self.cand.forget(key)

    @rule()
    def replaced(self) -> None:
        with pytest.raises(BaseException, match="lost"):
            self.exchange.client.decode(("ref", ["x"]))
        self.mine.clear()
        self.theirs.clear()
        gc.collect()
        self.exchange.client.begin()

    @invariant()
    def what_was_kept_there_is_the_same_here(self) -> None:
        for key, (value, n) in self.theirs.items():
            assert self.cand.get(key) is value
            assert self.cand.kept_same(key, value)
            assert self.cand.number(value) == n

    @invariant()
    def what_is_here_is_what_it_was(self) -> None:
        for value, n in self.mine.values():
            assert value.n == n

    def teardown(self) -> None:
        self.stack.close()


TestLifetime = Lifetime.TestCase
TestLifetime.settings = settings(max_examples=5, stateful_step_count=10, deadline=None)


def test_a_hundred_thousand_objects_leave_nothing_behind(tmp_path: Path) -> None:
    with pair(tmp_path, SOURCE) as (cand, exchange):
        for _ in range(100):
            things = cand.batch(1_000)
            assert things[7].n == 7
            del things
            exchange.end_test(None)
            exchange.client.begin()
        assert cand.table() < 4_000
        # The tables here have other names for what they hold.
        assert len(exchange.known.places) < 4_000  # type: ignore[attr-defined]


def test_what_is_lent_again_and_again_is_dropped_on_both_sides(tmp_path: Path) -> None:
    with pair(tmp_path, SOURCE) as (cand, _):
        for n in range(400):
            assert cand.number(Own(n)) == n
            assert cand.call(lambda m, n=n: m * n, 2) == 2 * n
            with pytest.raises(KeyError):
                cand.call({}.__getitem__, n)
            with pytest.raises(ValueError, match=str(n)):
                cand.fail(n, False)
        assert cand.borrowed() < 100
        assert cand.table() < 300

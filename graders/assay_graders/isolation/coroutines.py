"""Coroutines of the candidate's, awaited here while they run over there.

The worker has an event loop of its own, which runs only when the driver's gives it a turn: as
long as something of the candidate's is awaited or under way, turns come between the steps of
the test's own tasks. So coroutines of both sides run concurrently, as they do in one loop; a
cancellation goes over, and an outcome that nobody asked for breaks the exchange.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from types import CoroutineType
from typing import Any

from .client import Client
from .protocol import CANCELLED, OK, RAISE, REFUSED
from .refusals import CandidateError
from .verdicts import cuts_short, is_verdict

__all__ = ["Coroutines"]

_LONGEST_TURN = 0.05
"""Seconds that a turn may last when the test's own loop has nothing to do."""

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Coroutines:
    """`take(tree)` is a value of the candidate's, `take_over` what it changed in arguments."""

    def __init__(
        self,
        client: Client,
        take: Callable[[Any], Any],
        take_over: Callable[[Arguments, Any], None],
    ) -> None:
        self._client = client
        self._take = take
        self._take_over = take_over
        self._generation = client.generation
        self._loops: dict[int, Any] = {}
        self._told: int | None = None
        self._is_at_work = False
        self._started = 0
        self._waiting: dict[int, Any] = {}
        self._arguments: weakref.WeakKeyDictionary[Any, Arguments] = weakref.WeakKeyDictionary()
        self._lent: dict[int, Any] = {}
        self._ended: list[tuple[int, Any]] = []
        self._turning: Any = None

    def before(self) -> None:
        """Ahead of a request: the candidate's side is in a running loop when this one is."""
        if self._is_at_work:
            return
        self._renew()
        loop = _running_loop()
        number = self._number(loop)
        if number != self._told:
            self._is_at_work = True
            try:
                self._client.request("loop", number)
            finally:
                self._is_at_work = False
            self._told = number
        if loop is not None:
            # Whatever is asked may leave a task behind.
            self._give_turns(loop)

    def stand_in(self, name: str, qualified: str) -> CoroutineType[Any, Any, Any]:
        """A coroutine that, awaited, runs the candidate's."""
        own: list[weakref.ref[Any]] = []

        async def awaited() -> Any:
            return await self._outcome(own[0]())

        made: Any = awaited()
        made.__name__, made.__qualname__ = name, qualified
        own.append(weakref.ref(made))
        return made  # type: ignore[no-any-return]

    def came_of(self, value: Any, arguments: Arguments) -> None:
        """A call gave `value`: a coroutine may yet change what it was called with."""
        if type(value) is CoroutineType:
            self._arguments[value] = arguments

    def run_lent(self, token: int, lent: Coroutine[Any, Any, Any]) -> list[Any]:
        """The candidate awaits a coroutine of the test's: whether it is over, and its value."""
        import asyncio

        if token in self._lent:
            raise self._client.lose_protocol()
        loop = _running_loop()
        if loop is None:
            alone = asyncio.new_event_loop()
            try:
                return [True, alone.run_until_complete(lent)]
            finally:
                alone.close()
        context = copy_context()
        context.run(self._client.asked.set, True)
        task = loop.create_task(self._watched(lent), context=context)
        self._lent[token] = task
        task.add_done_callback(lambda ended: self._ended.append((token, ended)))
        self._give_turns(loop)
        return [False, None]

    def cancel_lent(self, token: Any) -> None:
        """The candidate does not wait for it any more."""
        task = self._lent.get(token) if type(token) is int else None
        if task is None:
            raise self._client.lose_protocol()
        task.cancel()

    async def _watched(self, lent: Coroutine[Any, Any, Any]) -> Any:
        try:
            return await lent
        except BaseException as error:
            # The verdict of an assertion must not be in the candidate's hands.
            tests = self._client.tests
            self._client.noted.failed_back |= is_verdict(error) or cuts_short(error, tests)
            raise

    async def _outcome(self, coroutine: Any) -> Any:
        import asyncio

        loop = _running_loop()
        if loop is None:
            raise self._client.refuse("async")
        self._client.uses("awaiting")
        self._started += 1
        number = self._started
        arguments = self._arguments.pop(coroutine, ((), {}))
        self._client.request("start", number, self._client.reference(coroutine))
        is_cancelled = False
        while True:
            self._waiting[number] = future = loop.create_future()
            self._give_turns(loop)
            try:
                word, value = await future
                break
            except asyncio.CancelledError:
                if number not in self._waiting:
                    # It ended at the same moment; whoever cancelled was first.
                    raise
                is_cancelled = True
                self._client.request("cancel", number)
        if word == OK:
            tree, changed = value
            self._take_over(arguments, changed)
            return self._take(tree)
        if word == RAISE:
            raise value
        # A task group would pass over a test whose candidate says that it was cancelled.
        raise asyncio.CancelledError if is_cancelled else CandidateError("CancelledError")

    def _give_turns(self, loop: Any) -> None:
        if self._turning is not loop:
            self._turning = loop
            loop.call_soon(self._turn, loop)

    def _turn(self, loop: Any) -> None:
        try:
            while self._ended:
                self._settle(*self._ended.pop(0))
            parts = self._client.request("turn", _milliseconds(loop))
            if len(parts) != 2 or type(parts[0]) is not list:
                raise self._client.lose_protocol()
            for finished in parts[0]:
                self._finish(finished)
        except BaseException as error:
            # The loop would note it and go on; whoever waits has to hear of it.
            self._turning = None
            self._renew(error)
            return
        if self._waiting or self._lent or self._ended or parts[1] is True:
            loop.call_soon(self._turn, loop)
        else:
            self._turning = None

    def _finish(self, finished: Any) -> None:
        if type(finished) is not list or len(finished) < 2:
            raise self._client.lose_protocol()
        number, word, *rest = finished
        future = self._waiting.pop(number, None) if type(number) is int else None
        if future is None:
            raise self._client.lose_protocol()
        value: Any = None
        if word == OK and len(rest) == 2:
            value = rest
        elif word == RAISE and len(rest) == 1:
            value = self._client.error_of(rest[0])
        elif word == REFUSED and not rest:
            word, value = RAISE, self._client.refuse("value")
        elif word != CANCELLED or rest:
            raise self._client.lose_protocol()
        if not future.done():
            future.set_result((word, value))

    def _settle(self, token: int, task: Any) -> None:
        del self._lent[token]
        self._client.request("settle", token, *self._settled(task))

    def _settled(self, task: Any) -> tuple[str, Any]:
        """What came of a coroutine that the candidate, by its own choice, awaited."""
        if task.cancelled():
            return CANCELLED, None
        before = self._client.asked.set(True)
        try:
            if (error := task.exception()) is not None:
                return RAISE, ("ref", self._client.describe_error(error))
            return OK, self._client.encode(task.result())
        finally:
            self._client.asked.reset(before)

    def _renew(self, error: BaseException | None = None) -> None:
        """Forget what belongs to a process that is gone."""
        if error is None and self._generation == self._client.generation:
            return
        waiting, self._waiting = self._waiting, {}
        if self._generation != self._client.generation:
            self._generation = self._client.generation
            self._told = self._turning = None
            self._arguments.clear()
            self._lent.clear()
            self._ended.clear()
        for future in waiting.values():
            if error is not None and not future.done() and not future.get_loop().is_closed():
                future.set_result((RAISE, error))

    def _number(self, loop: Any) -> int | None:
        if loop is None:
            return None
        # Kept, so that no other loop can get the same id meanwhile; there are few.
        self._loops.setdefault(id(loop), loop)
        return list(self._loops).index(id(loop)) + 1


def _running_loop() -> Any:
    """The loop that runs here, if asyncio was ever imported."""
    events = sys.modules.get("asyncio.events")
    return None if events is None else events._get_running_loop()


def _milliseconds(loop: Any) -> int:
    """How long the candidate's side may go on without keeping the test's tasks waiting."""
    if getattr(loop, "_ready", ()):
        return 0
    seconds = _LONGEST_TURN
    for timer in getattr(loop, "_scheduled", ())[:1]:
        seconds = min(seconds, timer.when() - loop.time())
    return max(1, round(seconds * 1000))

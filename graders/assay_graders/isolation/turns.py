"""The candidate's event loop, which runs while the driver waits for it and at no other time."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import CoroutineType
from typing import Any

from ..wire.faults import WireFault
from .protocol import CANCEL_BACK, CANCELLED, OK, RAISE, REFUSED, START_BACK

__all__ = ["Turns", "awaiting", "is_awaitable", "leave_loops_alone"]

_AWAITABLE = ("coroutine", "async_generator_asend", "async_generator_athrow")


def is_awaitable(value: Any) -> bool:
    """Whether a value is something built in that can do nothing but be awaited."""
    kind = type(value)
    return kind.__module__ == "builtins" and kind.__name__ in _AWAITABLE


async def awaiting(value: Any) -> Any:
    """Any awaitable as a coroutine."""
    return await value


class Turns:
    """Loops by the driver's numbers; only the newest is alive.

    `tell(value)` and `tell_error(error)` write what came of a task, `ask` asks the driver.
    """

    def __init__(
        self,
        tell: Callable[[Any], Any],
        tell_error: Callable[[BaseException], Any],
        ask: Callable[..., Any],
    ) -> None:
        self._tell = tell
        self._tell_error = tell_error
        self._ask = ask
        self._number = 0
        self._loop: Any = None
        self._wake: Callable[[], None] = _nothing
        self._tasks: dict[int, Any] = {}
        self._changes: dict[int, Callable[[], list[Any]]] = {}
        self._called: Any = weakref.WeakKeyDictionary()
        self._finished: list[int] = []
        self._awaited: dict[int, Any] = {}

    def enter(self, number: int | None) -> None:
        """From now on requests run as if in the running loop of this number, or in none."""
        import asyncio

        if number is None:
            asyncio._set_running_loop(None)
            return
        if number != self._number:
            self._close()
            self._number, self._loop = number, asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        asyncio._set_running_loop(self._loop)

    def came_of(self, value: Any, changes: Callable[[], list[Any]]) -> None:
        """A call gave this coroutine; `changes()` says what became of its arguments."""
        self._called[value] = changes

    def start(self, number: int, value: Any) -> None:
        """Make a task of something awaitable."""
        task = self._loop.create_task(awaiting(value))
        self._tasks[number] = task
        is_called = type(value) is CoroutineType
        self._changes[number] = self._called.pop(value, list) if is_called else list

        def finish(_: Any) -> None:
            self._finished.append(number)
            self._wake()

        task.add_done_callback(finish)

    def cancel(self, number: int) -> None:
        """The driver does not wait for a task any more, but for its end."""
        if number in self._tasks:
            self._tasks[number].cancel()

    def turn(self, milliseconds: int) -> tuple[list[Any], bool]:
        """Run until a task ends or the time is over: what has ended, and whether more is left."""
        import asyncio

        if not self._finished and self._is_busy():
            outside = asyncio._get_running_loop()
            asyncio._set_running_loop(None)
            try:
                self._loop.run_until_complete(self._pause(milliseconds / 1000))
            except (SystemExit, KeyboardInterrupt):
                # The task that raised it has ended with it.
                pass
            finally:
                asyncio._set_running_loop(outside)
        finished, self._finished = self._finished, []
        ended = [self._outcome(number) for number in finished]
        return ended, bool(self._tasks) or self._is_busy()

    def _is_busy(self) -> bool:
        """Whether there are tasks, or anything else that is due in this loop."""
        import asyncio

        timers = getattr(self._loop, "_scheduled", ())
        is_due = bool(getattr(self._loop, "_ready", ()))
        is_due = is_due or not all(timer.cancelled() for timer in timers)
        return is_due or bool(asyncio.all_tasks(self._loop))

    async def _pause(self, seconds: float) -> None:
        import asyncio

        event = asyncio.Event()
        self._wake = event.set
        timer = self._loop.call_later(seconds, event.set)
        try:
            await event.wait()
        finally:
            timer.cancel()
            self._wake = _nothing

    def _outcome(self, number: int) -> list[Any]:
        task, changes = self._tasks.pop(number), self._changes.pop(number)
        if task.cancelled():
            return [number, CANCELLED]
        error = task.exception()
        try:
            if error is not None:
                return [number, RAISE, self._tell_error(error)]
            return [number, OK, self._tell(task.result()), changes()]
        except WireFault:
            return [number, REFUSED]

    async def borrowed(self, token: int) -> Any:
        """Await a coroutine of the driver's."""
        import asyncio

        future = asyncio.get_running_loop().create_future()
        self._awaited[token] = future
        is_over, value = self._ask(START_BACK, token)
        if is_over:
            self._awaited.pop(token, None)
            return value
        self._wake()
        try:
            return await future
        except asyncio.CancelledError:
            if self._awaited.pop(token, None) is not None:
                self._ask(CANCEL_BACK, token)
            raise

    def settle(self, token: int, word: str, value: Any) -> None:
        """What came of a coroutine of the driver's; nobody may wait for it any more."""
        future = self._awaited.pop(token, None)
        if future is None or future.done():
            return
        if word == OK:
            future.set_result(value)
        elif word == RAISE:
            future.set_exception(value)
        else:
            future.cancel()

    def _close(self) -> None:
        """As `asyncio.run` ends a loop."""
        if self._loop is None:
            return
        import asyncio

        asyncio._set_running_loop(None)
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.wait(tasks, timeout=1) if tasks else _done())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()
        self._tasks.clear()
        self._changes.clear()
        self._finished.clear()
        for token, future in list(self._awaited.items()):
            if future.get_loop() is self._loop:
                del self._awaited[token]


async def _done() -> None:
    """Nothing was left to wait for."""


def _nothing() -> None:
    """Nobody sleeps."""


def leave_loops_alone(ask: Callable[..., Any]) -> Callable[..., Any]:
    """A question after which the same loop runs as before, whatever the driver did meanwhile."""

    def asked(*parts: Any) -> Any:
        events = sys.modules.get("asyncio.events")
        outside = None if events is None else events._get_running_loop()
        try:
            return ask(*parts)
        finally:
            events = sys.modules.get("asyncio.events")
            if events is not None:
                events._set_running_loop(outside)

    return asked

"""What a test does to its own process, handed on to the candidate's where the task says so.

Before each request the driver looks at what tests are known to replace: the clock, `sys.argv`,
standard input and so on. What differs from the last look goes over as data, ahead of the
request; what the task did not declare is refused, because the candidate would not see it.
"""

from __future__ import annotations

import builtins
import datetime
import importlib
import io
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from ..wire.stdlib import count_as, hold_dates
from .client import Client
from .protocol import FORWARDS

__all__ = ["Forwarding"]

_OF_TOOLS = ("PYTEST_", "ASSAY_")
"""Variables that say which test is running, or belong to this program."""


class Forwarding:
    """Keeps the candidate's process as the test wants it; `before` comes ahead of a request."""

    def __init__(self, client: Client, declared: list[str]) -> None:
        self._client = client
        self._declared = frozenset(declared)
        self._sent: dict[str, Any] = {}
        self._generation = client.generation
        self._is_at_work = False
        self._argv = list(sys.argv)
        self._stdin, self._input = sys.stdin, builtins.input
        self._environ = dict(os.environ)
        self._folder = os.getcwd()
        self._seeds = 0
        self._clock = _clock()
        looks: list[tuple[str, Callable[[], Any]]] = [
            ("clock", self._time),
            ("argv", self._arguments),
            ("stdin", self._input_stream),
            ("input", self._input_function),
        ]
        # What follows costs more to look at; undeclared, the guards or nobody can see it.
        others = (
            ("random", self._random),
            ("environ", self._variables),
            ("cwd", self._working_folder),
        )
        self._looks = looks + [look for look in others if look[0] in self._declared]
        hold_dates()
        if "clock" in self._declared:
            freezing = importlib.import_module("freezegun.api")
            count_as(freezing.FakeDate, "date")
            count_as(freezing.FakeDatetime, "datetime")
        if "random" in self._declared:
            random.seed = self._counting(random.seed)
            random.setstate = self._counting(random.setstate)

    def allows(self, event: str) -> bool:
        """Whether a test may do what this audit event says."""
        return _EVENTS.get(event) in self._declared

    def before(self) -> None:
        """Send what has changed since the last request; raises Refusal for what can't be."""
        if self._is_at_work:
            return
        if self._generation != self._client.generation:
            self._generation = self._client.generation
            self._sent.clear()
        for kind, look in self._looks:
            state = look()
            if state != self._sent.get(kind):
                self._send(kind, state)

    def _send(self, kind: str, state: Any) -> None:
        if FORWARDS[kind] not in self._declared:
            raise self._refused(kind)
        self._client.uses("forwarding")
        self._is_at_work = True
        try:
            self._client.request("forward", kind, self._client.encode(_content(kind, state)))
        except (Exception, SystemExit):
            # The candidate's process says that it can't: its word alone, so it counts against it.
            raise self._client.refuse("forward") from None
        finally:
            self._is_at_work = False
        self._sent[kind] = state

    def _refused(self, kind: str) -> BaseException:
        noted = self._client.noted
        # What the candidate called, or wrote into an argument, may be what changed.
        by_test = not noted.is_asked and "write-back" not in noted.features
        return self._client.refuse("clock" if kind == "clock" else "process-state", by_test=by_test)

    def _time(self) -> Any:
        """None while nobody changed it, else the moment, the offset, and whether it goes on."""
        freezing = sys.modules.get("freezegun.api")
        if freezing is None or not freezing.freeze_factories:
            if _clock() != self._clock:
                raise self._refused("clock")
            return None
        factory = freezing.freeze_factories[-1]
        begun = getattr(factory, "start", None)
        if type(factory) is freezing.StepTickTimeFactory:
            raise self._refused("clock")
        moment, offset = factory.time_to_freeze, freezing.tz_offsets[-1]
        fields = [moment.year, moment.month, moment.day, moment.hour, moment.minute]
        fields += [moment.second, moment.microsecond]
        return [fields, offset.total_seconds(), begun is not None, str(begun)]

    def _arguments(self) -> Any:
        return None if sys.argv == self._argv else list(sys.argv)

    def _input_stream(self) -> Any:
        stream = sys.stdin
        if stream is self._stdin or type(stream).__module__.startswith("_pytest."):
            return None
        try:
            source = stream.buffer if isinstance(stream, io.TextIOWrapper) else stream
            if not isinstance(source, (io.StringIO, io.BytesIO, io.BufferedReader)):
                raise self._refused("stdin")
            at = source.tell()
            content = source.read()
            source.seek(at)
        except (OSError, ValueError):
            raise self._refused("stdin") from None
        return [id(stream), content]

    def _input_function(self) -> Any:
        return None if builtins.input is self._input else builtins.input

    def _random(self) -> Any:
        return self._seeds or None

    def _variables(self) -> Any:
        now = {k: v for k, v in os.environ.items() if not k.startswith(_OF_TOOLS)}
        gone = {k: None for k in self._environ if k not in now and not k.startswith(_OF_TOOLS)}
        changed = {k: v for k, v in now.items() if self._environ.get(k) != v}
        return {**changed, **gone} or None

    def _working_folder(self) -> Any:
        folder = os.getcwd()
        if folder == self._folder:
            return None
        if not f"{folder}/".startswith(f"{self._folder}/"):
            raise self._refused("cwd")
        return folder

    def _counting(self, function: Callable[..., None]) -> Callable[..., None]:
        def counted(*args: Any, **kwargs: Any) -> None:
            function(*args, **kwargs)
            self._seeds += 1

        return counted


_EVENTS = {"os.putenv": "environ", "os.unsetenv": "environ", "os.chdir": "cwd"}


def _content(kind: str, state: Any) -> Any:
    """What the candidate's process is told of a state."""
    if kind == "random":
        return random.getstate()
    if kind == "stdin" and state is not None:
        return state[1]
    return state


def _clock() -> tuple[Any, ...]:
    """What tests replace to change the time, apart from freezegun."""
    functions = (time.time, time.monotonic, time.perf_counter)
    return (*functions, datetime.datetime, datetime.date)

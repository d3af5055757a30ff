"""What the candidate finds around it, changed as the test changed its own."""

from __future__ import annotations

import builtins
import importlib
import io
import os
import random
import sys
from collections.abc import Callable
from typing import Any, ClassVar

from ..wire.stdlib import count_as, hold_dates

__all__ = ["Surroundings"]


class Surroundings:
    """The state of this process at its start, and how to change it; None brings it back."""

    def __init__(self) -> None:
        self._argv, self._stdin, self._input = sys.argv, sys.stdin, builtins.input
        self._folder = os.getcwd()
        self._variables: dict[str, str | None] = {}
        self._freezer: Any = None
        self._frozen: Any = None

    def change(self, kind: str, state: Any) -> None:
        """Make one thing as the driver says."""
        self._CHANGES[kind](self, state)

    def _set_argv(self, arguments: Any) -> None:
        sys.argv = self._argv if arguments is None else arguments

    def _set_stdin(self, content: Any) -> None:
        if content is None:
            sys.stdin = self._stdin
        elif isinstance(content, str):
            sys.stdin = io.StringIO(content, newline="")
        else:
            sys.stdin = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")

    def _set_input(self, function: Any) -> None:
        builtins.input = self._input if function is None else function

    def _set_environ(self, changed: Any) -> None:
        wanted = changed or {}
        for name in [name for name in self._variables if name not in wanted]:
            _set_variable(name, self._variables.pop(name))
        for name, value in wanted.items():
            self._variables.setdefault(name, os.environ.get(name))
            _set_variable(name, value)

    def _set_folder(self, folder: Any) -> None:
        os.chdir(self._folder if folder is None else folder)

    def _set_random(self, state: Any) -> None:
        random.setstate(state)

    def _set_clock(self, state: Any) -> None:
        """As freezegun does it, which knows all the places where a program asks for the time."""
        freezing = importlib.import_module("freezegun")
        if state is None:
            self._stop_clock()
            return
        fields, offset, is_ticking, _ = state
        moment = freezing.api.real_datetime(*fields)
        if self._frozen == (offset, is_ticking) and not is_ticking:
            self._freezer.time_to_freeze = moment
            return
        self._stop_clock()
        hold_dates()
        count_as(freezing.api.FakeDate, "date")
        count_as(freezing.api.FakeDatetime, "datetime")
        hours = freezing.api.datetime.timedelta(seconds=offset)
        frozen = freezing.freeze_time(moment, tz_offset=hours, tick=is_ticking, real_asyncio=True)
        self._freezer, self._stop = frozen.start(), frozen.stop
        self._frozen = offset, is_ticking

    def _stop_clock(self) -> None:
        if self._frozen is not None:
            self._frozen = None
            self._stop()

    _CHANGES: ClassVar[dict[str, Callable[[Surroundings, Any], None]]] = {
        "argv": _set_argv,
        "clock": _set_clock,
        "cwd": _set_folder,
        "environ": _set_environ,
        "input": _set_input,
        "random": _set_random,
        "stdin": _set_stdin,
    }


def _set_variable(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value

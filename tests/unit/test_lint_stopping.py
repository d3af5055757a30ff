"""Jails that can be ended from outside: none is left, and none is made afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from assay.api import Cancelled
from assay.linting.stopping import StoppableSandbox


class Session:
    """Notes that it was closed."""

    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


class Sandbox:
    """Makes such sessions; `meanwhile` happens while one is made."""

    def __init__(self) -> None:
        self.made: list[Session] = []
        self.meanwhile: Any = lambda: None

    def open(self, spec: Any) -> Any:
        self.made.append(Session())
        self.meanwhile()
        return self.made[-1]


def test_all_jails_are_ended_and_no_more_are_made() -> None:
    inner: Any = Sandbox()
    sandbox = StoppableSandbox(inner)
    opened: Any = [sandbox.open(None) for _ in range(2)]  # type: ignore[arg-type]
    assert [session.closed for session in opened] == [0, 0]
    sandbox.stop()
    assert [session.closed for session in opened] == [1, 1]
    with pytest.raises(Cancelled):
        sandbox.open(None)  # type: ignore[arg-type]
    assert len(inner.made) == 2


def test_a_jail_that_was_being_made_is_ended_too() -> None:
    inner: Any = Sandbox()
    sandbox = StoppableSandbox(inner)
    inner.meanwhile = sandbox.stop
    sandbox.open(None)  # type: ignore[arg-type]
    assert inner.made[0].closed == 1

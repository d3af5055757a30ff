"""Options of mode `isolated`, which every runner of Python test files has."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from assay.api import Network, Task
from assay_graders.isolated import IsolatedRun, TestRunner
from assay_graders.isolation.features import DEFAULT_LEVEL, HIGHEST_LEVEL
from assay_graders.isolation.keys import parse_key
from assay_graders.isolation.protocol import FORWARDS

__all__ = ["IsolationOptions", "isolated_run", "isolation_problems"]

_LEVELS = range(DEFAULT_LEVEL, HIGHEST_LEVEL + 1)
_PLAIN: dict[str, Any] = {
    "nan": False,
    "call_seconds": 0.0,
    "test_seconds": 0.0,
    "forward": (),
    "max_level": DEFAULT_LEVEL,
    "adapters": {},
}
"""Options of this mode alone, as they are in any other."""


class IsolationOptions(Protocol):
    """The options of a grader that runs Python test files."""

    @property
    def tests(self) -> tuple[str, ...]: ...
    @property
    def expect(self) -> tuple[str, ...]: ...
    @property
    def hidden(self) -> bool: ...
    @property
    def roots(self) -> tuple[str, ...]: ...
    @property
    def mode(self) -> str: ...
    @property
    def nan(self) -> bool: ...
    @property
    def call_seconds(self) -> float: ...
    @property
    def test_seconds(self) -> float: ...
    @property
    def forward(self) -> tuple[str, ...]: ...
    @property
    def max_level(self) -> int: ...
    @property
    def adapters(self) -> Mapping[str, str]: ...


def isolated_run(options: IsolationOptions, runner: TestRunner) -> IsolatedRun:
    """What a grader with these options runs."""
    return IsolatedRun(
        runner=runner,
        tests=options.tests,
        expect=options.expect,
        hidden=options.hidden,
        roots=options.roots,
        nan=options.nan,
        call_seconds=options.call_seconds,
        test_seconds=options.test_seconds,
        forward=options.forward,
        max_level=options.max_level,
        adapters=options.adapters,
    )


def isolation_problems(options: IsolationOptions, task: Task) -> Iterator[str]:
    """What is wrong with the options of mode `isolated`, as sentences."""
    for name, seconds in (
        ("call_seconds", options.call_seconds),
        ("test_seconds", options.test_seconds),
    ):
        if not 0 <= seconds < math.inf:
            yield f"{name} must be 0 or a number of seconds."
    if options.mode != "isolated":
        if any(getattr(options, name) != plain for name, plain in _PLAIN.items()):
            yield f"{', '.join(_PLAIN)} belong to mode isolated."
        return
    if options.max_level not in _LEVELS:
        yield f"max_level must be one of {', '.join(map(str, _LEVELS))}."
    yield from _adapter_problems(options.adapters)
    yield from _forward_problems(options.forward, task)
    if not options.roots:
        yield "roots is empty: isolated mode must know which code is the candidate's."
    if task.network is not Network.NONE:
        yield "isolated mode has no network, but the task asks for one."


def _adapter_problems(adapters: Mapping[str, str]) -> Iterator[str]:
    for index, (place, key) in enumerate(adapters.items()):
        if "." not in place or not all(map(str.isidentifier, place.split("."))):
            yield f"adapters: name {index} is no dotted name of a class."
        try:
            parse_key(key)
        except ValueError as error:
            yield f"adapters: key {index} is not usable: {error}."


def _forward_problems(forward: tuple[str, ...], task: Task) -> Iterator[str]:
    known = sorted(set(FORWARDS.values()))
    for index, name in enumerate(forward):
        if name not in known:
            yield f"forward[{index}] is none of {', '.join(known)}."
        elif name in forward[:index]:
            yield f"forward[{index}] is there twice."
    if "clock" in forward and not any(
        re.match(r"freezegun\b", str(wanted), re.IGNORECASE)
        for wanted in task.runtime.get("requirements", ())
    ):
        yield "forward names clock, but the runtime's requirements lack freezegun."

"""Options of mode `isolated`, which every runner of Python test files has."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

from assay.api import Network, Task
from assay_graders.isolated import IsolatedRun, TestRunner

__all__ = ["IsolationOptions", "isolated_run", "isolation_problems"]


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
        if options.nan or options.call_seconds or options.test_seconds:
            yield "nan, call_seconds and test_seconds belong to mode isolated."
        return
    if not options.roots:
        yield "roots is empty: isolated mode must know which code is the candidate's."
    if task.network is not Network.NONE:
        yield "isolated mode has no network, but the task asks for one."

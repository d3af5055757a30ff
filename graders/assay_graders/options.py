"""The options that graders of test files have in common, and what may be wrong with them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from attrs import evolve, field, frozen

from assay.api import GradeContext, Grader, Network, Task, Trust
from assay_graders.isolated import IsolatedRun, TestRunner
from assay_graders.isolation.features import DEFAULT_LEVEL, HIGHEST_LEVEL
from assay_graders.isolation.keys import parse_key
from assay_graders.isolation.protocol import FORWARDS
from assay_graders.layout import fixture_paths, import_roots

__all__ = [
    "FileOptions",
    "PythonOptions",
    "isolated_run",
    "isolation_problems",
    "modes_of",
    "rooted",
    "split_problems",
]

_LEVELS = range(DEFAULT_LEVEL, HIGHEST_LEVEL + 1)


@frozen
class FileOptions:
    """`tests` are files below the graded tree, or below the hidden files with `hidden`.

    `expect` are ids of the runner's; `roots` are folders of the graded tree, `.` for itself, that
    hold the code under test (by default the task's). The last three are for mode `isolated`:
    whether NaN may pass, and seconds for one call and for one test (0: no limit of their own).
    """

    tests: tuple[str, ...]
    expect: tuple[str, ...]
    hidden: bool = False
    roots: tuple[str, ...] = ()
    mode: str = "unguarded"
    nan: bool = False
    call_seconds: float = 0.0
    test_seconds: float = 0.0


@frozen
class PythonOptions(FileOptions):
    """Beside the options of all test files, for mode `isolated`: what of the driver's process is
    forwarded, the highest level of a test, and keys by which classes are compared.
    """

    forward: tuple[str, ...] = ()
    max_level: int = DEFAULT_LEVEL
    adapters: Mapping[str, str] = field(factory=dict)


_Options = TypeVar("_Options", bound=FileOptions)


def rooted(options: _Options, ctx: GradeContext) -> _Options:
    """The options with the folders of the code under test filled in."""
    paths = fixture_paths(ctx.tree, ctx.change_set)
    return evolve(options, roots=import_roots(options.roots, ctx.task, paths))


def _same_in_mode(options: Any, mode: str) -> Any:
    """The options that run the same tests in another mode; what is for one mode only is dropped."""
    if options.mode == mode:
        return options
    common = ("tests", "expect", "hidden", "roots")
    return type(options)(mode=mode, **{name: getattr(options, name) for name in common})


def modes_of(grader: Grader, options: Any, task: Task, modes: Iterable[str]) -> dict[Trust, Any]:
    """By trust, the options that run the same tests in each of the modes that the task allows."""
    made = {Trust(mode): _same_in_mode(options, mode) for mode in modes}
    return {trust: other for trust, other in made.items() if not grader.check(other, task)}


def isolated_run(options: PythonOptions, runner: TestRunner) -> IsolatedRun:
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


def split_problems(options: FileOptions, task: Task) -> Iterator[str]:
    """What is wrong with the options about the candidate's side, as sentences."""
    for name, seconds in (
        ("call_seconds", options.call_seconds),
        ("test_seconds", options.test_seconds),
    ):
        if not 0 <= seconds < math.inf:
            yield f"{name} must be 0 or a number of seconds."
    if options.mode != "isolated":
        if options.nan or options.call_seconds or options.test_seconds:
            yield "nan, call_seconds and test_seconds belong to mode isolated."
    elif task.network is not Network.NONE:
        yield "isolated mode has no network, but the task asks for one."


def isolation_problems(options: PythonOptions, task: Task) -> Iterator[str]:
    """What is wrong with the options about a Python candidate's side, as sentences."""
    yield from split_problems(options, task)
    if options.mode == "isolated":
        yield from _forward_problems(options.forward, task)
        yield from _adapter_problems(options.adapters)
        if options.max_level not in _LEVELS:
            yield f"max_level must be one of {', '.join(map(str, _LEVELS))}."
    elif options.forward or options.adapters or options.max_level != DEFAULT_LEVEL:
        yield "forward, max_level and adapters belong to mode isolated."


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

"""TAP 13 and 14, and what `node --test` makes of it.

A test point is `ok` or `not ok` with a number or a description, at its level of indentation. A
file without its plan, or with another number of points than its plan says, is refused: then
nobody knows what is missing. A sub-test that failed is a failure of the point it belongs to.
"""

from __future__ import annotations

import re

from attrs import define, field

from assay.api import TestOutcome
from assay_graders.results.model import (
    MAX_RESULT_ID_BYTES,
    MAX_RESULTS,
    Collected,
    ParsedResults,
    ResultsRefused,
    worst,
)
from assay_graders.results.text import plain_lines

__all__ = ["parse_node_tap", "parse_tap"]

_INDENT = 4
_MAX_LEVELS = 64
_POINT = re.compile(r"(not )?ok(?= |$)(?: +([0-9]+)(?= |$))?(.*)")
_PLAN = re.compile(r"1\.\.([0-9]{1,9}) *(?:#.*)?")
_DIRECTIVE = re.compile(r"(?:^|(?<= ))# *(skip|todo)", re.IGNORECASE)
_DURATION = re.compile(
    r"\([0-9]{1,9}(?:\.[0-9]{1,9})? ?(?:ms|s|us)\)$|(?<= )# time=[0-9.]{1,20}m?s$"
)
_FAILED = frozenset({TestOutcome.FAILED, TestOutcome.ERROR})


@define
class _Point:
    name: str
    outcome: TestOutcome
    children: list[_Point] = field(factory=list)


@define
class _Level:
    """The points of one level so far, and the plan of the level."""

    plan: int | None = None
    points: list[_Point] = field(factory=list)
    closed: bool = False
    """The plan came after points: nothing may follow."""


def parse_tap(data: bytes) -> ParsedResults:
    """Read TAP; the points of the outermost level are the tests. Raises ResultsRefused."""
    collected = Collected()
    for point in _Reader(collected).read(data):
        outcome = point.outcome
        if outcome is TestOutcome.PASSED and _fails(point.children):
            collected.warn("a test is ok although a sub-test of it failed; it counts as failed")
            outcome = TestOutcome.FAILED
        collected.add(point.name, outcome)
    return collected.results()


def parse_node_tap(data: bytes) -> ParsedResults:
    """Read TAP of `node --test`; every test has the id of its path, joined by ` > `.

    A suite counts only when it did not pass although its tests did. Raises ResultsRefused.
    """
    collected = Collected()
    stack = [(point, point.name) for point in reversed(_Reader(collected).read(data))]
    while stack:
        point, path = stack.pop()
        _require_length(path)
        worst_child = TestOutcome.PASSED
        for child in point.children:
            worst_child = worst(worst_child, child.outcome)
        if not point.children or (
            point.outcome is not TestOutcome.PASSED and worst_child not in _FAILED
        ):
            collected.add(path, point.outcome)
        stack += [(child, f"{path} > {child.name}") for child in reversed(point.children)]
    return collected.results()


def _fails(points: list[_Point]) -> bool:
    left = list(points)
    while left:
        point = left.pop()
        if point.outcome in _FAILED:
            return True
        left += point.children
    return False


class _Reader:
    """Keeps one level for each depth of indentation; a point takes the deeper one as its own."""

    def __init__(self, collected: Collected) -> None:
        self._collected = collected
        self._levels = [_Level()]
        self._points = 0

    def read(self, data: bytes) -> list[_Point]:
        block: int | None = None
        for line in plain_lines(data, self._collected):
            text = line.lstrip(" ")
            indent = len(line) - len(text)
            if block is not None:
                if text and indent < block:
                    raise ResultsRefused("a diagnostic block is not closed")
                block = None if indent == block and text.rstrip() == "..." else block
            elif text.rstrip() == "---" and indent % _INDENT == 2:
                block = indent
            elif text and indent % _INDENT == 0:
                self._line(text.rstrip(" "), indent // _INDENT)
        if block is not None:
            raise ResultsRefused("a diagnostic block is not closed")
        return self._finished()

    def _line(self, text: str, depth: int) -> None:
        if depth > _MAX_LEVELS:
            return
        if depth == 0 and text.startswith("Bail out!"):
            raise ResultsRefused("the run bailed out")
        plan, point = _PLAN.fullmatch(text), _POINT.fullmatch(text)
        if plan is not None:
            self._plan(int(plan[1]), self._level(depth))
        elif point is not None:
            self._point(point, depth)

    def _level(self, depth: int) -> _Level:
        while len(self._levels) <= depth:
            self._levels.append(_Level())
        return self._levels[depth]

    def _plan(self, planned: int, level: _Level) -> None:
        if level.plan is not None:
            raise ResultsRefused("there is more than one plan")
        level.plan, level.closed = planned, bool(level.points)

    def _point(self, match: re.Match[str], depth: int) -> None:
        failed, number, rest = match[1], match[2], match[3]
        description, directive = _split(rest)
        if not number and not description:
            self._collected.warn("an ok without a number or a description is no test")
            return
        level = self._level(depth)
        if level.closed:
            raise ResultsRefused("a test follows the plan that ended its level")
        if number and number.lstrip("0") != str(len(level.points) + 1):
            raise ResultsRefused("the numbers of the tests are not in order")
        self._points += 1
        if self._points > MAX_RESULTS:
            raise ResultsRefused(f"more than {MAX_RESULTS} tests are reported")
        outcome = TestOutcome.FAILED if failed else TestOutcome.PASSED
        if directive == "todo":
            outcome = TestOutcome.XFAILED
        elif directive == "skip" and not failed:
            outcome = TestOutcome.SKIPPED
        name = description or number.lstrip("0")
        _require_length(name)
        level.points.append(_Point(name, outcome, self._children(depth)))

    def _children(self, depth: int) -> list[_Point]:
        children: list[_Point] = []
        for level in reversed(self._levels[depth + 1 :]):
            if level.points and level.plan is not None:
                _require_plan(level)
            elif level.points:
                self._collected.warn("sub-tests have no plan")
            for point in level.points[-1:] if children else ():
                point.children += children
                children = []
            children = level.points + children
        del self._levels[depth + 1 :]
        return children

    def _finished(self) -> list[_Point]:
        outermost = self._levels[0]
        if outermost.plan is None:
            raise ResultsRefused("there is no plan, so the report may be cut")
        _require_plan(outermost)
        left = self._children(0)
        if left:
            raise ResultsRefused("sub-tests belong to no test, so the report may be cut")
        return outermost.points


def _require_length(name: str) -> None:
    """A long name is refused before anything is put together with it."""
    if len(name) > MAX_RESULT_ID_BYTES:
        raise ResultsRefused(f"a test's name is longer than {MAX_RESULT_ID_BYTES} bytes")


def _require_plan(level: _Level) -> None:
    if level.plan != len(level.points):
        raise ResultsRefused("the plan names another number of tests than are reported")


def _split(rest: str) -> tuple[str, str]:
    """Description and directive of a point; a # after a backslash is text."""
    text = rest.strip().removeprefix("-").strip(" ")
    match = _DIRECTIVE.search(text)
    if match is None:
        return _named(text), ""
    return _named(text[: match.start()]), match[1].lower()


def _named(text: str) -> str:
    plain = re.sub(r"\\([\\#])", r"\1", text.strip(" "))
    return _DURATION.sub("", plain).strip(" ")

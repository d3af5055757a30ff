"""Runs cases in workers: in an order drawn from the seed, each answer judged when it comes.

A worker is one process in a jail of its own, whose tree holds no tests. It starts fresh for each
case, or for each group of cases, and leaves nothing behind. A breach or a limit ends the whole
run; a worker that dies leaves the cases that it still had to answer missing.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import define, field, frozen

from assay.api import GradeContext, GraderUnfit, Outcome, Profile, RelPath, TestOutcome, TestResult
from assay_graders.calls.cases import Case
from assay_graders.calls.conversation import (
    Answer,
    AnswerKind,
    Breach,
    Conversation,
    Gone,
    worker_command,
    worker_files,
)
from assay_graders.calls.functions import Function
from assay_graders.calls.judging import EXACT, matches, raised, shown
from assay_graders.calls.oracle import Oracle, require_worker
from assay_graders.jailed import LIMITS
from assay_graders.measured import combined
from assay_graders.wire.faults import WireFault
from assay_graders.wire.values import Codec

__all__ = ["Call", "CaseRun", "calls_of", "groups_of", "in_order", "seed_of"]

MAX_KEPT_BYTES = 64 * 1024**2
"""Answers that wait for a property, together; what comes above it fails its case."""


@frozen
class Call:
    """One call of a case; `expected` is the reference's answer to it."""

    case: Case
    args: list[Any] = field(repr=False)
    kwargs: Mapping[str, Any] = field(repr=False)
    expected: Answer | None = field(default=None, repr=False)


def seed_of(ctx: GradeContext) -> str:
    """What inputs and orders are drawn from: the recorded seed, and the digest of hidden files.

    The digest changes nothing for those who have the suite, and keeps inputs from those who
    know no more than the seed, as every jailed process does.
    """
    return f"{ctx.seed}:{'' if ctx.hidden is None else ctx.hidden.ref.digest}"


def calls_of(case: Case, seed: str, oracle: Oracle) -> tuple[Call, ...]:
    """Every call of a case, with what the reference answers; raises GraderUnfit."""
    return tuple(
        Call(case, args, kwargs, _expected(case, args, kwargs, oracle))
        for args, kwargs in _inputs(case, random.Random(f"{seed}:{case.id}"), oracle)
    )


def _inputs(
    case: Case, source: random.Random, oracle: Oracle
) -> Iterator[tuple[list[Any], Mapping[str, Any]]]:
    generator = case.generate
    if generator is None:
        yield case.args, case.kwargs
        return
    for _ in range(generator.count):
        if generator.function is not None:
            yield oracle.inputs(generator.function, source.getrandbits(64)), {}
            continue
        try:
            yield generator.draw(source)
        except TypeError:
            raise GraderUnfit(f"case {case.id}: keys of a dict must be hashable") from None


def _expected(
    case: Case, args: list[Any], kwargs: Mapping[str, Any], oracle: Oracle
) -> Answer | None:
    if case.reference is None:
        return None
    return oracle.reference(case.reference, args, kwargs, after=case.compare_after)


def groups_of(cases: Iterable[Case], seed: str, *, by_group: bool) -> list[list[Case]]:
    """The cases of each worker; the order of groups and of cases in them comes from the seed."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.group, "" if by_group else case.id), []).append(case)
    ordered = list(groups.values())
    source = random.Random(f"{seed}:order")
    source.shuffle(ordered)
    for group in ordered:
        source.shuffle(group)
    return ordered


@define
class CaseRun:
    """Results by case id while workers run."""

    ctx: GradeContext
    codec: Codec
    roots: tuple[str, ...]
    lacks: tuple[RelPath, ...]
    oracle: Oracle
    results: dict[str, TestResult] = field(factory=dict, init=False)
    outcome: Outcome | None = field(default=None, init=False)
    fault: bool = field(default=False, init=False)
    asked: int = field(default=0, init=False)
    _waiting: list[tuple[Call, Answer]] = field(factory=list, init=False)
    _kept: int = field(default=0, init=False)

    def run(self, groups: list[list[tuple[Call, ...]]]) -> None:
        """Ask every call of every group, each group of a worker in a fresh jail."""
        for group in groups:
            self._group(group)
            if self.fault or (self.outcome is not None and self.outcome.status in LIMITS):
                return
        self._settle()

    def _group(self, group: list[tuple[Call, ...]]) -> None:
        command = worker_command(self.ctx, self.roots, nan=self.codec.nan)
        with (
            self.ctx.jail(Profile.WORKER, extra=worker_files(), leave_out=self.lacks) as session,
            Conversation(self.ctx, session, command, self.codec) as worker,
        ):
            try:
                for calls in group:
                    self._case(worker, calls)
            except Gone as gone:
                self._fail(calls[0].case, str(gone))
            except Breach as breach:
                self.fault = True
                self._fail(calls[0].case, f"protocol: {breach}")
            outcome = worker.end()
        if not self.asked and self.outcome is None and outcome.status not in LIMITS:
            require_worker(self.ctx)
        self.outcome = combined(self.outcome, outcome)

    def _case(self, worker: Conversation, calls: tuple[Call, ...]) -> None:
        case = calls[0].case
        after = case.after is not None or case.compare_after
        for call in calls:
            try:
                answer = worker.ask(
                    case.call, call.args, call.kwargs, after=after, awaits=case.awaits
                )
            except WireFault:
                raise GraderUnfit(f"case {case.id}: its arguments can't be sent") from None
            self.asked += 1
            problem = _problem(call, answer)
            if not problem and case.property is not None:
                self._kept += worker.last_bytes
                if self._kept > MAX_KEPT_BYTES:
                    problem = "the answers are too large to be kept"
                else:
                    self._waiting.append((call, answer))
            if problem:
                self._fail(case, f"{_shown_call(call)}\n{problem}")
                return
        self.results.setdefault(case.id, TestResult(case.id, TestOutcome.PASSED))

    def _settle(self) -> None:
        """Ask the properties about the answers that wait, when no worker lives any more."""
        for call, answer in self._waiting:
            case = call.case
            function: Function | None = case.property
            if function is None or self.results[case.id].outcome is not TestOutcome.PASSED:
                continue
            if not self.oracle.holds(function, [answer.value, *call.args], call.kwargs):
                found = f"property {function.name} does not hold for {shown(answer.value)}"
                self._fail(case, f"{_shown_call(call)}\n{found}")
        self._waiting.clear()

    def _fail(self, case: Case, private: str) -> None:
        self.results[case.id] = TestResult(
            case.id, TestOutcome.FAILED, f"failed: {case.id}", private
        )


def _problem(call: Call, answer: Answer) -> str:
    """What is wrong with an answer, nothing if it is as demanded or a property decides."""
    case = call.case
    if answer.kind is AnswerKind.ABSENT:
        return f"{case.call} can't be imported: {answer.text}"
    if answer.kind is AnswerKind.NOT_PLAIN:
        return f"its value can't be compared: {answer.text}"
    if case.raises is not None:
        if raised(case.raises, answer):
            return _after_problem(case.after, answer)
        return f"must raise {case.raises.type}; {_shown_answer(answer)}"
    expected = call.expected
    if expected is not None and expected.kind is AnswerKind.RAISED:
        if answer.kind is AnswerKind.RAISED and answer.classes[:1] == expected.classes[:1]:
            return _after_problem(expected.after, answer)
        return f"must raise {expected.classes[0]}; {_shown_answer(answer)}"
    if answer.kind is AnswerKind.RAISED:
        return _shown_answer(answer)
    if case.property is not None:
        return _after_problem(case.after, answer)
    demanded = case.expect[0] if expected is None else expected.value
    if not matches(demanded, answer.value, case.tolerance or EXACT):
        return f"expected {shown(demanded)}\nreturned {shown(answer.value)}"
    return _after_problem(case.after if expected is None else expected.after, answer)


def _after_problem(demanded: Any, answer: Answer) -> str:
    if demanded is None:
        return ""
    found = answer.after
    if found is not None and matches(demanded[0], found[0]) and matches(demanded[1], found[1]):
        return ""
    return f"arguments after the call: expected {shown(demanded)}\nthey are {shown(found)}"


def _shown_call(call: Call) -> str:
    return f"{call.case.call} with {shown(call.args)} {shown(dict(call.kwargs))}"


def _shown_answer(answer: Answer) -> str:
    if answer.kind is AnswerKind.RAISED:
        return f"raised {answer.classes[0] if answer.classes else 'nothing'}: {answer.text}"
    return f"returned {shown(answer.value)}"


def in_order(cases: Iterable[Case], results: Mapping[str, TestResult]) -> Iterator[TestResult]:
    """One result per case in the order of the file; a case without one is missing."""
    for case in cases:
        yield results.get(case.id, TestResult(case.id, TestOutcome.MISSING, f"missing: {case.id}"))

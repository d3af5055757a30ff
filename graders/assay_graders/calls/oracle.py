"""Trusted functions of the hidden files, called in a jail of their own.

Nothing of the candidate is inside, neither its tree nor its code: only inputs and, for a
property, the plain values that it answered. A reference that fails is the suite's fault; a
property that fails, on a value that the candidate chose, is no pass.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import attrs
from attrs import define, field

from assay.api import Command, GradeContext, GraderUnfit, OutcomeStatus, Profile
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
from assay_graders.jailed import HIDDEN, settled
from assay_graders.lacking import everything
from assay_graders.wire.faults import WireFault
from assay_graders.wire.values import Codec

__all__ = ["Oracle", "require_worker"]

FRESH_SECONDS = 30.0
"""How long a process is asked again: its clock also runs while candidates do."""

_WALL = 60.0


def _patient(ctx: GradeContext, command: Command) -> Command:
    wall = max(_WALL, ctx.limits.wall)
    return attrs.evolve(command, limits=attrs.evolve(ctx.limits, wall=wall))


def require_worker(ctx: GradeContext) -> None:
    """Raise GraderUnfit when the worker's program can't start in this runtime at all."""
    command = worker_command(ctx, (), nan=False)
    probe = attrs.evolve(command, argv=(*command.argv[:-1], b"probe"))
    with ctx.jail(Profile.WORKER, extra=worker_files(), leave_out=everything(ctx.tree)) as session:
        outcome = settled(session.run(_patient(ctx, probe)))
    if outcome.status is not OutcomeStatus.EXITED or outcome.exit_code != 0:
        raise GraderUnfit(f"grader {ctx.spec.id}: its worker does not start in this runtime")


@define
class _Side:
    """One folder of hidden files, with the process that imports from it."""

    conversation: Conversation
    stack: contextlib.ExitStack
    until: float
    dead: bool = False


@define
class Oracle:
    """Processes that are started when the first question comes; a context manager."""

    ctx: GradeContext
    codec: Codec
    _sides: dict[str, _Side] = field(factory=dict, init=False)

    def reference(
        self, function: Function, args: list[Any], kwargs: Mapping[str, Any], *, after: bool
    ) -> Answer:
        """What a reference answers: a value or a built-in exception; raises GraderUnfit."""
        answer = self._ask(function, args, kwargs, after=after)
        if answer is None:
            raise self._unfit(function, "ended without an answer")
        if answer.kind is AnswerKind.ABSENT:
            raise self._unfit(function, "can't be imported")
        if answer.kind is AnswerKind.NOT_PLAIN:
            raise self._unfit(function, "returned a value that can't be compared")
        if answer.kind is AnswerKind.RAISED and ":" in answer.classes[0]:
            raise self._unfit(function, "raised an exception that is not built in")
        return answer

    def inputs(self, function: Function, seed: int) -> list[Any]:
        """The arguments that a generator draws from a seed; raises GraderUnfit."""
        answer = self._ask(function, [seed], {})
        if answer is None or answer.kind is not AnswerKind.RETURNED:
            raise self._unfit(function, "did not return arguments")
        if type(answer.value) not in (list, tuple):
            raise self._unfit(function, "returned no list or tuple of arguments")
        return list(answer.value)

    def holds(self, function: Function, args: list[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether a property returned True for these arguments; raises GraderUnfit."""
        answer = self._ask(function, args, kwargs)
        if answer is not None and answer.kind is AnswerKind.ABSENT:
            raise self._unfit(function, "can't be imported")
        return answer is not None and answer.kind is AnswerKind.RETURNED and answer.value is True

    def _ask(
        self,
        function: Function,
        args: list[Any],
        kwargs: Mapping[str, Any],
        *,
        after: bool = False,
    ) -> Answer | None:
        folder, _, file = function.file.rpartition("/")
        side = self._side(folder)
        if side.dead:
            return None
        target = f"{file.removesuffix('.py')}:{function.name}"
        try:
            return side.conversation.ask(target, args, kwargs, after=after)
        except (Breach, Gone, WireFault):
            side.dead = True
            return None

    def _side(self, folder: str) -> _Side:
        side = self._sides.get(folder)
        if side is not None and not side.dead and time.monotonic() > side.until:
            self._sides.pop(folder).stack.close()
            side = None
        if side is None:
            side = self._sides[folder] = self._open(folder)
        return side

    def _open(self, folder: str) -> _Side:
        root = f"{HIDDEN}/{folder}" if folder else HIDDEN
        command = _patient(self.ctx, worker_command(self.ctx, (root,), nan=self.codec.nan))
        lacks = everything(self.ctx.tree)
        with contextlib.ExitStack() as stack:
            session = stack.enter_context(
                self.ctx.jail(Profile.HIDDEN, hidden=True, extra=worker_files(), leave_out=lacks)
            )
            conversation = Conversation(self.ctx, session, command, self.codec)
            return _Side(conversation, stack.pop_all(), time.monotonic() + FRESH_SECONDS)

    def _unfit(self, function: Function, problem: str) -> GraderUnfit:
        return GraderUnfit(f"grader {self.ctx.spec.id}: {function.file}:{function.name} {problem}")

    def __enter__(self) -> Oracle:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.ExitStack() as stack:
            for side in self._sides.values():
                stack.push(side.stack)
        self._sides.clear()

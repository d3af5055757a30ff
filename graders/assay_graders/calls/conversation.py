"""Questions to a jailed process that calls functions, and its answers as plain values.

A question goes out only after the answer to the one before; it carries a fresh random number
that an answer must repeat. So an answer sent early, twice or for another question is a breach, as
is anything that the strict codec refuses. After a breach nothing more is believed.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from enum import Enum
from types import TracebackType
from typing import Any

from attrs import frozen

from assay.api import (
    ChannelFault,
    Command,
    GradeContext,
    Mount,
    Outcome,
    Session,
)
from assay_graders.bundle import program_bundle
from assay_graders.called.bounds import MAX_ANSWER_BYTES
from assay_graders.jailed import PYTHON_FLAGS, settled, tool
from assay_graders.wire.faults import WireFault
from assay_graders.wire.frames import MAX_FRAME_BYTES
from assay_graders.wire.text import unpack
from assay_graders.wire.values import Codec

__all__ = [
    "Answer",
    "AnswerKind",
    "Breach",
    "Conversation",
    "Gone",
    "worker_command",
    "worker_files",
]

_CHANNEL = "call"
_PROGRAM = "/assay/worker.pyc"
_GRACE = 60.0
_NONCE_BYTES = 16
_SILENT = "the process ended without an answer"
# A pattern is compiled and a zone read from disk where it is decoded: here, outside any limit.
_COSTLY_TAGS = frozenset({"pattern", "zone"})


class Breach(Exception):
    """The process broke the rules of the conversation; the message names the rule."""


class Gone(Exception):
    """The process ended, or was ended by a limit, before it answered."""


class AnswerKind(Enum):
    """What came of a call."""

    RETURNED = "returned"
    RAISED = "raised"
    NOT_PLAIN = "not-plain"
    ABSENT = "absent"


@frozen
class Answer:
    """One answer; `classes` are names of a raised exception's class and of its bases.

    `after` holds the arguments as they were when the call was over, None when not asked for.
    """

    kind: AnswerKind
    value: Any = None
    classes: tuple[str, ...] = ()
    text: str = ""
    after: tuple[list[Any], dict[str, Any]] | None = None


def worker_files() -> tuple[Mount, ...]:
    """The worker's program, as a file of the jail."""
    return (program_bundle("worker", "called"),)


def worker_command(ctx: GradeContext, roots: tuple[str, ...], *, nan: bool) -> Command:
    """Start the worker; it imports from `roots`, absolute folders of the jail."""
    config = json.dumps({"roots": list(roots), "nan": nan})
    argv = (tool(ctx, "python"), *PYTHON_FLAGS, *_bytecode(ctx), _PROGRAM, config)
    return Command(argv=tuple(part.encode("utf-8") for part in argv), cwd="/workspace")


def _bytecode(ctx: GradeContext) -> tuple[str, ...]:
    prefix = ctx.runtime.env.get("PYTHONPYCACHEPREFIX")
    return () if prefix is None else ("-X", f"pycache_prefix={prefix}")


class Conversation:
    """One process and its channel; a context manager that leaves the process ended."""

    def __init__(self, ctx: GradeContext, session: Session, command: Command, codec: Codec) -> None:
        self._codec = codec
        self._deadline = time.monotonic() + ctx.limits.wall + _GRACE
        self._process = session.start(command, channels=(_CHANNEL,))
        self._channel = self._process.channels[_CHANNEL]
        self._outcome: Outcome | None = None
        self.last_bytes = 0
        """Size of the last answer."""

    def ask(
        self,
        target: str,
        args: list[Any],
        kwargs: Mapping[str, Any],
        *,
        after: bool = False,
        awaits: bool = False,
    ) -> Answer:
        """Call a function, and with `awaits` await what it returns; raises Gone or Breach.

        Raises WireFault when the question itself can't be sent: that is the asker's fault.
        """
        nonce = secrets.token_hex(_NONCE_BYTES)
        question = self._codec.dumps([nonce, target, args, dict(kwargs), after, awaits])
        if len(question) > MAX_FRAME_BYTES:
            raise WireFault("a question is larger than a frame")
        try:
            self._channel.send(question)
        except ChannelFault:
            raise Gone(_SILENT) from None
        try:
            frame = self._channel.recv(MAX_ANSWER_BYTES, self._deadline)
        except ChannelFault as fault:
            if self.end().exit_code is None:
                raise Gone(_SILENT) from None
            raise Breach(str(fault)) from None
        if frame is None:
            raise Gone(_SILENT)
        self.last_bytes = len(frame)
        return self._answer(frame, nonce, after)

    def _answer(self, frame: bytes, nonce: str, after: bool) -> Answer:
        try:
            tree = unpack(frame)
            _require_cheap(tree)
            answer = self._codec.decode(tree)
        except WireFault as fault:
            raise Breach(str(fault)) from None
        match answer:
            case [str() as repeated, str() as kind, payload, changed] if repeated == nonce:
                return _structured(kind, payload, _changed(changed, after))
        raise Breach("an answer is none to the question that was asked")

    def end(self) -> Outcome:
        """Close the channel and wait for the process; raises SandboxFailed or Cancelled."""
        if self._outcome is None:
            self._channel.close()
            self._outcome = settled(self._process.wait(self._deadline))
        return self._outcome

    def __enter__(self) -> Conversation:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.end()
        elif self._outcome is None:
            self._process.kill()


def _structured(kind: str, payload: Any, after: tuple[list[Any], dict[str, Any]] | None) -> Answer:
    match kind, payload:
        case AnswerKind.RETURNED.value, value:
            return Answer(AnswerKind.RETURNED, value, after=after)
        case AnswerKind.RAISED.value, [list() as classes, str() as text]:
            if all(type(name) is str for name in classes):
                return Answer(AnswerKind.RAISED, classes=tuple(classes), text=text, after=after)
        case ((AnswerKind.NOT_PLAIN.value | AnswerKind.ABSENT.value), str() as text):
            return Answer(AnswerKind(kind), text=text)
    raise Breach("an answer has another shape than answers have")


def _changed(changed: Any, asked: bool) -> tuple[list[Any], dict[str, Any]] | None:
    match changed:
        case None:
            return None
        case [list() as args, dict() as kwargs] if asked:
            return args, kwargs
    raise Breach("an answer has another shape than answers have")


def _require_cheap(tree: Any) -> None:
    left = [tree]
    while left:
        part = left.pop()
        if type(part) is tuple:
            if part[0] in _COSTLY_TAGS:
                raise WireFault("a value of a type that calls don't exchange")
            left.append(part[1])
        elif type(part) is list:
            left += part

"""The `command` grader: a command in the jail passes iff it exits with 0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import attrs
from attrs import frozen

from assay.api import (
    API_VERSION,
    Command,
    Facts,
    GradeContext,
    GraderNeeds,
    GraderUnfit,
    Outcome,
    OutcomeStatus,
    Task,
    TestOutcome,
    TestResult,
    Trust,
)
from assay_graders.expected import path_problem
from assay_graders.jailed import WORKSPACE, profile_of, settled, tool
from assay_graders.measured import facts

__all__ = ["CommandGrader", "CommandOptions", "argv_problems", "started"]

_UNUSABLE = frozenset({"ENOENT", "EACCES", "ENOTDIR", "ENOEXEC"})
_SHORT_OF = frozenset({"EAGAIN", "EIO", "EMFILE", "ENFILE"})
"""What no program brings about: the host is out of something, or broken."""
_MAX_ARGUMENTS = 1_000
_MAX_ARGUMENT_BYTES = 64 * 1024


@frozen
class CommandOptions:
    """`argv[0]` is a tool of the runtime (`python`, `node`) or a path with a slash.

    `cwd` is a folder of the graded tree; with `hidden`, the hidden files are at /hidden.
    """

    argv: tuple[str, ...]
    cwd: str = ""
    hidden: bool = False


class CommandGrader:
    """One test, named after the grader: passed iff the command exits with 0."""

    api: ClassVar[str] = API_VERSION
    name: ClassVar[str] = "command"
    version: ClassVar[str] = "1"
    Options: ClassVar[type] = CommandOptions
    max_trust: ClassVar[Trust] = Trust.UNGUARDED

    def check(self, options: CommandOptions, task: Task) -> tuple[str, ...]:
        problems = list(argv_problems(options.argv))
        if options.cwd and path_problem(options.cwd):
            problems.append(f"cwd: {path_problem(options.cwd)}.")
        if options.hidden and task.hidden is None:
            problems.append("hidden is true, but the task has no hidden files.")
        return tuple(problems)

    def needs(self, options: CommandOptions, task: Task) -> GraderNeeds:
        tools = () if "/" in options.argv[0] else (options.argv[0],)
        return GraderNeeds(tools=tools, hidden=options.hidden)

    def grade(self, ctx: GradeContext) -> Facts:
        options: CommandOptions = ctx.options
        problems = self.check(options, ctx.task)
        if problems:
            raise GraderUnfit(f"grader {ctx.spec.id}: {problems[0]}")
        first = options.argv[0] if "/" in options.argv[0] else tool(ctx, options.argv[0])
        command = Command(
            argv=tuple(argument.encode("utf-8") for argument in (first, *options.argv[1:])),
            cwd=f"{WORKSPACE}/{options.cwd}" if options.cwd else WORKSPACE,
        )
        with ctx.jail(profile_of(options.hidden), hidden=options.hidden) as session:
            outcome = settled(started(session.run(command), first, options.cwd))
        passed = outcome.status is OutcomeStatus.EXITED and outcome.exit_code == 0
        test = TestResult(
            id=ctx.spec.id,
            outcome=TestOutcome.PASSED if passed else TestOutcome.FAILED,
            message_public="" if passed else f"failed: {ctx.spec.id}",
            message_private="" if passed else outcome.stdout.text() + outcome.stderr.text(),
        )
        return facts(ctx, self, outcome, (test,), layers=("jail",))


def argv_problems(argv: tuple[str, ...]) -> Iterator[str]:
    """What is wrong with an option that names a program and its arguments, as sentences."""
    if not argv or not argv[0]:
        yield "argv is empty."
    if len(argv) > _MAX_ARGUMENTS:
        yield f"argv holds more than {_MAX_ARGUMENTS} arguments."
    for index, argument in enumerate(argv):
        if not _is_argument(argument):
            yield (
                f"argv[{index}] holds a control character or is longer than "
                f"{_MAX_ARGUMENT_BYTES} bytes."
            )


def started(outcome: Outcome, program: str, folder: str) -> Outcome:
    """The outcome; a program or folder of the tree that can't be used counts as exit code 127.

    The graded tree is the candidate's, so what is wrong with it is no fault of the jail, in
    whatever way the kernel refuses it. Raises GraderUnfit for any other program that can't
    be used.
    """
    stage, _, error = outcome.detail.partition(":")
    if outcome.status is not OutcomeStatus.SETUP_FAILED or error in _SHORT_OF:
        return outcome
    if (stage == "exec" and _is_in_tree(program)) or (stage == "cwd" and folder):
        return attrs.evolve(outcome, status=OutcomeStatus.EXITED, exit_code=127, detail="")
    if stage == "exec" and error in _UNUSABLE:
        raise GraderUnfit(f"argv[0] can't be started in this runtime: {error}")
    return outcome


def _is_in_tree(program: str) -> bool:
    return not program.startswith("/") or program.startswith(f"{WORKSPACE}/")


def _is_argument(argument: str) -> bool:
    try:
        encoded = argument.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return len(encoded) <= _MAX_ARGUMENT_BYTES and not any(
        byte < 0x20 or byte == 0x7F for byte in encoded
    )

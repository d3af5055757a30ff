"""The `result-file` grader: a command's own report, in a format that many tools write.

The report is written by a process that ran candidate code, so the facts are unguarded. What is
promised is that a report is read exactly or refused, and that nothing but the expected ids,
each passed once, is a pass.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import ClassVar

from attrs import evolve, frozen

from assay.api import (
    API_VERSION,
    ChannelFault,
    Command,
    Facts,
    GradeContext,
    GraderNeeds,
    GraderUnfit,
    Outcome,
    Session,
    Task,
    TestOutcome,
    TestResult,
    Trust,
)
from assay_graders.command import argv_problems, started
from assay_graders.expected import path_problem
from assay_graders.jailed import (
    LIMITS,
    PYTHON_FLAGS,
    WORKSPACE,
    profile_of,
    program,
    settled,
    tool,
)
from assay_graders.measured import facts
from assay_graders.report import MAX_ID_BYTES, MAX_TESTS
from assay_graders.results import (
    FORMATS,
    MAX_FILE_BYTES,
    ParsedResults,
    ResultsRefused,
    parse_results,
)

__all__ = ["ResultFileGrader", "ResultFileOptions"]

_PROGRAM = "send_file.py"
_CHANNEL = "file"
_PATIENCE = 60.0
_MOST_UNKNOWN = 1_000
"""Results of tests that nobody expected: one is enough to reject, so not all are kept."""
_ABSENT = "there is no report, or it is no regular file, or it is too large"


@frozen
class ResultFileOptions:
    """`argv` is as for `command`; `file` is where it writes its report, below /tmp.

    Without `file` the report is what the command writes to standard output. `expect` are the
    ids that must have passed.
    """

    argv: tuple[str, ...]
    format: str
    expect: tuple[str, ...]
    file: str = ""
    cwd: str = ""
    hidden: bool = False


class ResultFileGrader:
    """Runs a command and compares what its report says with what was expected."""

    api: ClassVar[str] = API_VERSION
    name: ClassVar[str] = "result-file"
    version: ClassVar[str] = "1"
    Options: ClassVar[type] = ResultFileOptions
    max_trust: ClassVar[Trust] = Trust.UNGUARDED

    def check(self, options: ResultFileOptions, task: Task) -> tuple[str, ...]:
        problems = list(argv_problems(options.argv))
        if options.format not in FORMATS:
            problems.append(f"format must be one of {', '.join(FORMATS)}.")
        problems += _expect_problems(options.expect)
        problems += [
            f"{option}: {path_problem(path)}."
            for option, path in (("file", options.file), ("cwd", options.cwd))
            if path and path_problem(path)
        ]
        if options.hidden and task.hidden is None:
            problems.append("hidden is true, but the task has no hidden files.")
        return tuple(problems)

    def needs(self, options: ResultFileOptions, task: Task) -> GraderNeeds:
        tools = {"python"} if options.file else set()
        if "/" not in options.argv[0]:
            tools.add(options.argv[0])
        return GraderNeeds(tools=tuple(sorted(tools)), hidden=options.hidden)

    def grade(self, ctx: GradeContext) -> Facts:
        options: ResultFileOptions = ctx.options
        problems = self.check(options, ctx.task)
        if problems:
            raise GraderUnfit(f"grader {ctx.spec.id}: {problems[0]}")
        first = options.argv[0] if "/" in options.argv[0] else tool(ctx, options.argv[0])
        command = Command(
            argv=tuple(part.encode("utf-8") for part in (first, *options.argv[1:])),
            cwd=f"{WORKSPACE}/{options.cwd}" if options.cwd else WORKSPACE,
        )
        sender = (program(_PROGRAM),) if options.file else ()
        profile = profile_of(options.hidden)
        with ctx.jail(profile, hidden=options.hidden, extra=sender) as session:
            outcome = settled(started(session.run(command), first, options.cwd))
            limited = outcome.status in LIMITS
            data = None if limited else _report(ctx, session, options, outcome)
        parsed, refusal = _read(options, data)
        measured = facts(
            ctx,
            self,
            outcome,
            tuple(_results(options.expect, parsed, refusal)),
            layers=("jail", "expected-ids"),
            measures={"reported": parsed.counted},
        )
        unreadable = ("result-file-unreadable",) if refusal and not limited else ()
        return evolve(measured, codes=unreadable)


def _report(
    ctx: GradeContext, session: Session, options: ResultFileOptions, outcome: Outcome
) -> bytes | None:
    """The report's bytes; whoever wrote it is dead when it is read."""
    if not options.file:
        return outcome.stdout.head + outcome.stdout.tail
    argv = (tool(ctx, "python"), *PYTHON_FLAGS, f"/assay/{_PROGRAM}", f"/tmp/{options.file}")
    command = Command(
        argv=tuple(part.encode("utf-8") for part in (*argv, str(MAX_FILE_BYTES))), cwd="/"
    )
    process = session.start(command, channels=(_CHANNEL,))
    deadline = time.monotonic() + ctx.limits.wall + _PATIENCE
    try:
        data = process.channels[_CHANNEL].recv(MAX_FILE_BYTES, deadline)
    except ChannelFault:
        data = None
    settled(process.wait(deadline))
    return data


def _read(options: ResultFileOptions, data: bytes | None) -> tuple[ParsedResults, str]:
    """What was read, or nothing and the reason."""
    if data is None:
        return ParsedResults(), _ABSENT
    try:
        return parse_results(data, options.format, frozenset(options.expect)), ""
    except ResultsRefused as refused:
        return ParsedResults(), str(refused)


def _results(expect: tuple[str, ...], parsed: ParsedResults, refusal: str) -> Iterator[TestResult]:
    reported = {test.id: test for test in parsed.tests}
    for test_id in expect:
        test = reported.get(test_id)
        if test is None:
            yield _result(test_id, TestOutcome.MISSING, refusal)
        elif test.outcome is TestOutcome.PASSED and test.count > 1:
            yield _result(test_id, TestOutcome.DUPLICATE, test.message)
        else:
            yield _result(test_id, test.outcome, test.message)
    expected = set(expect)
    # A name that nobody expected is text that the candidate's process chose: it stays private.
    unknown = [test for test in parsed.tests if test.id not in expected]
    for number, test in enumerate(unknown[:_MOST_UNKNOWN], 1):
        private = f"{test.id}\n{test.message}"
        yield _result(f"unlisted-{number}", TestOutcome.UNKNOWN, private)


def _result(test_id: str, outcome: TestOutcome, private: str) -> TestResult:
    public = "" if outcome is TestOutcome.PASSED else f"{outcome.value}: {test_id}"
    return TestResult(test_id, outcome, public, private)


def _expect_problems(expect: tuple[str, ...]) -> Iterator[str]:
    if not expect:
        yield "expect is empty: a grader without expected tests can't pass."
    if len(expect) > MAX_TESTS:
        yield f"expect holds more than {MAX_TESTS} ids."
    if len(set(expect)) != len(expect):
        yield "expect names a test more than once."
    for index, test_id in enumerate(expect):
        if not test_id or len(test_id.encode("utf-8", "replace")) > MAX_ID_BYTES:
            yield f"expect[{index}] is not 1 to {MAX_ID_BYTES} bytes of text."

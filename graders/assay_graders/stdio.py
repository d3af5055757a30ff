"""The `stdio` grader: a program is judged by what it writes for what it is given.

The program runs in a jail without hidden files and without tests; what it must write never
enters that jail, and the comparison is made where no candidate code runs.
"""

from __future__ import annotations

import random
from collections.abc import Set
from functools import partial
from typing import ClassVar

from attrs import define, field, frozen

from assay.api import (
    API_VERSION,
    Command,
    Facts,
    GradeContext,
    GraderNeeds,
    GraderUnfit,
    LintFinding,
    LintRule,
    Outcome,
    OutcomeStatus,
    Profile,
    Session,
    Task,
    TaskFiles,
    TestOutcome,
    TestResult,
    Trust,
)
from assay_graders.calls.document import MAX_DATA_BYTES, DataFault
from assay_graders.calls.judging import shown
from assay_graders.calls.oracle import Oracle
from assay_graders.calls.running import seed_of
from assay_graders.chosen import chosen_cases, hidden_names
from assay_graders.command import argv_problems, started
from assay_graders.expected import case_problems, path_problem
from assay_graders.jailed import LIMITS, WORKSPACE, settled, tool
from assay_graders.lacking import TESTS, matching, pattern_problems
from assay_graders.linting.case_files import STREAM_RULES, of_streams, read_hidden, unfit
from assay_graders.measured import combined, facts
from assay_graders.streams.cases import COMPARISONS, ReadHidden, StreamCase, read_stream_cases
from assay_graders.streams.compare import same_output
from assay_graders.wire.values import Codec

__all__ = ["StdioGrader", "StdioOptions"]

_LAYERS = ("jail", "expected-values-outside", "shuffled-order", "no-tests-in-tree")


@frozen
class StdioOptions:
    """`cases` is a hidden JSON file, `ids` those of its cases that are run, all if empty.

    `argv` is the program and its first arguments, as for `command`; a case adds its own.
    `compare` holds for cases that say nothing. `omit` are patterns of files that the program
    does not see.
    """

    cases: str
    argv: tuple[str, ...]
    ids: tuple[str, ...] = ()
    compare: str = "exact"
    cwd: str = ""
    omit: tuple[str, ...] = TESTS


class StdioGrader:
    """One test per case."""

    api: ClassVar[str] = API_VERSION
    name: ClassVar[str] = "stdio"
    version: ClassVar[str] = "1"
    Options: ClassVar[type] = StdioOptions
    max_trust: ClassVar[Trust] = Trust.ISOLATED
    lint_rules: ClassVar[tuple[LintRule, ...]] = STREAM_RULES

    def check(self, options: StdioOptions, task: Task) -> tuple[str, ...]:
        problems = list(case_problems(options.cases, options.ids, task))
        problems += argv_problems(options.argv)
        if options.compare not in COMPARISONS:
            problems.append(f"compare must be {' or '.join(COMPARISONS)}.")
        if options.cwd and path_problem(options.cwd):
            problems.append(f"cwd: {path_problem(options.cwd)}.")
        problems += pattern_problems("omit", options.omit)
        return tuple(problems)

    def needs(self, options: StdioOptions, task: Task) -> GraderNeeds:
        tools = () if "/" in options.argv[0] else (options.argv[0],)
        return GraderNeeds(tools=tools, hidden=True)

    def lint(self, options: StdioOptions, task: Task, files: TaskFiles) -> tuple[LintFinding, ...]:
        """What is wrong with the file of cases."""
        hidden = frozenset(files.paths(hidden=True))
        read = partial(read_hidden, files)
        try:
            cases = _chosen(read(options.cases), options, read, hidden)
        except DataFault as fault:
            return (unfit(options.cases, fault),)
        return tuple(of_streams(options.cases, cases))

    def grade(self, ctx: GradeContext) -> Facts:
        options: StdioOptions = ctx.options
        problems = self.check(options, ctx.task)
        if problems:
            raise GraderUnfit(f"grader {ctx.spec.id}: {problems[0]}")
        cases = _cases(ctx, options)
        ordered = list(cases)
        random.Random(f"{seed_of(ctx)}:order").shuffle(ordered)
        with Oracle(ctx, Codec()) as oracle:
            run = _Run(ctx, options, oracle)
            run.all(ordered)
        results = tuple(
            run.results.get(case.id, _result(case, TestOutcome.MISSING)) for case in cases
        )
        return facts(
            ctx,
            self,
            run.outcome,
            results,
            layers=_LAYERS,
            trust=Trust.ISOLATED,
            measures={"runs": len(run.results), "seed": ctx.seed},
        )


@define
class _Run:
    ctx: GradeContext
    options: StdioOptions
    oracle: Oracle
    results: dict[str, TestResult] = field(factory=dict, init=False)
    outcome: Outcome | None = field(default=None, init=False)

    def all(self, cases: list[StreamCase]) -> None:
        """Run every case, each as a command of its own; a limit ends the run."""
        lacks = matching(self.ctx.tree, self.options.omit)
        for case in cases:
            # A jail of its own: a program may keep files in /tmp, and a case must not find them.
            with self.ctx.jail(Profile.WORKER, leave_out=lacks) as session:
                outcome = self._outcome(session, case)
            self.outcome = combined(self.outcome, outcome)
            if outcome.status in LIMITS:
                return
            problem = self._problem(case, outcome)
            verdict = TestOutcome.FAILED if problem else TestOutcome.PASSED
            self.results[case.id] = _result(case, verdict, problem)

    def _outcome(self, session: Session, case: StreamCase) -> Outcome:
        first, *rest = self.options.argv
        program = first if "/" in first else tool(self.ctx, first)
        cwd = f"{WORKSPACE}/{self.options.cwd}" if self.options.cwd else WORKSPACE
        command = Command(
            argv=tuple(part.encode("utf-8") for part in (program, *rest, *case.argv)),
            cwd=cwd,
            stdin=case.stdin,
        )
        return settled(started(session.run(command), program, self.options.cwd))

    def _problem(self, case: StreamCase, outcome: Outcome) -> str:
        if outcome.status is not OutcomeStatus.EXITED:
            return f"it was ended by signal {outcome.signal}"
        if case.exit_code is not None and outcome.exit_code != case.exit_code:
            return f"exit code {outcome.exit_code}, expected {case.exit_code}"
        found = outcome.stdout.head + outcome.stdout.tail
        checker = case.compare.checker
        if checker is not None:
            held = self.oracle.holds(checker, [case.stdin, case.stdout, found], {})
            return "" if held else f"{checker.name} does not hold for {shown(found)}"
        if case.stdout is None or same_output(case.stdout, found, case.compare):
            return ""
        return f"expected {shown(case.stdout)}\nwritten {shown(found)}"


def _result(case: StreamCase, outcome: TestOutcome, private: str = "") -> TestResult:
    public = "" if outcome is TestOutcome.PASSED else f"{outcome.value}: {case.id}"
    return TestResult(case.id, outcome, public, private)


def _cases(ctx: GradeContext, options: StdioOptions) -> tuple[StreamCase, ...]:
    try:
        data = ctx.hidden_file(options.cases, MAX_DATA_BYTES)
        return _chosen(data, options, ctx.hidden_file, hidden_names(ctx))
    except DataFault as fault:
        raise GraderUnfit(f"grader {ctx.spec.id}: {options.cases}: {fault}") from None


def _chosen(
    data: bytes, options: StdioOptions, read: ReadHidden, hidden: Set[str]
) -> tuple[StreamCase, ...]:
    cases = read_stream_cases(data, read, options.compare)
    return chosen_cases(cases, options.ids, lambda case: (case.compare.checker,), hidden)

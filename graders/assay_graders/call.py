"""The `call` grader: cases as data, called in a worker that is told inputs and nothing else.

Expected values stay in the grader's own process, which runs no candidate code, and so does the
verdict: what the worker answers is decoded to exact plain values and compared here.
"""

from __future__ import annotations

from collections.abc import Set
from typing import ClassVar

from attrs import frozen

from assay.api import (
    API_VERSION,
    Facts,
    GradeContext,
    GraderNeeds,
    GraderUnfit,
    LintFinding,
    LintRule,
    Task,
    TaskFiles,
    Trust,
)
from assay_graders.calls.cases import Case, read_cases
from assay_graders.calls.document import MAX_DATA_BYTES, DataFault
from assay_graders.calls.functions import Function
from assay_graders.calls.oracle import Oracle
from assay_graders.calls.running import CaseRun, calls_of, groups_of, in_order, seed_of
from assay_graders.chosen import chosen_cases, hidden_names
from assay_graders.expected import case_problems, root_problems
from assay_graders.jailed import WORKSPACE
from assay_graders.lacking import TESTS, matching, pattern_problems
from assay_graders.layout import fixture_paths, import_roots
from assay_graders.linting.case_files import CALL_RULES, of_calls, read_hidden, unfit
from assay_graders.measured import facts
from assay_graders.wire.values import Codec

__all__ = ["CallGrader", "CallOptions"]

_LAYERS = (
    "jail",
    "expected-values-outside",
    "strict-values",
    "unguessable-questions",
    "shuffled-order",
    "no-tests-in-tree",
)


@frozen
class CallOptions:
    """`cases` is a hidden JSON file; `ids` names those of its cases that are run, all if empty.

    `roots` are folders of the graded tree to import from, `.` for itself. `workers` says what
    gets a fresh process: each `case`, or each `group` of cases. `omit` are patterns of files
    that the worker does not see.
    """

    cases: str
    roots: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    workers: str = "case"
    omit: tuple[str, ...] = TESTS
    nan: bool = False


class CallGrader:
    """One test per case."""

    api: ClassVar[str] = API_VERSION
    name: ClassVar[str] = "call"
    version: ClassVar[str] = "1"
    Options: ClassVar[type] = CallOptions
    max_trust: ClassVar[Trust] = Trust.ISOLATED
    lint_rules: ClassVar[tuple[LintRule, ...]] = CALL_RULES

    def check(self, options: CallOptions, task: Task) -> tuple[str, ...]:
        problems = list(case_problems(options.cases, options.ids, task))
        problems += root_problems(options.roots)
        if options.workers not in ("case", "group"):
            problems.append("workers must be case or group.")
        problems += pattern_problems("omit", options.omit)
        return tuple(problems)

    def needs(self, options: CallOptions, task: Task) -> GraderNeeds:
        return GraderNeeds(tools=("python",), hidden=True)

    def lint(self, options: CallOptions, task: Task, files: TaskFiles) -> tuple[LintFinding, ...]:
        """What is wrong with the file of cases."""
        hidden = frozenset(files.paths(hidden=True))
        try:
            data = read_hidden(files, options.cases)
            cases = _chosen(data, options, Codec(nan=options.nan), hidden)
        except DataFault as fault:
            return (unfit(options.cases, fault),)
        return tuple(of_calls(options.cases, cases))

    def grade(self, ctx: GradeContext) -> Facts:
        options: CallOptions = ctx.options
        problems = self.check(options, ctx.task)
        if problems:
            raise GraderUnfit(f"grader {ctx.spec.id}: {problems[0]}")
        codec = Codec(nan=options.nan)
        cases = _cases(ctx, options, codec)
        seed = seed_of(ctx)
        groups = groups_of(cases, seed, by_group=options.workers == "group")
        folders = import_roots(options.roots, ctx.task, fixture_paths(ctx.tree, ctx.change_set))
        roots = tuple(WORKSPACE if root == "." else f"{WORKSPACE}/{root}" for root in folders)
        with Oracle(ctx, codec) as oracle:
            plan = [[calls_of(case, seed, oracle) for case in group] for group in groups]
            run = CaseRun(ctx, codec, roots, matching(ctx.tree, options.omit), oracle)
            run.run(plan)
        return facts(
            ctx,
            self,
            run.outcome,
            tuple(in_order(cases, run.results)),
            layers=_LAYERS,
            fault=run.fault,
            trust=Trust.ISOLATED,
            measures={"calls": run.asked, "seed": ctx.seed, "workers": len(groups)},
        )


def _cases(ctx: GradeContext, options: CallOptions, codec: Codec) -> tuple[Case, ...]:
    try:
        data = ctx.hidden_file(options.cases, MAX_DATA_BYTES)
        return _chosen(data, options, codec, hidden_names(ctx))
    except DataFault as fault:
        raise GraderUnfit(f"grader {ctx.spec.id}: {options.cases}: {fault}") from None


def _chosen(data: bytes, options: CallOptions, codec: Codec, hidden: Set[str]) -> tuple[Case, ...]:
    return chosen_cases(read_cases(data, codec), options.ids, _functions, hidden)


def _functions(case: Case) -> tuple[Function | None, ...]:
    generator = None if case.generate is None else case.generate.function
    return case.property, case.reference, generator

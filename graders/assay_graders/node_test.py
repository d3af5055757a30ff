"""The `node-test` grader: exactly the expected tests of `node --test`, each passed once.

Mode `isolated`: the tests run in one jail, the candidate's code in another, and only values
pass between them. In the other modes a reporter in the process that starts the test files
collects the results; each file and the code under test run in a child of it. What a child says
is believed in mode `unguarded`; in mode `tamper-evident` further runs show whether it lied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import frozen

from assay.api import (
    API_VERSION,
    Command,
    Facts,
    GradeContext,
    GraderNeeds,
    GraderUnfit,
    Task,
    Trust,
)
from assay_graders.evident.grading import grade_evident
from assay_graders.evident.language import GuardedTests
from assay_graders.evident.node import NodeLanguage
from assay_graders.expected import (
    compare,
    file_problems,
    id_problems,
    mode_problems,
    root_problems,
)
from assay_graders.isolated_node import IsolatedNodeRun, grade_isolated_node
from assay_graders.jailed import (
    NODE_RESULTS,
    WORKSPACE,
    base_of,
    probe,
    program,
    require_files,
    run_reported,
    tool,
)
from assay_graders.measured import facts
from assay_graders.options import FileOptions, modes_of, rooted, split_problems

__all__ = ["NodeTestGrader", "NodeTestOptions"]

_REPORTER = "node_reporter.mjs"
_OLDEST = 20
_MODES = ("unguarded", "tamper-evident", "isolated")
_LAYERS = ("jail", "expected-ids", "private-report", "no-configuration", "reporter-outside")
_IS_NEW_ENOUGH = f"process.exit(Number(process.versions.node.split('.')[0]) >= {_OLDEST} ? 0 : 1)"


@frozen
class NodeTestOptions(FileOptions):
    """An expected id is the file and the names from the outermost suite to the test, joined by
    ` > `.
    """


class NodeTestGrader:
    """Runs test files with Node's own test runner and compares what ran with `expect`."""

    api: ClassVar[str] = API_VERSION
    name: ClassVar[str] = "node-test"
    version: ClassVar[str] = "1"
    Options: ClassVar[type] = NodeTestOptions
    max_trust: ClassVar[Trust] = Trust.ISOLATED

    def check(self, options: NodeTestOptions, task: Task) -> tuple[str, ...]:
        suffixes = (".mjs", ".cjs", ".js")
        return (
            *file_problems("tests", options.tests, suffixes=suffixes, forbidden="*?[]{}()!>"),
            *id_problems(options.expect, options.tests, _file_of),
            *root_problems(options.roots),
            *mode_problems(options.mode, options.hidden, task, _MODES),
            *split_problems(options, task),
        )

    def needs(self, options: NodeTestOptions, task: Task) -> GraderNeeds:
        return GraderNeeds(tools=("node",), hidden=options.hidden)

    def modes(self, options: NodeTestOptions, task: Task) -> Mapping[Trust, NodeTestOptions]:
        """The same tests in each mode that the task allows."""
        return modes_of(self, options, task, _MODES)

    def grade(self, ctx: GradeContext) -> Facts:
        named: NodeTestOptions = ctx.options
        problems = self.check(named, ctx.task)
        if problems:
            raise GraderUnfit(f"grader {ctx.spec.id}: {problems[0]}")
        options = rooted(named, ctx)
        if options.mode == "isolated":
            return grade_isolated_node(ctx, self, _isolated(options))
        if options.mode == "tamper-evident":
            return grade_evident(ctx, self, _guarded(ctx, options))
        tests = require_files(ctx, options.tests, hidden=options.hidden)
        if not tests:
            return facts(ctx, self, None, compare(options.expect, None, _file_of), layers=_LAYERS)
        command = self._command(ctx, base_of(options.hidden), tests)
        programs = (program(_REPORTER), program(NODE_RESULTS))
        run = run_reported(ctx, command, hidden=options.hidden, programs=programs)
        probe(ctx, run, _version_check(tool(ctx, "node")))
        results = compare(options.expect, run.report, _file_of)
        return facts(ctx, self, run.outcome, results, layers=_LAYERS, fault=run.fault)

    def _command(self, ctx: GradeContext, base: str, tests: tuple[str, ...]) -> Command:
        argv = (
            tool(ctx, "node"),
            "--test",
            "--test-concurrency=1",
            f"--test-reporter=/assay/{_REPORTER}",
            "--test-reporter-destination=stdout",
            *(f"{base}/{test}" for test in tests),
        )
        return Command(
            argv=tuple(part.encode("utf-8") for part in argv),
            cwd=WORKSPACE,
            env={"ASSAY_TEST_BASE": base},
        )


def _guarded(ctx: GradeContext, options: NodeTestOptions) -> GuardedTests:
    return GuardedTests(
        tests=options.tests,
        expect=options.expect,
        hidden=options.hidden,
        roots=options.roots,
        language=NodeLanguage(ctx, options.tests, hidden=options.hidden),
    )


def _isolated(options: NodeTestOptions) -> IsolatedNodeRun:
    return IsolatedNodeRun(
        tests=options.tests,
        expect=options.expect,
        file_of=_file_of,
        hidden=options.hidden,
        roots=options.roots,
        nan=options.nan,
        call_seconds=options.call_seconds,
        test_seconds=options.test_seconds,
    )


def _version_check(node: str) -> Command:
    return Command(argv=(node.encode("utf-8"), b"-e", _IS_NEW_ENOUGH.encode("ascii")), cwd="/")


def _file_of(test: str) -> str:
    return test.partition(" > ")[0]

"""The `node-test` grader: exactly the expected tests of `node --test`, each passed once.

A reporter in the process that starts the test files collects the results; each test file and
the code under test run in a child of it. What a child says is believed, so the facts are
unguarded.
"""

from __future__ import annotations

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
from assay_graders.expected import compare, file_problems, id_problems, mode_problems
from assay_graders.jailed import (
    WORKSPACE,
    base_of,
    probe,
    program,
    require_files,
    run_reported,
    tool,
)
from assay_graders.measured import facts

__all__ = ["NodeTestGrader", "NodeTestOptions"]

_REPORTER = "node_reporter.mjs"
_OLDEST = 20
_LAYERS = ("jail", "expected-ids", "private-report", "no-configuration", "reporter-outside")
_IS_NEW_ENOUGH = f"process.exit(Number(process.versions.node.split('.')[0]) >= {_OLDEST} ? 0 : 1)"


@frozen
class NodeTestOptions:
    """`tests` are files below the graded tree, or below the hidden files with `hidden`.

    An expected id is the file and the names from the outermost suite to the test, joined by
    ` > `.
    """

    tests: tuple[str, ...]
    expect: tuple[str, ...]
    hidden: bool = False
    mode: str = "unguarded"


class NodeTestGrader:
    """Runs test files with Node's own test runner and compares what ran with `expect`."""

    api: ClassVar[str] = API_VERSION
    name: ClassVar[str] = "node-test"
    version: ClassVar[str] = "1"
    Options: ClassVar[type] = NodeTestOptions
    max_trust: ClassVar[Trust] = Trust.UNGUARDED

    def check(self, options: NodeTestOptions, task: Task) -> tuple[str, ...]:
        suffixes = (".mjs", ".cjs", ".js")
        return (
            *file_problems("tests", options.tests, suffixes=suffixes, forbidden="*?[]{}()!>"),
            *id_problems(options.expect, options.tests, _file_of),
            *mode_problems(options.mode, options.hidden, task, ("unguarded",)),
        )

    def needs(self, options: NodeTestOptions, task: Task) -> GraderNeeds:
        return GraderNeeds(tools=("node",), hidden=options.hidden)

    def grade(self, ctx: GradeContext) -> Facts:
        options: NodeTestOptions = ctx.options
        problems = self.check(options, ctx.task)
        if problems:
            raise GraderUnfit(f"grader {ctx.spec.id}: {problems[0]}")
        tests = require_files(ctx, options.tests, hidden=options.hidden)
        if not tests:
            return facts(ctx, self, None, compare(options.expect, None, _file_of), layers=_LAYERS)
        command = self._command(ctx, base_of(options.hidden), tests)
        run = run_reported(ctx, command, hidden=options.hidden, programs=(program(_REPORTER),))
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


def _version_check(node: str) -> Command:
    return Command(argv=(node.encode("utf-8"), b"-e", _IS_NEW_ENOUGH.encode("ascii")), cwd="/")


def _file_of(test: str) -> str:
    return test.partition(" > ")[0]

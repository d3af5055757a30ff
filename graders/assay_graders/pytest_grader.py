"""The `pytest` grader: exactly the expected tests, each passed once.

Mode `isolated`: the tests run in one jail, the candidate's code in another, and only values
pass between them. In the other modes one jailed process runs both, without configuration,
conftest or plugins of the graded tree, and code under test could reach the runner's memory: in
mode `tamper-evident` further runs show whether it did, in mode `unguarded` nothing does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar

from attrs import field, frozen

from assay.api import (
    API_VERSION,
    Command,
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
from assay_graders.evident.grading import grade_evident
from assay_graders.evident.language import GuardedTests
from assay_graders.evident.python import PytestLanguage
from assay_graders.expected import (
    compare,
    file_problems,
    id_problems,
    mode_problems,
    root_problems,
)
from assay_graders.isolated import TestRunner, bytecode, grade_isolated
from assay_graders.isolated_options import isolated_run, isolation_problems, modes_of
from assay_graders.isolation.features import DEFAULT_LEVEL
from assay_graders.jailed import (
    WORKSPACE,
    base_of,
    probe,
    program,
    require_files,
    run_reported,
    tool,
)
from assay_graders.linting.python_tests import lint_python_tests, python_tests
from assay_graders.linting.rules import PYTHON_RULES
from assay_graders.measured import facts

__all__ = ["PytestGrader", "PytestOptions"]

_DRIVER = "pytest_driver.py"
_MODES = ("unguarded", "tamper-evident", "isolated")
_LAYERS = (
    "jail",
    "expected-ids",
    "private-report",
    "no-conftest",
    "no-configuration",
    "no-plugins",
    "roots-last",
)


@frozen
class PytestOptions:
    """`tests` are files below the graded tree, or below the hidden files with `hidden`.

    `expect` are pytest's own ids relative to the same folder; `roots` are folders of the
    graded tree, `.` for itself, from which tests may import. The last ones are for mode
    `isolated`: whether NaN may pass, and seconds for one call and for one test (0: no limit of
    their own).
    """

    tests: tuple[str, ...]
    expect: tuple[str, ...]
    hidden: bool = False
    roots: tuple[str, ...] = ()
    mode: str = "unguarded"
    nan: bool = False
    call_seconds: float = 0.0
    test_seconds: float = 0.0
    forward: tuple[str, ...] = ()
    max_level: int = DEFAULT_LEVEL
    adapters: Mapping[str, str] = field(factory=dict)


class PytestGrader:
    """Runs test files with pytest and compares what ran with what was expected."""

    api: ClassVar[str] = API_VERSION
    name: ClassVar[str] = "pytest"
    version: ClassVar[str] = "1"
    Options: ClassVar[type] = PytestOptions
    max_trust: ClassVar[Trust] = Trust.ISOLATED
    lint_rules: ClassVar[tuple[LintRule, ...]] = PYTHON_RULES

    def check(self, options: PytestOptions, task: Task) -> tuple[str, ...]:
        return (
            *file_problems("tests", options.tests, suffixes=(".py",), forbidden=":["),
            *id_problems(options.expect, options.tests, file_of),
            *root_problems(options.roots),
            *mode_problems(options.mode, options.hidden, task, _MODES),
            *isolation_problems(options, task),
        )

    def needs(self, options: PytestOptions, task: Task) -> GraderNeeds:
        return GraderNeeds(tools=("python",), hidden=options.hidden)

    def modes(self, options: PytestOptions, task: Task) -> Mapping[Trust, PytestOptions]:
        """The same tests in each mode that the task allows."""
        return modes_of(self, options, task, _MODES)

    def lint(self, options: PytestOptions, task: Task, files: TaskFiles) -> tuple[LintFinding, ...]:
        """What is wrong with the test files, by reading them."""
        return lint_python_tests(python_tests(options, _name_of), task, files)

    def grade(self, ctx: GradeContext) -> Facts:
        options: PytestOptions = ctx.options
        problems = self.check(options, ctx.task)
        if problems:
            raise GraderUnfit(f"grader {ctx.spec.id}: {problems[0]}")
        if options.mode == "isolated":
            return grade_isolated(ctx, self, isolated_run(options, _RUNNER))
        if options.mode == "tamper-evident":
            return grade_evident(ctx, self, _guarded(options))
        base = base_of(options.hidden)
        tests = require_files(ctx, options.tests, hidden=options.hidden)
        if not tests:
            return facts(ctx, self, None, compare(options.expect, None, file_of), layers=_LAYERS)
        config = {
            "base": base,
            "tests": [f"{base}/{test}" for test in tests],
            "roots": [
                WORKSPACE if root == "." else f"{WORKSPACE}/{root}" for root in options.roots
            ],
        }
        command = self._command(ctx, json.dumps(config))
        run = run_reported(ctx, command, hidden=options.hidden, programs=(program(_DRIVER),))
        probe(ctx, run, self._command(ctx, "probe"), program(_DRIVER))
        results = compare(options.expect, run.report, file_of)
        return facts(ctx, self, run.outcome, results, layers=_LAYERS, fault=run.fault)

    def _command(self, ctx: GradeContext, argument: str) -> Command:
        argv = (tool(ctx, "python"), "-I", "-B", *bytecode(ctx), f"/assay/{_DRIVER}", argument)
        return Command(argv=tuple(part.encode("utf-8") for part in argv), cwd=WORKSPACE)


def _name_of(test: str) -> tuple[str, str]:
    """File and name of a test; its parameters may hold anything."""
    file, _, name = test.partition("::")
    return file, name.partition("[")[0]


def file_of(test: str) -> str:
    """The test file of a pytest id."""
    return test.partition("::")[0]


_RUNNER = TestRunner("pytest", file_of)


def _guarded(options: PytestOptions) -> GuardedTests:
    return GuardedTests(
        tests=options.tests,
        expect=options.expect,
        hidden=options.hidden,
        roots=options.roots,
        language=PytestLanguage(),
    )

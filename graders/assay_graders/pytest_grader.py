"""The `pytest` grader: exactly the expected tests, each passed once.

Mode `isolated`: the tests run in one jail, the candidate's code in another, and only values
pass between them. In the other modes one jailed process runs both, without configuration,
conftest or plugins of the graded tree, and code under test could reach the runner's memory: in
mode `tamper-evident` further runs show whether it did, in mode `unguarded` nothing does.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from assay_graders.evident.grading import grade_evident
from assay_graders.evident.language import GuardedTests
from assay_graders.evident.python import PytestLanguage
from assay_graders.expected import (
    file_problems,
    id_problems,
    mode_problems,
    root_problems,
)
from assay_graders.isolated import TestRunner, grade_isolated
from assay_graders.jailed import (
    program,
)
from assay_graders.linting.python_tests import lint_python_tests, python_tests
from assay_graders.linting.rules import PYTHON_RULES
from assay_graders.options import PythonOptions, isolated_run, isolation_problems, modes_of, rooted
from assay_graders.unguarded import UnguardedRun, grade_unguarded

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
class PytestOptions(PythonOptions):
    """`expect` are pytest's own ids, relative to the folder of `tests`."""


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
        named: PytestOptions = ctx.options
        problems = self.check(named, ctx.task)
        if problems:
            raise GraderUnfit(f"grader {ctx.spec.id}: {problems[0]}")
        options = rooted(named, ctx)
        if options.mode == "isolated":
            return grade_isolated(ctx, self, isolated_run(options, _RUNNER))
        if options.mode == "tamper-evident":
            return grade_evident(ctx, self, _guarded(options))
        plain = UnguardedRun(program(_DRIVER), f"/assay/{_DRIVER}", _LAYERS, file_of)
        return grade_unguarded(ctx, self, options, plain)


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

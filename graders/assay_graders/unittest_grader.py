"""The `unittest` grader: exactly the expected tests of test cases, each passed once.

Mode `isolated`: the tests run in one jail, the candidate's code in another, and only values
pass between them. In the other modes one jailed process runs both; nothing in the graded tree
configures the run, but code under test could reach the runner's memory: in mode
`tamper-evident` further runs show whether it did, in mode `unguarded` nothing does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
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
from assay_graders.bundle import program_bundle
from assay_graders.evident.grading import grade_evident
from assay_graders.evident.language import GuardedTests
from assay_graders.evident.python import UnittestLanguage
from assay_graders.expected import (
    file_problems,
    id_problems,
    mode_problems,
    root_problems,
)
from assay_graders.isolated import TestRunner, grade_isolated
from assay_graders.linting.python_tests import lint_python_tests, python_tests
from assay_graders.linting.rules import PYTHON_RULES
from assay_graders.options import PythonOptions, isolated_run, isolation_problems, modes_of, rooted
from assay_graders.unguarded import UnguardedRun, grade_unguarded

__all__ = ["UnittestGrader", "UnittestOptions"]

_LAYERS = (
    "jail",
    "expected-ids",
    "private-report",
    "no-discovery",
    "own-load-tests",
    "roots-last",
)
_MODES = ("unguarded", "tamper-evident", "isolated")
_MAY_BE_HIDDEN = frozenset({"test"})
"""A module of Python's that is of no use to anybody, and a common name of a folder of tests."""


@frozen
class UnittestOptions(PythonOptions):
    """`expect` are the dotted ids that `python -m unittest` prints when it is started in the folder
    of `tests` with these files. `test_seconds` holds for each fixture as well.
    """


class UnittestGrader:
    """Runs test files with unittest and compares what ran with what was expected."""

    api: ClassVar[str] = API_VERSION
    name: ClassVar[str] = "unittest"
    version: ClassVar[str] = "1"
    Options: ClassVar[type] = UnittestOptions
    max_trust: ClassVar[Trust] = Trust.ISOLATED
    lint_rules: ClassVar[tuple[LintRule, ...]] = PYTHON_RULES

    def check(self, options: UnittestOptions, task: Task) -> tuple[str, ...]:
        return (
            *file_problems("tests", options.tests, suffixes=(".py",), forbidden=": "),
            *_module_problems(options.tests),
            *id_problems(options.expect, options.tests, _file_of(options.tests)),
            *_subtest_problems(options.expect),
            *root_problems(options.roots),
            *mode_problems(options.mode, options.hidden, task, _MODES),
            *isolation_problems(options, task),
        )

    def needs(self, options: UnittestOptions, task: Task) -> GraderNeeds:
        return GraderNeeds(tools=("python",), hidden=options.hidden)

    def modes(self, options: UnittestOptions, task: Task) -> Mapping[Trust, UnittestOptions]:
        """The same tests in each mode that the task allows."""
        return modes_of(self, options, task, _MODES)

    def lint(
        self, options: UnittestOptions, task: Task, files: TaskFiles
    ) -> tuple[LintFinding, ...]:
        """What is wrong with the test files, by reading them."""
        run = python_tests(options, _name_of(options.tests), cases_only=True)
        return lint_python_tests(run, task, files)

    def grade(self, ctx: GradeContext) -> Facts:
        named: UnittestOptions = ctx.options
        problems = self.check(named, ctx.task)
        if problems:
            raise GraderUnfit(f"grader {ctx.spec.id}: {problems[0]}")
        options = rooted(named, ctx)
        file_of = _file_of(options.tests)
        subtests = sorted({_test_of(test) for test in options.expect if _test_of(test) != test})
        if options.mode == "isolated":
            runner = TestRunner("unittest", file_of, {"subtests": subtests})
            return grade_isolated(ctx, self, isolated_run(options, runner))
        if options.mode == "tamper-evident":
            return grade_evident(ctx, self, _guarded(options, subtests))
        plain = UnguardedRun(
            program_bundle("driver", "unittests"),
            "/assay/driver.pyc",
            _LAYERS,
            file_of,
            {"subtests": subtests},
        )
        return grade_unguarded(ctx, self, options, plain)


def _guarded(options: UnittestOptions, subtests: list[str]) -> GuardedTests:
    return GuardedTests(
        tests=options.tests,
        expect=options.expect,
        hidden=options.hidden,
        roots=options.roots,
        language=UnittestLanguage(_name_of(options.tests), subtests),
    )


def _module(file: str) -> str:
    return file.removesuffix(".py").replace("/", ".")


def _file_of(tests: tuple[str, ...]) -> Callable[[str], str]:
    """Gives the file of an id: the one of the longest module name that the id starts with.

    A file's own path is its own; anything else that belongs to no file is given back.
    """
    names = sorted(((_module(test), test) for test in tests), key=lambda pair: -len(pair[0]))

    def file_of(test: str) -> str:
        return next((file for name, file in names if test.startswith(f"{name}.")), test)

    return file_of


def _name_of(tests: tuple[str, ...]) -> Callable[[str], tuple[str, str]]:
    """Gives the file of an id, and class and test as `Class::test`."""
    file_of = _file_of(tests)

    def name_of(test: str) -> tuple[str, str]:
        file = file_of(test)
        return file, _test_of(test).removeprefix(f"{_module(file)}.").replace(".", "::")

    return name_of


def _test_of(test: str) -> str:
    """The id of the test that a sub-test belongs to, or the id itself."""
    for mark in (" (", " ["):
        test = test.partition(mark)[0]
    return test


def _module_problems(tests: tuple[str, ...]) -> Iterator[str]:
    """What is wrong with the module names that paths of test files spell, as sentences."""
    names = [_module(test) for test in tests]
    for index, (test, name) in enumerate(zip(tests, names, strict=True)):
        if "." in test.removesuffix(".py"):
            yield f"tests[{index}] has a dot in its name, which would be one in its ids."
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names - _MAY_BE_HIDDEN:
            yield f"tests[{index}] would hide Python's own module {top}."
        if any(other.startswith(f"{name}.") for other in names):
            yield f"tests[{index}] has the name of a folder of tests."


def _subtest_problems(expect: tuple[str, ...]) -> Iterator[str]:
    for index, test in enumerate(expect):
        if _test_of(test) not in expect:
            yield f"expect[{index}] is a sub-test, but its test is not in expect."

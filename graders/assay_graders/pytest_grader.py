"""The `pytest` grader: exactly the expected tests, each passed once, in one jailed process.

The candidate's code shares that process with the tests, so the facts are unguarded: no
configuration, conftest or plugin of the graded tree takes part, but code under test could
still reach the runner's memory.
"""

from __future__ import annotations

import json
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
from assay_graders.expected import (
    compare,
    file_problems,
    id_problems,
    mode_problems,
    root_problems,
)
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

__all__ = ["PytestGrader", "PytestOptions"]

_DRIVER = "pytest_driver.py"
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
    graded tree, `.` for itself, from which tests may import.
    """

    tests: tuple[str, ...]
    expect: tuple[str, ...]
    hidden: bool = False
    roots: tuple[str, ...] = ()
    mode: str = "unguarded"


class PytestGrader:
    """Runs test files with pytest and compares what ran with what was expected."""

    api: ClassVar[str] = API_VERSION
    name: ClassVar[str] = "pytest"
    version: ClassVar[str] = "1"
    Options: ClassVar[type] = PytestOptions
    max_trust: ClassVar[Trust] = Trust.UNGUARDED

    def check(self, options: PytestOptions, task: Task) -> tuple[str, ...]:
        return (
            *file_problems("tests", options.tests, suffixes=(".py",), forbidden=":["),
            *id_problems(options.expect, options.tests, _file_of),
            *root_problems(options.roots),
            *mode_problems(options.mode, options.hidden, task),
        )

    def needs(self, options: PytestOptions, task: Task) -> GraderNeeds:
        return GraderNeeds(tools=("python",), hidden=options.hidden)

    def grade(self, ctx: GradeContext) -> Facts:
        options: PytestOptions = ctx.options
        problems = self.check(options, ctx.task)
        if problems:
            raise GraderUnfit(f"grader {ctx.spec.id}: {problems[0]}")
        base = base_of(options.hidden)
        tests = require_files(ctx, options.tests, hidden=options.hidden)
        if not tests:
            return facts(ctx, self, None, compare(options.expect, None, _file_of), layers=_LAYERS)
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
        results = compare(options.expect, run.report, _file_of)
        return facts(ctx, self, run.outcome, results, layers=_LAYERS, fault=run.fault)

    def _command(self, ctx: GradeContext, argument: str) -> Command:
        argv = (tool(ctx, "python"), "-I", "-B", *_bytecode(ctx), f"/assay/{_DRIVER}", argument)
        return Command(argv=tuple(part.encode("utf-8") for part in argv), cwd=WORKSPACE)


def _bytecode(ctx: GradeContext) -> tuple[str, ...]:
    """Where the runtime keeps bytecode, as an option: -I leaves the environment unread."""
    prefix = ctx.runtime.env.get("PYTHONPYCACHEPREFIX")
    return () if prefix is None else ("-X", f"pycache_prefix={prefix}")


def _file_of(test: str) -> str:
    return test.partition("::")[0]

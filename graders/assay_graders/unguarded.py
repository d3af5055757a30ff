"""Grading with tests and candidate in one Python process, which only its start protects."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from assay.api import Command, Facts, GradeContext, Grader, Mount
from assay_graders.expected import compare
from assay_graders.isolated import bytecode
from assay_graders.jailed import (
    PYTHON_FLAGS,
    WORKSPACE,
    base_of,
    probe,
    require_files,
    run_reported,
    tool,
)
from assay_graders.measured import facts
from assay_graders.options import PythonOptions

__all__ = ["UnguardedRun", "grade_unguarded"]


@frozen
class UnguardedRun:
    """The program that runs the files, started as `file`, and what it is told beside the rest.

    `file_of` gives the test file of an id; `layers` are what its start makes sure of.
    """

    program: Mount
    file: str
    layers: tuple[str, ...]
    file_of: Callable[[str], str]
    config: Mapping[str, Any] = field(factory=dict)


def grade_unguarded(
    ctx: GradeContext, grader: Grader, options: PythonOptions, run: UnguardedRun
) -> Facts:
    """Facts of trust `unguarded`; raises GraderUnfit when the program can't start."""
    base = base_of(options.hidden)
    tests = require_files(ctx, options.tests, hidden=options.hidden)
    if not tests:
        results = compare(options.expect, None, run.file_of)
        return facts(ctx, grader, None, results, layers=run.layers)
    config = {
        "base": base,
        "tests": [f"{base}/{test}" for test in tests],
        "roots": [WORKSPACE if root == "." else f"{WORKSPACE}/{root}" for root in options.roots],
        **run.config,
    }
    programs = (run.program,)
    command = _command(ctx, run, json.dumps(config))
    done = run_reported(ctx, command, hidden=options.hidden, programs=programs)
    probe(ctx, done, _command(ctx, run, "probe"), run.program)
    results = compare(options.expect, done.report, run.file_of)
    return facts(ctx, grader, done.outcome, results, layers=run.layers, fault=done.fault)


def _command(ctx: GradeContext, run: UnguardedRun, argument: str) -> Command:
    argv = (tool(ctx, "python"), *PYTHON_FLAGS, *bytecode(ctx), run.file, argument)
    return Command(argv=tuple(part.encode("utf-8") for part in argv), cwd=WORKSPACE)

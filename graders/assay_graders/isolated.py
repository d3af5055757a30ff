"""Grading Python test files in one jail while the candidate is in another."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import attrs
from attrs import frozen

from assay.api import (
    Command,
    Facts,
    GradeContext,
    Grader,
    GraderUnfit,
    Mount,
    OutcomeStatus,
    Profile,
    Session,
)
from assay_graders.bundle import program_bundle
from assay_graders.expected import compare
from assay_graders.exports import star_exports
from assay_graders.isolation.features import DEFAULT_LEVEL
from assay_graders.isolation.protocol import CONFIG, ENVELOPE, WIRE
from assay_graders.jailed import (
    PYTHON_FLAGS,
    WORKSPACE,
    base_of,
    probe_session,
    profile_of,
    require_files,
    settled,
    tool,
)
from assay_graders.layout import SplitTree, split_tree
from assay_graders.processor import claimed_processor
from assay_graders.two_jails import (
    MAX_TRIPS,
    Measured,
    converse,
    isolated_facts,
    judged,
)
from assay_graders.wire.frames import MAX_FRAME_BYTES

__all__ = [
    "ISOLATED_LAYERS",
    "IsolatedRun",
    "TestRunner",
    "bytecode",
    "grade_isolated",
]

ISOLATED_LAYERS = (
    "jail",
    "expected-ids",
    "private-report",
    "no-conftest",
    "no-configuration",
    "no-plugins",
    "driver-without-candidate",
    "worker-without-tests",
    "values-only",
    "no-code-from-data",
)
_START_SECONDS = 60.0


@frozen
class TestRunner:
    """What runs the files: `isolation.NAME_runner`, with what it is told beside the rest.

    `file_of` gives the test file of an id.
    """

    name: str
    file_of: Callable[[str], str]
    config: Mapping[str, Any] = {}


@frozen
class IsolatedRun:
    """What to run: test files below the base, folders of the code under test, and bounds."""

    runner: TestRunner

    tests: tuple[str, ...]
    expect: tuple[str, ...]
    hidden: bool
    roots: tuple[str, ...]
    nan: bool
    call_seconds: float
    test_seconds: float
    forward: tuple[str, ...] = ()
    max_level: int = DEFAULT_LEVEL
    adapters: Mapping[str, str] = {}


def grade_isolated(ctx: GradeContext, grader: Grader, run: IsolatedRun) -> Facts:
    """Facts of trust `isolated`; raises GraderUnfit when a test can't be judged this way."""
    tests = require_files(ctx, run.tests, hidden=run.hidden)
    split = split_tree(
        ctx.tree, ctx.change_set, ctx.task, run.roots, () if run.hidden else run.tests
    )
    if not run.hidden:
        # A test file that the candidate changed is the candidate's code: it is not run.
        tests = tuple(test for test in tests if test not in split.driver_lacks)
    if not tests:
        results = compare(run.expect, None, run.runner.file_of)
        return isolated_facts(ctx, grader, None, results, ISOLATED_LAYERS)
    measured = _measure(ctx, run, split, tests)
    if measured.is_silent:
        with ctx.jail(Profile.VISIBLE, extra=(_driver_program(),)) as session:
            probe_session(ctx, session, _driver(ctx, run.runner, "probe"))
    if measured.is_unanswered:
        with ctx.jail(Profile.WORKER, extra=(program_bundle("worker"),)) as session:
            _probe_worker(ctx, session, run)
    expect, file_of = run.expect, run.runner.file_of
    return judged(ctx, grader, expect, file_of, ISOLATED_LAYERS, measured)


def _measure(
    ctx: GradeContext, run: IsolatedRun, split: SplitTree, tests: tuple[str, ...]
) -> Measured:
    config = {
        "base": base_of(run.hidden),
        "tests": [f"{base_of(run.hidden)}/{test}" for test in tests],
        "modules": split.modules,
        "tops": split.tops,
        "nan": run.nan,
        "test_seconds": run.test_seconds,
        "max_trips": MAX_TRIPS,
        "forward": run.forward,
        "max_level": run.max_level,
        "adapters": dict(run.adapters),
        "exports": star_exports(
            ctx, tests, hidden=run.hidden, roots=run.roots, modules=split.modules
        ),
        "max_frame": MAX_FRAME_BYTES + ENVELOPE,
        **run.runner.config,
    }
    driver_jail = ctx.jail(
        profile_of(run.hidden),
        hidden=run.hidden,
        extra=(_driver_program(),),
        leave_out=split.driver_lacks,
    )
    with driver_jail as trusted:
        worker_jail = ctx.jail(
            Profile.WORKER, extra=(program_bundle("worker"),), leave_out=split.worker_lacks
        )
        with worker_jail as untrusted, claimed_processor() as processor:
            config["processor"] = processor
            worker = _worker(ctx, run, sorted(split.modules), processor)
            drivers = (_driver(ctx, run.runner, json.dumps(config)),)
            seconds = run.call_seconds
            return converse(ctx, trusted, untrusted, drivers, worker, seconds, processor)


def _driver_program() -> Mount:
    return program_bundle("driver", "isolation", "unittests")


def _driver(ctx: GradeContext, runner: TestRunner, argument: str) -> Command:
    program = ("/assay/driver.pyc", runner.name, argument)
    argv = (tool(ctx, "python"), *PYTHON_FLAGS, *bytecode(ctx), *program)
    return Command(argv=tuple(part.encode("utf-8") for part in argv), cwd=WORKSPACE)


def _worker(
    ctx: GradeContext, run: IsolatedRun, modules: list[str], processor: int | None = None
) -> Command:
    roots = [WORKSPACE if root == "." else f"{WORKSPACE}/{root}" for root in run.roots]
    config = {"roots": roots, "modules": modules, "nan": run.nan, "processor": processor}
    argv = (tool(ctx, "python"), *PYTHON_FLAGS, "-S", *bytecode(ctx), "/assay/worker.pyc")
    return Command(
        argv=tuple(part.encode("utf-8") for part in argv),
        cwd=WORKSPACE,
        env={CONFIG: json.dumps(config)},
    )


def _probe_worker(ctx: GradeContext, session: Session, run: IsolatedRun) -> None:
    """Can a worker start here at all, without anything of the candidate's?"""
    process = session.start(_worker(ctx, attrs.evolve(run, roots=()), []), channels=(WIRE,))
    process.channels[WIRE].close()
    outcome = settled(process.wait(time.monotonic() + _START_SECONDS))
    if outcome.status is not OutcomeStatus.EXITED or outcome.exit_code != 0:
        raise GraderUnfit(f"grader {ctx.spec.id}: a worker does not start in this runtime")


def bytecode(ctx: GradeContext) -> tuple[str, ...]:
    """Where the runtime keeps bytecode, as an option, whatever the environment says."""
    prefix = ctx.runtime.env.get("PYTHONPYCACHEPREFIX")
    return () if prefix is None else ("-X", f"pycache_prefix={prefix}")

"""Grading with the tests in one jail and the candidate in another."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import attrs
from attrs import frozen

from assay.api import (
    BlobRef,
    Command,
    Facts,
    GradeContext,
    Grader,
    GraderUnfit,
    Mount,
    Outcome,
    OutcomeStatus,
    Process,
    Profile,
    Session,
    TestResult,
    Trust,
)
from assay_graders.bundle import program_bundle
from assay_graders.expected import compare
from assay_graders.isolated_report import (
    IsolatedReport,
    decode_isolated_report,
    isolation_artifact,
)
from assay_graders.isolation.features import DEFAULT_LEVEL
from assay_graders.isolation.protocol import CONFIG, ENVELOPE, WIRE
from assay_graders.jailed import (
    LIMITS,
    WORKSPACE,
    base_of,
    probe_session,
    profile_of,
    read_report,
    require_files,
    settled,
    tool,
)
from assay_graders.layout import SplitTree, split_tree
from assay_graders.measured import facts
from assay_graders.processor import claimed_processor, running_on
from assay_graders.relay import Relay, RelayLimits
from assay_graders.wire.frames import MAX_FRAME_BYTES

__all__ = [
    "ARTIFACT",
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
ARTIFACT = "isolation.json"
"""How each test used the wire; kept even if a test that must be judged can't be."""
_MAX_TRIPS = 2_000_000
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


@frozen
class _Measured:
    outcome: Outcome
    report: IsolatedReport | None
    fault: bool
    relay: Relay


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
        return _facts(ctx, grader, None, results)
    measured = _measure(ctx, run, split, tests)
    if measured.report is None and not measured.fault and measured.outcome.status not in LIMITS:
        with ctx.jail(Profile.VISIBLE, extra=(_driver_program(),)) as session:
            probe_session(ctx, session, _driver(ctx, run.runner, "probe"))
    if measured.relay.answers == 0 and measured.outcome.status not in LIMITS:
        with ctx.jail(Profile.WORKER, extra=(program_bundle("worker"),)) as session:
            _probe_worker(ctx, session, run)
    return _judged(ctx, grader, run, measured)


def _measure(
    ctx: GradeContext, run: IsolatedRun, split: SplitTree, tests: tuple[str, ...]
) -> _Measured:
    config = {
        "base": base_of(run.hidden),
        "tests": [f"{base_of(run.hidden)}/{test}" for test in tests],
        "modules": split.modules,
        "tops": split.tops,
        "nan": run.nan,
        "test_seconds": run.test_seconds,
        "max_trips": _MAX_TRIPS,
        "forward": run.forward,
        "max_level": run.max_level,
        "adapters": dict(run.adapters),
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
            return _converse(ctx, run, config, trusted, untrusted)


def _converse(
    ctx: GradeContext,
    run: IsolatedRun,
    config: dict[str, Any],
    trusted: Session,
    untrusted: Session,
) -> _Measured:
    processor: int | None = config["processor"]
    command = _worker(ctx, run, sorted(config["modules"]), processor)

    def start(seconds: float) -> Process:
        limits = attrs.evolve(ctx.limits, wall=min(seconds, ctx.limits.wall))
        return untrusted.start(attrs.evolve(command, limits=limits), channels=(WIRE,))

    deadline = time.monotonic() + ctx.limits.wall + _START_SECONDS
    relay = Relay(start, RelayLimits(deadline=deadline, call_seconds=run.call_seconds))
    relay.open()
    try:
        tests = _driver(ctx, run.runner, json.dumps(config))
        driver = trusted.start(tests, channels=(WIRE, "report"))
        with running_on(processor):
            relay.serve(driver.channels[WIRE])
        report, fault = read_report(driver, decode_isolated_report, deadline)
        outcome = settled(driver.wait(deadline))
    finally:
        relay.close()
    reached = [ended for ended in relay.ended if ended.status in LIMITS]
    if reached and outcome.status not in LIMITS:
        outcome = attrs.evolve(
            outcome, status=reached[0].status, enforced_by=reached[0].enforced_by
        )
    return _Measured(outcome, report, fault, relay)


def _judged(ctx: GradeContext, grader: Grader, run: IsolatedRun, measured: _Measured) -> Facts:
    report = measured.report
    artifacts: dict[str, BlobRef] = {}
    if report is not None:
        artifacts[ARTIFACT] = ctx.artifacts.put(ARTIFACT, isolation_artifact(report))
        _require_supported(ctx, run, report)
    results = compare(run.expect, None if report is None else report.run, run.runner.file_of)
    fault = measured.fault or measured.relay.broken or (report is not None and report.faults > 0)
    return attrs.evolve(
        _facts(ctx, grader, measured.outcome, results, fault=fault),
        codes=() if report is None else report.codes,
        artifacts=artifacts,
        measures={
            "trips": measured.relay.trips,
            "traffic": measured.relay.traffic,
            "worker_starts": measured.relay.starts,
            **({} if report is None else report.levels),
        },
    )


def _require_supported(ctx: GradeContext, run: IsolatedRun, report: IsolatedReport) -> None:
    for test in run.expect:
        if test in report.unsupported:
            codes = ", ".join(report.unsupported[test])
            raise GraderUnfit(
                f"grader {ctx.spec.id}: expect[{run.expect.index(test)}] can't be isolated: {codes}"
            )
    if report.unsupported_files:
        codes = ", ".join(report.unsupported_files)
        raise GraderUnfit(f"grader {ctx.spec.id}: a test file can't be isolated: {codes}")


def _facts(
    ctx: GradeContext,
    grader: Grader,
    outcome: Outcome | None,
    results: tuple[TestResult, ...],
    *,
    fault: bool = False,
) -> Facts:
    made = facts(ctx, grader, outcome, results, layers=ISOLATED_LAYERS, fault=fault)
    return attrs.evolve(made, trust=Trust.ISOLATED)


def _driver_program() -> Mount:
    return program_bundle("driver", "isolation", "unittests")


def _driver(ctx: GradeContext, runner: TestRunner, argument: str) -> Command:
    program = ("/assay/driver.pyc", runner.name, argument)
    argv = (tool(ctx, "python"), "-I", "-B", *bytecode(ctx), *program)
    return Command(argv=tuple(part.encode("utf-8") for part in argv), cwd=WORKSPACE)


def _worker(
    ctx: GradeContext, run: IsolatedRun, modules: list[str], processor: int | None = None
) -> Command:
    roots = [WORKSPACE if root == "." else f"{WORKSPACE}/{root}" for root in run.roots]
    config = {"roots": roots, "modules": modules, "nan": run.nan, "processor": processor}
    argv = (tool(ctx, "python"), "-I", "-S", "-B", *bytecode(ctx), "/assay/worker.pyc")
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
    """Where the runtime keeps bytecode, as an option: -I leaves the environment unread."""
    prefix = ctx.runtime.env.get("PYTHONPYCACHEPREFIX")
    return () if prefix is None else ("-X", f"pycache_prefix={prefix}")

"""Grading with Node test files in one jail while the candidate is in another.

Each file has a driver of its own, as the files of `node --test` have, and a fresh worker.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from importlib.resources import files

from attrs import frozen

from assay.api import (
    Command,
    Facts,
    GradeContext,
    Grader,
    GraderUnfit,
    Mount,
    MountKind,
    OutcomeStatus,
    Profile,
    Session,
)
from assay_graders.expected import compare
from assay_graders.isolation.protocol import CONFIG, ENVELOPE, WIRE
from assay_graders.jailed import (
    WORKSPACE,
    base_of,
    probe_session,
    profile_of,
    require_files,
    settled,
    tool,
)
from assay_graders.layout import SplitFiles, split_files
from assay_graders.processor import claimed_processor, kept_on
from assay_graders.two_jails import MAX_TRIPS, Measured, converse, isolated_facts, judged
from assay_graders.wire.frames import MAX_FRAME_BYTES

__all__ = ["IsolatedNodeRun", "grade_isolated_node"]

LAYERS = (
    "jail",
    "expected-ids",
    "private-report",
    "no-configuration",
    "driver-without-candidate",
    "worker-without-tests",
    "values-only",
    "no-code-from-data",
)
_CODE = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".node")
_START_SECONDS = 60.0
_WORKER = (
    *("words", "primordials", "frames", "kinds", "encode", "decode", "builtins", "changes"),
    *("borrowed", "exports", "loop", "objects", "worker"),
)
"""What the worker's jail has of this package: nothing that is only the driver's."""


@frozen
class IsolatedNodeRun:
    """What to run: test files below the base, folders of the code under test, and bounds."""

    tests: tuple[str, ...]
    expect: tuple[str, ...]
    file_of: Callable[[str], str]
    hidden: bool
    roots: tuple[str, ...]
    nan: bool
    call_seconds: float
    test_seconds: float


def grade_isolated_node(ctx: GradeContext, grader: Grader, run: IsolatedNodeRun) -> Facts:
    """Facts of trust `isolated`; raises GraderUnfit when a test can't be judged this way."""
    tests = require_files(ctx, run.tests, hidden=run.hidden)
    own = () if run.hidden else run.tests
    split = split_files(ctx.tree, ctx.change_set, ctx.task, run.roots, own, _CODE)
    if not run.hidden:
        # A test file that the candidate changed is the candidate's code: it is not run.
        tests = tuple(test for test in tests if test not in split.driver_lacks)
    if not tests:
        return isolated_facts(ctx, grader, None, compare(run.expect, None, run.file_of), LAYERS)
    measured = _measure(ctx, run, split, tests)
    if measured.is_silent:
        with ctx.jail(Profile.VISIBLE, extra=_driver_programs()) as session:
            probe_session(ctx, session, _driver(ctx, "probe"))
    if measured.is_unanswered:
        with ctx.jail(Profile.WORKER, extra=_programs(_WORKER)) as session:
            _probe_worker(ctx, session)
    return judged(ctx, grader, run.expect, run.file_of, LAYERS, measured)


def _measure(
    ctx: GradeContext, run: IsolatedNodeRun, split: SplitFiles, tests: tuple[str, ...]
) -> Measured:
    config = {
        "base": base_of(run.hidden),
        "modules": sorted({f"{WORKSPACE}/{path}" for path, _ in split.code}),
        "nan": run.nan,
        "call_seconds": run.call_seconds,
        "test_seconds": run.test_seconds,
        "max_trips": MAX_TRIPS,
        "max_frame": MAX_FRAME_BYTES + ENVELOPE,
    }
    driver_jail = ctx.jail(
        profile_of(run.hidden),
        hidden=run.hidden,
        extra=_driver_programs(),
        leave_out=split.driver_lacks,
    )
    with driver_jail as trusted:
        worker_jail = ctx.jail(
            Profile.WORKER, extra=_programs(_WORKER), leave_out=split.worker_lacks
        )
        with worker_jail as untrusted, claimed_processor() as processor:
            drivers = [
                _driver(ctx, json.dumps({**config, "file": test}), processor) for test in tests
            ]
            worker = _worker(ctx, processor, nan=run.nan)
            seconds = run.call_seconds
            return converse(ctx, trusted, untrusted, drivers, worker, seconds, processor)


def _driver_programs() -> tuple[Mount, ...]:
    names = sorted(
        file.name.removesuffix(".mjs")
        for file in files("assay_graders.node").iterdir()
        if file.name.endswith(".mjs")
    )
    return _programs(tuple(name for name in names if name != "worker"))


def _programs(names: tuple[str, ...]) -> tuple[Mount, ...]:
    """Modules of the package's folder `node`, mounted read-only under /assay."""
    folder = files("assay_graders.node")
    return tuple(
        Mount(
            dst=f"/assay/{name}.mjs",
            kind=MountKind.FILE,
            content=(folder / f"{name}.mjs").read_bytes(),
        )
        for name in names
    )


def _driver(ctx: GradeContext, argument: str, processor: int | None = None) -> Command:
    argv = (
        *kept_on(processor),
        tool(ctx, "node"),
        "--disallow-code-generation-from-strings",
        "--test-reporter=/assay/reporter.mjs",
        "--test-reporter-destination=stdout",
        "/assay/driver.mjs",
        argument,
    )
    return Command(argv=tuple(part.encode("utf-8") for part in argv), cwd=WORKSPACE)


def _worker(ctx: GradeContext, processor: int | None = None, *, nan: bool) -> Command:
    argv = (*kept_on(processor), tool(ctx, "node"), "/assay/worker.mjs")
    return Command(
        argv=tuple(part.encode("utf-8") for part in argv),
        cwd=WORKSPACE,
        env={CONFIG: json.dumps({"nan": nan})},
    )


def _probe_worker(ctx: GradeContext, session: Session) -> None:
    """Can a worker start here at all, without anything of the candidate's?"""
    process = session.start(_worker(ctx, nan=False), channels=(WIRE,))
    process.channels[WIRE].close()
    outcome = settled(process.wait(time.monotonic() + _START_SECONDS))
    if outcome.status is not OutcomeStatus.EXITED or outcome.exit_code != 0:
        raise GraderUnfit(f"grader {ctx.spec.id}: a worker does not start in this runtime")

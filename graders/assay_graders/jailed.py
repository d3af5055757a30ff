"""Runs one command in a jail and collects what it measured.

The verdict of a test run comes over a private channel as exactly one message. An undecodable,
missing or second message is never a pass. A jail that fails is a fault of the host, a limit
that is reached is an outcome of the candidate.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.resources import files
from typing import TypeVar

import attrs
from attrs import frozen

from assay.api import (
    Cancelled,
    ChannelFault,
    Command,
    GradeContext,
    GraderUnfit,
    Mount,
    MountKind,
    Op,
    Outcome,
    OutcomeStatus,
    Process,
    Profile,
    SandboxFailed,
    Session,
)
from assay_graders.report import MAX_FRAME_BYTES, ReportFault, RunReport, decode_report

__all__ = [
    "GRACE",
    "HIDDEN",
    "LIMITS",
    "NODE_RESULTS",
    "PYTHON_FLAGS",
    "WORKSPACE",
    "Reported",
    "base_of",
    "probe",
    "probe_session",
    "profile_of",
    "program",
    "read_report",
    "require_files",
    "run_reported",
    "settled",
    "tool",
]

WORKSPACE = "/workspace"
HIDDEN = "/hidden"

PYTHON_FLAGS = ("-P", "-s", "-B")
"""A Python that takes no code from the current folder or the user's packages.

Not `-I`, which also leaves PYTHONHASHSEED unread: every run would draw another order of sets.
Variables that could bring code in are refused in a task's `env`.
"""

LIMITS = frozenset(
    {
        OutcomeStatus.TIMED_OUT,
        OutcomeStatus.OUTPUT_LIMIT,
        OutcomeStatus.MEMORY_LIMIT,
        OutcomeStatus.DISK_LIMIT,
    }
)

Report = TypeVar("Report")

_CHANNEL = "report"
GRACE = 60.0
"""Seconds beyond the wall limit, for a slow start on a busy host, before the host gives up."""
_PROBE_WALL = 60.0
_AFTERMATH = 10.0
"""Seconds in which the channel of an ended command must reach its end."""


@frozen
class Reported:
    """How a reporting command ended; `fault` when its channel broke the rules."""

    outcome: Outcome
    report: RunReport | None
    fault: bool


def run_reported(
    ctx: GradeContext, command: Command, *, hidden: bool, programs: tuple[Mount, ...]
) -> Reported:
    """Run a command that sends one report; raises SandboxFailed or Cancelled."""
    with ctx.jail(profile_of(hidden), hidden=hidden, extra=programs) as session:
        process = session.start(command, channels=(_CHANNEL,))
        deadline = time.monotonic() + ctx.limits.wall + GRACE
        report, fault = read_report(process, decode_report, deadline)
        outcome = settled(process.wait(deadline))
    return Reported(outcome, report, fault)


def read_report(
    process: Process, decode: Callable[[bytes], Report], deadline: float
) -> tuple[Report | None, bool]:
    """The only report on a process's channel, and whether the channel's rules were broken.

    Returns when the process has ended, or closed the channel.
    """
    try:
        frame = process.channels[_CHANNEL].recv(MAX_FRAME_BYTES, deadline)
        report = None if frame is None else decode(frame)
    except (ChannelFault, ReportFault):
        return None, True
    process.wait(deadline)
    return (None, True) if _more(process) else (report, False)


def _more(process: Process) -> bool:
    try:
        deadline = time.monotonic() + _AFTERMATH
        return process.channels[_CHANNEL].recv(MAX_FRAME_BYTES, deadline) is not None
    except ChannelFault:
        return True


def settled(outcome: Outcome) -> Outcome:
    """The outcome, unless it says nothing of the candidate: then Cancelled or SandboxFailed."""
    if outcome.status is OutcomeStatus.CANCELLED:
        raise Cancelled("grading was cancelled")
    if outcome.status is OutcomeStatus.SETUP_FAILED:
        raise SandboxFailed("command", outcome.detail)
    return outcome


def probe(ctx: GradeContext, run: Reported, command: Command, *programs: Mount) -> None:
    """After a run that ended without any report: can the runner start here at all?

    Raises GraderUnfit if `command`, which runs nothing of the candidate, does not exit with 0.
    """
    if run.report is not None or run.fault or run.outcome.status in LIMITS:
        return
    with ctx.jail(Profile.VISIBLE, extra=programs) as session:
        probe_session(ctx, session, command)


def probe_session(ctx: GradeContext, session: Session, command: Command) -> None:
    """Run a command that runs nothing of the candidate; raises GraderUnfit if it fails."""
    patient = attrs.evolve(command, limits=attrs.evolve(ctx.limits, wall=_PROBE_WALL))
    outcome = settled(session.run(patient))
    if outcome.status is not OutcomeStatus.EXITED or outcome.exit_code != 0:
        raise GraderUnfit(f"grader {ctx.spec.id}: its test runner does not start in this runtime")


def tool(ctx: GradeContext, name: str) -> str:
    """Path of a logical tool inside the jail; raises GraderUnfit with the reason."""
    path = ctx.runtime.tools.get(name)
    if path is None:
        reason = ctx.runtime.unavailable.get(name, "it is not part of it")
        raise GraderUnfit(f"the runtime has no {name}: {reason}")
    return path


NODE_RESULTS = "node_results.mjs"
"""What the reporters of Node's tests have in common."""


def program(name: str) -> Mount:
    """One of this package's programs, mounted read-only under /assay."""
    content = (files("assay_graders.programs") / name).read_bytes()
    return Mount(dst=f"/assay/{name}", kind=MountKind.FILE, content=content)


def profile_of(hidden: bool) -> Profile:
    """The jail's profile, by whether hidden files are mounted."""
    return Profile.HIDDEN if hidden else Profile.VISIBLE


def base_of(hidden: bool) -> str:
    """The folder that test files are relative to."""
    return HIDDEN if hidden else WORKSPACE


def require_files(ctx: GradeContext, tests: tuple[str, ...], *, hidden: bool) -> tuple[str, ...]:
    """Those test files that can be run.

    One that the candidate removed is left out: its tests are then missing. Raises GraderUnfit
    for one that the task never had.
    """
    tree = ctx.hidden if hidden else ctx.tree
    present = {str(entry.path) for entry in tree.entries} if tree is not None else set()
    removed = {str(c.path) for c in ctx.change_set.changes if c.op in (Op.DELETED, Op.KIND)}
    for index, test in enumerate(tests):
        if test not in present and (hidden or test not in removed):
            raise GraderUnfit(f"grader {ctx.spec.id}: tests[{index}] is not in the task")
    return tuple(test for test in tests if test in present)

"""Runs drivers in one jail against a worker in another, and judges what they report.

The language of the two is no matter here: the host knows frames, reports and outcomes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import attrs
from attrs import frozen

from assay.api import (
    BlobRef,
    Command,
    Facts,
    GradeContext,
    Grader,
    GraderUnfit,
    Outcome,
    Process,
    Session,
    TestResult,
    Trust,
)
from assay_graders.expected import compare
from assay_graders.isolated_report import (
    IsolatedReport,
    decode_isolated_report,
    isolation_artifact,
    merged,
)
from assay_graders.isolation.protocol import WIRE
from assay_graders.jailed import LIMITS, read_report, settled
from assay_graders.measured import combined, facts
from assay_graders.processor import running_on
from assay_graders.relay import Relay, RelayLimits

__all__ = ["ARTIFACT", "MAX_TRIPS", "Measured", "converse", "isolated_facts", "judged"]

ARTIFACT = "isolation.json"
"""How each test used the wire; kept even if a test that must be judged can't be."""
MAX_TRIPS = 2_000_000
_START_SECONDS = 60.0
_LEAST_SECONDS = 0.1


@frozen
class Measured:
    """What came of it. `answers` says whether the worker ever gave one."""

    outcome: Outcome
    report: IsolatedReport | None
    fault: bool
    relay: Relay

    @property
    def is_silent(self) -> bool:
        """No driver said anything, and no rule or limit explains it."""
        return self.report is None and not self.fault and self.outcome.status not in LIMITS

    @property
    def is_unanswered(self) -> bool:
        """No worker said anything, and no limit explains it."""
        return self.relay.answers == 0 and self.outcome.status not in LIMITS


def converse(
    ctx: GradeContext,
    trusted: Session,
    untrusted: Session,
    drivers: Iterable[Command],
    worker: Command,
    call_seconds: float,
    processor: int | None,
) -> Measured:
    """Run the drivers one after the other, each with the worker; limits are of all together."""

    def start(seconds: float) -> Process:
        return untrusted.start(_within(ctx, worker, seconds), channels=(WIRE,))

    end = time.monotonic() + ctx.limits.wall
    relay = Relay(start, RelayLimits(deadline=end + _START_SECONDS, call_seconds=call_seconds))
    relay.open()
    outcome: Outcome | None = None
    reports: list[IsolatedReport] = []
    fault = False
    try:
        for command in drivers:
            left = end - time.monotonic() if outcome else ctx.limits.wall
            driver = trusted.start(_within(ctx, command, left), channels=(WIRE, "report"))
            with running_on(processor):
                relay.serve(driver.channels[WIRE])
            report, is_fault = read_report(driver, decode_isolated_report, relay.limits.deadline)
            reports += [] if report is None else [report]
            fault |= is_fault
            outcome = combined(outcome, settled(driver.wait(relay.limits.deadline)))
            if outcome.status in LIMITS:
                break
    finally:
        relay.close()
    assert outcome is not None
    reached = [ended for ended in relay.ended if ended.status in LIMITS]
    if reached and outcome.status not in LIMITS:
        outcome = attrs.evolve(
            outcome, status=reached[0].status, enforced_by=reached[0].enforced_by
        )
    return Measured(outcome, merged(reports), fault, relay)


def _within(ctx: GradeContext, command: Command, seconds: float) -> Command:
    limits = attrs.evolve(ctx.limits, wall=max(min(seconds, ctx.limits.wall), _LEAST_SECONDS))
    return attrs.evolve(command, limits=limits)


def judged(
    ctx: GradeContext,
    grader: Grader,
    expect: tuple[str, ...],
    file_of: Callable[[str], str],
    layers: tuple[str, ...],
    measured: Measured,
) -> Facts:
    """Facts of trust `isolated`; raises GraderUnfit when a test can't be judged this way."""
    report = measured.report
    artifacts: dict[str, BlobRef] = {}
    if report is not None:
        artifacts[ARTIFACT] = ctx.artifacts.put(ARTIFACT, isolation_artifact(report))
        _require_supported(ctx, expect, report)
    results = compare(expect, None if report is None else report.run, file_of)
    fault = measured.fault or measured.relay.broken or (report is not None and report.faults > 0)
    return attrs.evolve(
        isolated_facts(ctx, grader, measured.outcome, results, layers, fault=fault),
        codes=() if report is None else report.codes,
        artifacts=artifacts,
        measures={
            "trips": measured.relay.trips,
            "traffic": measured.relay.traffic,
            "worker_starts": measured.relay.starts,
            **({} if report is None else report.levels),
        },
    )


def _require_supported(ctx: GradeContext, expect: tuple[str, ...], report: IsolatedReport) -> None:
    for test in expect:
        if test in report.unsupported:
            codes = ", ".join(report.unsupported[test])
            raise GraderUnfit(
                f"grader {ctx.spec.id}: expect[{expect.index(test)}] can't be isolated: {codes}"
            )
    if report.unsupported_files:
        codes = ", ".join(report.unsupported_files)
        raise GraderUnfit(f"grader {ctx.spec.id}: a test file can't be isolated: {codes}")


def isolated_facts(
    ctx: GradeContext,
    grader: Grader,
    outcome: Outcome | None,
    results: tuple[TestResult, ...],
    layers: tuple[str, ...],
    *,
    fault: bool = False,
) -> Facts:
    """Facts of trust `isolated`; `outcome` is None when there was nothing to run."""
    made = facts(ctx, grader, outcome, results, layers=layers, fault=fault)
    return attrs.evolve(made, trust=Trust.ISOLATED)

"""Facts of one grader from what a jailed command did."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from assay.api import (
    Digest,
    Facts,
    GradeContext,
    Grader,
    Outcome,
    OutcomeStatus,
    Reason,
    TestOutcome,
    TestResult,
    Trust,
)
from assay_graders.jailed import LIMITS

__all__ = ["combined", "facts"]


def facts(
    ctx: GradeContext,
    grader: Grader,
    outcome: Outcome | None,
    tests: tuple[TestResult, ...],
    *,
    layers: tuple[str, ...],
    fault: bool = False,
    trust: Trust = Trust.UNGUARDED,
    measures: Mapping[str, float] | None = None,
) -> Facts:
    """Everything measured. A limit that was reached leaves the grader not completed.

    A process that reports only passes and then does not exit with 0 contradicts itself, which
    is a protocol fault like one that `fault` tells of; an isolated one reports no passes.

    `outcome` is None when there was nothing left to run. The framework keeps its streams and
    fills in the digest of the options.
    """
    completed = outcome is None or outcome.status not in LIMITS
    fault = fault or (trust < Trust.ISOLATED and _contradicts(outcome, tests))
    return Facts(
        grader=ctx.spec.id,
        plugin=grader.name,
        role=ctx.spec.role,
        version=grader.version,
        options_digest=Digest(""),
        completed=completed,
        trust=trust,
        layers_held=layers,
        tests=tests if completed else (),
        outcome=outcome,
        measures=measures or {},
        reasons=frozenset({Reason.PROTOCOL_FAULT}) if fault and completed else frozenset(),
        required=ctx.spec.required,
    )


def combined(one: Outcome | None, other: Outcome) -> Outcome:
    """Both as one: the first that was not ended well says how, and what was used adds up."""
    if one is None:
        return other
    leading = other if other.status in LIMITS else one
    return attrs.evolve(
        leading,
        cpu=one.cpu + other.cpu,
        wall=one.wall + other.wall,
        peak_memory=max(one.peak_memory, other.peak_memory),
    )


def _contradicts(outcome: Outcome | None, tests: tuple[TestResult, ...]) -> bool:
    if outcome is None or any(test.outcome is not TestOutcome.PASSED for test in tests):
        return False
    return outcome.status is not OutcomeStatus.EXITED or outcome.exit_code != 0

"""Facts of one grader from what a jailed command did."""

from __future__ import annotations

from collections.abc import Mapping

from assay.api import Digest, Facts, GradeContext, Grader, Outcome, Reason, TestResult, Trust
from assay_graders.jailed import LIMITS

__all__ = ["facts"]


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

    `outcome` is None when there was nothing left to run. The framework keeps its streams and
    fills in the digest of the options.
    """
    completed = outcome is None or outcome.status not in LIMITS
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

"""The baseline probe: an untouched fixture must give what its task declares, or nothing counts.

A fixture that has drifted would blame candidates for what they did not do.
"""

from __future__ import annotations

from assay.api import BaselineResult, Fault, Reason, Task, Trust, Verdict, VerdictStatus
from assay.draft import Draft

__all__ = ["BASELINE", "BaselineDrift", "baseline_verdict"]

BASELINE = "@baseline"
"""Candidate id of the probe; no real candidate can have it."""


class BaselineDrift(Fault):
    """The untouched fixture does not give what the task declares."""

    reason = Reason.BASELINE_DRIFT


def baseline_verdict(task: Task, draft: Draft) -> Verdict:
    """Accepted when every grader gave its declared result, else invalid."""
    drifted = sorted(
        facts.grader
        for facts in draft.facts
        if facts.passed is not (task.baseline.get(facts.grader) is BaselineResult.PASS)
    )
    if not draft.invalid and drifted:
        draft.fail(
            Reason.BASELINE_DRIFT,
            BaselineDrift(f"on the untouched fixture {', '.join(drifted)} is not as declared"),
        )
    status = VerdictStatus.INVALID if draft.invalid else VerdictStatus.ACCEPTED
    reasons = tuple(sorted(draft.invalid, key=lambda reason: reason.value))
    trust = min((facts.trust for facts in draft.facts), default=Trust.UNGUARDED)
    return Verdict(status, reasons, trust, "baseline")

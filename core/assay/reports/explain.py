"""Why one trial ended as it did, for its owner's terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from assay.api import Facts, OutcomeStatus, TestOutcome, TrialRecord, VerdictStatus
from assay.ledger import ArtifactFolder
from assay.measure import FAILURES
from assay.reports.tables import safe

__all__ = ["explain_trial"]

_STYLES = {
    VerdictStatus.ACCEPTED: "green",
    VerdictStatus.REJECTED: "red",
    VerdictStatus.INVALID: "yellow",
}
_LIMITS = {
    OutcomeStatus.TIMED_OUT: "stopped at its time limit",
    OutcomeStatus.OUTPUT_LIMIT: "stopped at its output limit",
    OutcomeStatus.MEMORY_LIMIT: "stopped at its memory limit",
    OutcomeStatus.DISK_LIMIT: "stopped at its disk limit",
}
_SHOWN_LINES = 60


def explain_trial(record: TrialRecord, artifacts: ArtifactFolder) -> Iterator[RenderableType]:
    """The verdict, what led to it, and the output of what failed."""
    verdict = record.verdict
    spec = record.spec
    yield Text.assemble(
        (f"{spec.task} / {spec.candidate} / {spec.attempt}: ", "bold"),
        (verdict.status.value, f"bold {_STYLES[verdict.status]}"),
        f" (trust {verdict.trust.value}, decided by {verdict.decided_by})",
    )
    for reason in verdict.reasons:
        yield Text(f"  reason: {reason.value} ({reason.layer.value})")
    if record.error:
        yield Text("  ") + safe(record.error)
    if record.change_set is not None:
        yield Text(f"changes: {len(record.change_set.changes)}", style="bold")
        for change in record.change_set.changes:
            yield Text(f"  {change.op.value:9}") + safe(change.path)
    if record.boundary is not None:
        for violation in record.boundary.violations:
            yield Text(f"  outside the boundary: {violation.reason.value}: ") + safe(violation.path)
    for facts in record.facts:
        yield from _grader(facts, artifacts)
    if record.claims is not None and record.claims.claim is not None:
        claimed = record.claims.claim.visible_exit_code
        says = "nothing" if claimed is None else f"visible exit code {claimed}"
        agrees = {True: "agrees", False: "does not agree", None: "was not compared"}
        yield Text(f"claim: {says}; {agrees[record.claims.agrees]}", style="bold")
    yield Text(f"source before {record.source_before} after {record.source_after}", style="dim")


def _grader(facts: Facts, artifacts: ArtifactFolder) -> Iterator[RenderableType]:
    passed = sum(test.outcome is TestOutcome.PASSED for test in facts.tests)
    yield Text.assemble(
        (f"{facts.grader} ", "bold"),
        f"({facts.plugin} {facts.version}, {facts.trust.value}): ",
        f"{passed}/{len(facts.tests)} passed",
        f", {_LIMITS[facts.outcome.status]}"
        if facts.outcome is not None and facts.outcome.status in _LIMITS
        else "",
    )
    private: dict[str, str] = {}
    if FAILURES in facts.artifacts:
        private = json.loads(artifacts.get(facts.artifacts[FAILURES]))
    for test in facts.tests:
        if test.outcome is TestOutcome.PASSED:
            continue
        yield Text(f"  {test.outcome.value:9}") + safe(test.id)
        yield from _indented(private.get(test.id) or test.message_public)
    if not facts.passed and not private:
        for name in ("stdout", "stderr"):
            if name in facts.artifacts:
                yield Text(f"  {name}:", style="dim")
                yield from _indented(
                    artifacts.get(facts.artifacts[name]).decode("utf-8", "replace")
                )


def _indented(text: str) -> Iterator[RenderableType]:
    lines = text.rstrip("\n").split("\n") if text else []
    for line in lines[:_SHOWN_LINES]:
        yield Text("      ") + safe(line)
    if len(lines) > _SHOWN_LINES:
        yield Text(f"      … {len(lines) - _SHOWN_LINES} more lines", style="dim")

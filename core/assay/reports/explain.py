"""Why one trial ended as it did, for its owner's terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from assay.api import (
    ClaimFacts,
    Facts,
    GraderRole,
    Limits,
    Reason,
    StageStatus,
    TrialRecord,
    VerdictStatus,
    printable,
)
from assay.artifacts import WORKSPACE
from assay.reports.explain_grader import KeptArtifacts, explain_grader
from assay.reports.tables import safe, sentence

__all__ = ["explain_trial"]

_STYLES = {
    VerdictStatus.ACCEPTED: "green",
    VerdictStatus.REJECTED: "red",
    VerdictStatus.INVALID: "yellow",
}
_SHOWN_PATHS = 50


def explain_trial(record: TrialRecord, artifacts: KeptArtifacts) -> Iterator[RenderableType]:
    """The verdict, what led to it, and the output of what failed.

    Raises InvalidInput when an artifact that it needs was changed.
    """
    verdict = record.verdict
    spec = record.spec
    yield Text.assemble(
        (printable(f"{spec.task} / {spec.candidate} / {spec.attempt}: "), "bold"),
        (verdict.status.value, f"bold {_STYLES[verdict.status]}"),
        printable(f" (trust {verdict.trust.value}, decided by {verdict.decided_by})"),
    )
    if verdict.diagnostic:
        yield Text("  diagnostic: ", style="yellow") + safe(verdict.diagnostic)
    for reason in verdict.reasons:
        yield Text(f"  reason: {reason.value} ({reason.layer.value})")
    for stage, status in record.stages.items():
        if status is StageStatus.FAILED:
            yield Text("  failed at: ") + safe(stage)
    if record.error:
        yield Text("  ") + sentence(record.error)
    if spec.limits is not None:
        yield Text(f"limits of the reference run: {_limits(spec.limits)}")
    for leak in record.leaks:
        yield Text("  left behind: temporary folder ") + safe(leak)
    yield from _changes(record)
    for facts in record.facts:
        yield from explain_grader(facts, artifacts)
    yield from _claim(record.claims, record.facts)
    yield from _artifacts(record)
    yield from _source(record)


def _limits(limits: Limits) -> str:
    """The limits that a reference run sets."""
    return (
        f"wall {limits.wall:g} s, cpu {limits.cpu} s, memory {limits.memory >> 20} MiB,"
        f" processes {limits.processes}, output {limits.output >> 10} KiB"
    )


def _changes(record: TrialRecord) -> Iterator[RenderableType]:
    if record.change_set is not None:
        changes = record.change_set.changes
        yield Text(f"changes: {len(changes)}", style="bold")
        for change in changes[:_SHOWN_PATHS]:
            yield Text(f"  {change.op.value:9}") + safe(change.path)
        yield from _rest(len(changes))
    if record.boundary is not None:
        violations = record.boundary.violations
        for violation in violations[:_SHOWN_PATHS]:
            yield Text(f"  outside the boundary: {violation.reason.value}: ") + sentence(
                violation.path
            )
        yield from _rest(len(violations))


def _rest(count: int) -> Iterator[RenderableType]:
    if count > _SHOWN_PATHS:
        yield Text(f"  … {count - _SHOWN_PATHS} more", style="dim")


def _claim(claims: ClaimFacts | None, facts: tuple[Facts, ...]) -> Iterator[RenderableType]:
    """What the candidate claims beside what was measured."""
    if claims is None:
        return
    if claims.claim is None:
        if Reason.EVIDENCE_MALFORMED in claims.reasons:
            told = claims.malformed or "claim.json breaks the claim format"
            yield Text("claim: ", style="bold") + sentence(told)
        elif claims.reasons:
            yield Text("claim: none, and the task requires one", style="bold")
        return
    claimed = claims.claim.visible_exit_code
    visible = [fact.passed for fact in facts if fact.role is GraderRole.VISIBLE]
    measured = f"measured {0 if all(visible) else 1}" if visible else "nothing was measured"
    if claimed is None:
        yield Text(f"claim: no visible exit code; {measured}", style="bold")
        return
    agrees = {True: "they agree", False: "they disagree", None: "not compared"}[claims.agrees]
    yield Text(f"claim: visible exit code {claimed}; {measured}; {agrees}", style="bold")


def _artifacts(record: TrialRecord) -> Iterator[RenderableType]:
    """What was exported, and whatever was left out."""
    told = [note for note in record.artifacts if note.left_out or note.name.startswith(WORKSPACE)]
    if told:
        yield Text("artifacts", style="bold")
    for note in told[:_SHOWN_PATHS]:
        state = "kept" if note.left_out is None else f"left out, {note.left_out.value}"
        yield Text("  ") + safe(note.name) + Text(f": {state}, {note.size} bytes")
    yield from _rest(len(told))


def _source(record: TrialRecord) -> Iterator[RenderableType]:
    before, after = record.source_before, record.source_after
    if before is None:
        yield Text("source fixture: not looked at", style="dim")
    elif before == after:
        yield Text(f"source fixture: unchanged, {printable(before)}", style="dim")
        if record.touched:
            yield Text("  touched while its content stayed: ", style="dim") + sentence(
                ", ".join(record.touched)
            )
    else:
        found = "not known" if after is None else after
        shown = printable(f"{before} before, {found} after")
        yield Text(f"source fixture: {shown}", style="bold")

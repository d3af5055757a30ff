"""Claims: what a candidate says it measured, against what was measured.

A claim is hostile text. It is read strictly or not at all, and it never adds to a
candidate's standing: it can only agree, disagree or be missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.api.errors import ManifestError
from assay.api.reasons import Reason
from assay.api.records import ClaimFacts, Facts
from assay.api.tasks import Candidate, Claim, EvidencePolicy, GraderRole, Task
from assay.strict_json import load

__all__ = ["MAX_CLAIM_BYTES", "check", "load_claim", "measured_exit_code"]

MAX_CLAIM_BYTES = 64 * 1024
"""Largest claim that is read."""

_FILE = "claim.json"
_SCHEMA = 1
_KEYS = frozenset({"schema", "visible", "completed", "summary"})
_VISIBLE_KEYS = frozenset({"exit_code"})
_MAX_EXIT_CODE = 255


def load_claim(data: bytes) -> Claim:
    """Read a claim; a key that is absent says nothing. Raises ManifestError."""
    document = _members(load(data, _FILE, max_bytes=MAX_CLAIM_BYTES), "", _KEYS)
    schema = document.get("schema", _SCHEMA)
    if type(schema) is not int or schema != _SCHEMA:
        raise ManifestError(_FILE, "schema", f"must be {_SCHEMA}")
    visible = _members(document.get("visible", {}), "visible", _VISIBLE_KEYS)
    completed = document.get("completed", False)
    if type(completed) is not bool:
        raise ManifestError(_FILE, "completed", "must be true or false")
    summary = document.get("summary", "")
    if type(summary) is not str:
        raise ManifestError(_FILE, "summary", "must be text")
    return Claim(
        visible_exit_code=_exit_code(visible["exit_code"]) if "exit_code" in visible else None,
        completed=completed if "completed" in document else None,
        summary=summary,
    )


def check(task: Task, candidate: Candidate, facts: Sequence[Facts]) -> ClaimFacts:
    """Compare a candidate's claim with the facts of the visible graders.

    A claimed exit code agrees when it and the measured one are both zero or both not. With
    nothing visible measured, a claim neither agrees nor disagrees.
    """
    is_required = task.evidence is EvidencePolicy.REQUIRED
    missing = frozenset({Reason.REPORTED_EVIDENCE_MISSING} if is_required else ())
    if candidate.claim is None:
        return ClaimFacts(None, None, missing)
    try:
        claim = load_claim(candidate.claim)
    except ManifestError as error:
        reasons = frozenset({Reason.EVIDENCE_MALFORMED})
        return ClaimFacts(None, False, reasons, malformed=str(error))
    if claim.visible_exit_code is None:
        return ClaimFacts(claim, None, missing)
    measured = measured_exit_code(task, facts)
    if measured is None:
        return ClaimFacts(claim, None)
    agrees = (claim.visible_exit_code == 0) == (measured == 0)
    return ClaimFacts(
        claim, agrees, frozenset() if agrees else frozenset({Reason.REPORTED_EVIDENCE_MISMATCH})
    )


def measured_exit_code(task: Task, facts: Sequence[Facts]) -> int | None:
    """0 when every visible grader passed, 1 when one did not, None when none measured."""
    visible = {spec.id for spec in task.graders if spec.role is GraderRole.VISIBLE}
    measured = [fact for fact in facts if fact.grader in visible]
    if not measured:
        return None
    is_complete = {fact.grader for fact in measured} == visible
    return 0 if is_complete and all(fact.passed for fact in measured) else 1


def _members(value: Any, at: str, known: frozenset[str]) -> Mapping[str, Any]:
    if type(value) is not dict:
        raise ManifestError(_FILE, at, "must be an object")
    if not value.keys() <= known:
        raise ManifestError(_FILE, at, "must hold only " + ", ".join(sorted(known)))
    return value


def _exit_code(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _MAX_EXIT_CODE:
        raise ManifestError(
            _FILE, "visible.exit_code", f"must be a whole number from 0 to {_MAX_EXIT_CODE}"
        )
    return value

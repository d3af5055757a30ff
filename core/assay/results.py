"""The canonical report: a pure function of what was planned and measured.

Nothing that differs between two runs of the same inputs enters: no time, place, worker or
order of completion. `results_digest` covers all but the identity of the host.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from assay.api import (
    BoundaryFacts,
    Candidate,
    Digest,
    Facts,
    GraderRole,
    IntegrityError,
    InvalidInput,
    OutcomeStatus,
    TrialRecord,
    VerdictStatus,
)
from assay.canonical import digest_json
from assay.ledger import RunView
from assay.plan import Plan

__all__ = [
    "PROTOCOL",
    "as_expected",
    "build_report",
    "check_report",
    "results_digest",
    "role_passed",
]

PROTOCOL = 2
"""Number of the grading rules; results under different numbers are not comparable."""

REPORT_SCHEMA = "assay-report-1"


def build_report(
    plan: Plan,
    records: Sequence[TrialRecord],
    baseline: Mapping[str, TrialRecord],
    identity: Mapping[str, Any],
) -> dict[str, Any]:
    """The report of a run as plain JSON data; `records` in any order."""
    ordered = sorted(records, key=lambda record: record.spec.key)
    return {
        "schema": REPORT_SCHEMA,
        "protocol": PROTOCOL,
        "suite": {
            "id": plan.header.id,
            "categories_version": plan.header.categories_version,
            "require_trust": plan.header.require_trust.value,
        },
        "subject": {"kind": "submission" if plan.submitted else "calibration"},
        "results": {
            "tasks": [_task(plan, task_id, baseline.get(task_id)) for task_id in plan.tasks],
            "skipped": [{"task": item.task} for item in plan.skipped],
            **_retired(plan),
            "trials": [
                _trial(record, plan.candidates[record.spec.task, record.spec.candidate])
                for record in ordered
            ],
        },
        "summary": _summary(plan, [r for r in ordered if not _is_retired(plan, r.spec.task)]),
        "identity": dict(identity),
    }


def _is_retired(plan: Plan, task_id: str) -> bool:
    """Whether results of a task are listed, but in no count and no rate."""
    return plan.tasks[task_id].task.retired is not None


def _retired(plan: Plan) -> dict[str, Any]:
    """Retired tasks, whether graded or not; no key for suites without any."""
    graded = [task_id for task_id in plan.tasks if _is_retired(plan, task_id)]
    tasks = sorted([*graded, *(item.task for item in plan.retired)])
    return {"retired": [{"task": task_id} for task_id in tasks]} if tasks else {}


def results_digest(report: Mapping[str, Any]) -> Digest:
    """Digest of everything in the report but the identity of the host."""
    return digest_json({key: value for key, value in report.items() if key != "identity"})


def check_report(view: RunView) -> Digest:
    """The digest of a run's results, compared with the one that the run noted at its end.

    Raises InvalidInput for another document than a report, IntegrityError when they differ.
    """
    report = view.report or {}
    if report.get("schema") != REPORT_SCHEMA:
        raise InvalidInput(f"report.json: schema: must be {REPORT_SCHEMA}")
    digest = results_digest(report)
    if view.run.get("results_digest", digest) != digest:
        raise IntegrityError("report.json differs from the digest of results in run.json")
    return digest


def as_expected(record: TrialRecord, candidate: Candidate) -> bool:
    """Whether the verdict is the declared one; without a declaration, accepted."""
    verdict, expect = record.verdict, candidate.expect
    if expect is None:
        return verdict.status is VerdictStatus.ACCEPTED
    reasons = frozenset(verdict.reasons)
    return (
        verdict.status is expect.verdict
        and expect.required <= reasons <= expect.required | expect.permitted
    )


def role_passed(record: TrialRecord, role: GraderRole) -> bool | None:
    """Whether all required graders of a role passed; None when none of them measured."""
    facts = [fact for fact in record.facts if fact.role is role and fact.required]
    return all(fact.passed for fact in facts) if facts else None


def _task(plan: Plan, task_id: str, baseline: TrialRecord | None) -> dict[str, Any]:
    pins = plan.revisions[task_id]
    facts = () if baseline is None else baseline.facts
    return {
        "id": task_id,
        "category": plan.tasks[task_id].task.category,
        "task": pins.task,
        "fixture": pins.fixture.digest,
        "hidden": None if pins.hidden is None else pins.hidden.digest,
        "baseline": {fact.grader: "pass" if fact.passed else "fail" for fact in facts},
    }


def _trial(record: TrialRecord, candidate: Candidate) -> dict[str, Any]:
    spec, verdict, changes = record.spec, record.verdict, record.change_set
    return {
        "task": spec.task,
        "candidate": spec.candidate,
        "attempt": spec.attempt,
        "candidate_digest": spec.candidate_digest,
        "verdict": {
            "status": verdict.status.value,
            "reasons": [reason.value for reason in verdict.reasons],
            "trust": verdict.trust.value,
            "decided_by": verdict.decided_by,
            **({"diagnostic": verdict.diagnostic} if verdict.diagnostic else {}),
        },
        "as_expected": as_expected(record, candidate),
        "tree": None if changes is None or changes.result is None else changes.result.digest,
        "changes": []
        if changes is None
        else [{"path": change.path, "op": change.op.value} for change in changes.changes],
        "boundary": _boundary(record.boundary),
        "graders": [_facts(facts) for facts in record.facts],
        "evidence": None if record.claims is None else {"agrees": record.claims.agrees},
        "source": {
            "before": record.source_before,
            "after": record.source_after,
            "check": record.source_check.value,
        },
        "stages": {name: status.value for name, status in record.stages.items()},
    }


def _boundary(boundary: BoundaryFacts | None) -> dict[str, Any] | None:
    if boundary is None:
        return None
    return {
        "kept": boundary.kept,
        "violations": [
            {"path": violation.path, "reason": violation.reason.value}
            for violation in boundary.violations
        ],
    }


def _facts(facts: Facts) -> dict[str, Any]:
    status = facts.outcome.status if facts.outcome is not None else OutcomeStatus.EXITED
    # How a process ended may depend on timing; which limit it met is what was measured.
    limit = status.value if not facts.completed else None
    return {
        "id": facts.grader,
        "plugin": facts.plugin,
        "role": facts.role.value,
        "version": facts.version,
        "options": facts.options_digest,
        "required": facts.required,
        "completed": facts.completed,
        "limit": limit,
        "trust": facts.trust.value,
        "layers_held": list(facts.layers_held),
        "passed": facts.passed,
        "tests": [{"id": test.id, "outcome": test.outcome.value} for test in facts.tests],
        "codes": list(facts.codes),
        "reasons": sorted(reason.value for reason in facts.reasons),
    }


def _summary(plan: Plan, records: Sequence[TrialRecord]) -> dict[str, Any]:
    by_candidate: dict[str, list[TrialRecord]] = {}
    for record in records:
        by_candidate.setdefault(record.spec.candidate, []).append(record)
    return {
        "trials": len(records),
        "verdicts": _counts(record.verdict.status.value for record in records),
        "reasons": _counts(reason.value for record in records for reason in record.verdict.reasons),
        "unexpected": sum(
            not as_expected(record, plan.candidates[record.spec.task, record.spec.candidate])
            for record in records
        ),
        "candidates": sorted(
            (_candidate_row(candidate, rows) for candidate, rows in by_candidate.items()),
            key=_best_first,
        ),
        "failures": [
            {
                "task": record.spec.task,
                "candidate": record.spec.candidate,
                "attempt": record.spec.attempt,
                "reasons": [reason.value for reason in record.verdict.reasons],
            }
            for record in records
            if record.verdict.status is VerdictStatus.REJECTED
        ],
    }


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _candidate_row(candidate: str, records: Sequence[TrialRecord]) -> dict[str, Any]:
    # An ungradable trial is in no denominator; its count stands beside the rates.
    graded = [r for r in records if r.verdict.status is not VerdictStatus.INVALID]
    return {
        "candidate": candidate,
        "trials": len(graded),
        "invalid": len(records) - len(graded),
        "accepted": sum(r.verdict.status is VerdictStatus.ACCEPTED for r in graded),
        "visible": _rate(role_passed(r, GraderRole.VISIBLE) for r in graded),
        "hidden": _rate(role_passed(r, GraderRole.HIDDEN) for r in graded),
        "boundary": _rate(None if r.boundary is None else r.boundary.kept for r in graded),
        "evidence": _rate(None if r.claims is None else r.claims.agrees for r in graded),
    }


def _best_first(row: Mapping[str, Any]) -> tuple[Any, ...]:
    shares = [Fraction(row["accepted"], max(1, row["trials"]))]
    for name in ("visible", "boundary", "hidden", "evidence"):
        shares.append(Fraction(row[name]["passed"], max(1, row[name]["of"])))
    return (*(-share for share in shares), row["candidate"])


def _rate(values: Iterable[bool | None]) -> dict[str, int]:
    known = [value for value in values if value is not None]
    return {"passed": sum(known), "of": len(known)}

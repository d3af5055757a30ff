"""The last look at large fixtures: what rested on a witness stands only if the digest agrees.

The records are on disk by then and none is changed: a later record of the same trial replaces
the earlier one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import evolve

from assay.api import (
    AssayError,
    Contaminated,
    Digest,
    Hasher,
    Reason,
    SourceCheck,
    TrialRecord,
    VerdictStatus,
)
from assay.fixtures import UNREADABLE
from assay.plan import Plan
from assay.tree import tree_manifest

__all__ = ["recheck"]


def recheck(
    plan: Plan, records: Iterable[TrialRecord], probes: Iterable[TrialRecord], hasher: Hasher
) -> Iterator[TrialRecord]:
    """Digest each fixture that a witness spoke for; new records of trials that don't stand.

    Those are all trials of such a fixture: the last good digest that counts for every worker is
    the one before the run. `probes` are what the trials rest on in turn.
    """
    done = tuple(records)
    witnessed = {
        record.spec.task
        for record in (*done, *probes)
        if record.source_check is SourceCheck.WITNESS
    }
    for task_id in sorted(witnessed):
        before = plan.revisions[task_id].fixture.digest
        after = _digest_now(plan.tasks[task_id].fixture, hasher)
        if after == before:
            continue
        for record in done:
            if record.spec.task == task_id:
                yield _invalid(record, Contaminated(task_id, before, after), after)


def _digest_now(folder: str, hasher: Hasher) -> Digest:
    try:
        return tree_manifest(folder, hasher).ref.digest
    except (AssayError, OSError):
        return Digest(UNREADABLE)


def _invalid(record: TrialRecord, error: Contaminated, after: Digest) -> TrialRecord:
    reasons = {Reason.SOURCE_CONTAMINATED}
    if record.verdict.status is VerdictStatus.INVALID:
        reasons |= set(record.verdict.reasons)
    verdict = evolve(
        record.verdict,
        status=VerdictStatus.INVALID,
        reasons=tuple(sorted(reasons, key=lambda reason: reason.value)),
    )
    return evolve(record, verdict=verdict, source_after=after, error=str(error), retryable=False)

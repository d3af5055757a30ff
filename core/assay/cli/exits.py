"""Which exit code a run deserves; on mixtures the most serious one."""

from __future__ import annotations

import signal
from collections.abc import Collection, Iterable, Mapping

from assay.api import Candidate, Reason, TrialRecord, VerdictStatus
from assay.results import as_expected

__all__ = ["most_serious", "run_exit_code"]

_SERIOUSNESS = (5, 130, 143, 4, 3, 2, 1, 0)


def most_serious(codes: Iterable[int]) -> int:
    """The code that wins: integrity, interruption, unavailable, invalid, failed, fine."""
    return min(codes, key=_SERIOUSNESS.index, default=0)


def run_exit_code(
    records: Iterable[TrialRecord],
    candidates: Mapping[tuple[str, str], Candidate],
    *,
    interrupted_by: int | None = None,
    problems: bool = False,
    leaks: Collection[str] = (),
) -> int:
    """Exit code of a finished run, from its records and the folders that it left."""
    codes = [_trial_code(record, candidates) for record in records]
    if interrupted_by is not None:
        codes.append(130 if interrupted_by == signal.SIGINT else 143)
    if leaks:
        codes.append(5)
    if problems:
        codes.append(3)
    return most_serious(codes)


def _trial_code(record: TrialRecord, candidates: Mapping[tuple[str, str], Candidate]) -> int:
    reasons = record.verdict.reasons
    if Reason.SOURCE_CONTAMINATED in reasons or record.leaks:
        return 5
    candidate = candidates[record.spec.task, record.spec.candidate]
    if as_expected(record, candidate):
        return 0
    if record.verdict.status is VerdictStatus.INVALID:
        return 4 if Reason.SANDBOX_UNAVAILABLE in reasons else 3
    return 1 if candidate.expect is None else 3

"""What must hold before the pin of a published task changes: it is measured again, in jails."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from assay.api import AssayError, InvalidInput, VerdictStatus
from assay.evaluation import grade_trial
from assay.results import as_expected
from assay.suites import Suite

__all__ = ["measured_again", "remeasure"]


def measured_again(suite: Suite, task_ids: Iterable[str]) -> dict[str, str]:
    """For each task, what `remeasure` says against its change; nothing when it may be pinned."""
    found = {}
    for task_id in task_ids:
        try:
            remeasure(suite, (task_id,))
        except AssayError as problem:
            found[task_id] = str(problem)
        else:
            found[task_id] = ""
    return found


def remeasure(suite: Suite, task_ids: Iterable[str]) -> None:
    """Measure the baseline of each task, and grade the candidates that must be accepted.

    Raises Ungradable for another baseline than the task declares, InvalidInput when there is no
    such candidate or one gets another verdict, and whatever keeps jails from being made.
    """
    for task_id in task_ids:
        benchmark = evolve(suite.task(task_id), pins=None)
        gold = [
            candidate
            for candidate in suite.candidates(task_id)
            if candidate.expect and candidate.expect.verdict is VerdictStatus.ACCEPTED
        ]
        if not gold:
            raise InvalidInput(
                f"task {task_id}: has no candidate that is expected to be accepted, so nothing "
                "shows that it can still be solved"
            )
        for candidate in gold:
            record = grade_trial(benchmark, candidate)
            if not as_expected(record, candidate):
                reasons = ", ".join(reason.value for reason in record.verdict.reasons)
                status = record.verdict.status.value
                told = f"candidate {candidate.id}: {status} instead of accepted: {reasons}"
                raise InvalidInput(f"task {task_id}: {told}")

"""Reference runs: what a task's gold candidates take here, and the limits that follow.

Each gold candidate is graded twice before any other: under the task's own limits, which are the
most, to measure it; and under the derived limits, which must be enough for it. So limits that are
too tight are the task's fault or the host's, and never a candidate's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import asdict, evolve, frozen

from assay.api import (
    Limits,
    Reason,
    TrialRecord,
    TrialSpec,
    Trust,
    Verdict,
    VerdictStatus,
)
from assay.benchmark import BenchmarkTask
from assay.draft import grader_timing
from assay.limits import FLOORS, derived_limits
from assay.metering import MeteredSandbox

__all__ = [
    "References",
    "measured",
    "reference_id",
    "reference_runs",
    "references_json",
    "under_references",
]

_PREFIX = "@reference-"
"""Before the id of a gold candidate; no real candidate's id can begin so."""

RunSpecs = Callable[[list[TrialSpec]], Iterable[TrialRecord]]


@frozen
class References:
    """What the reference runs of one task came to.

    `measured` is the most that was taken, by the names of limits. `limits` follow from it, and
    are None when a gold candidate failed: then `failed` is its record, as an invalid one.
    """

    measured: Mapping[str, float]
    limits: Limits | None = None
    failed: TrialRecord | None = None


def reference_id(candidate: str) -> str:
    """By which id a gold candidate goes in a reference run."""
    return _PREFIX + candidate


def measured(record: TrialRecord, task: BenchmarkTask, meter: MeteredSandbox) -> TrialRecord:
    """The record with what it took as its usage, by the names of limits.

    The wall time is that of the slowest grader as a whole, since some of them spread the limit
    over several commands.
    """
    graders = [grader_timing(spec.id) for spec in task.task.graders]
    wall = max((record.timings.get(name, 0.0) for name in graders), default=0.0)
    return evolve(record, usage={**meter.most, "wall": wall})


def reference_runs(
    tasks: Mapping[str, BenchmarkTask], specs: Iterable[TrialSpec], run: RunSpecs
) -> dict[str, References]:
    """Run the references of the tasks that have a scale, by task id.

    `specs` has one spec of each task, whose digests are used; `run` gives one record for each
    spec that it gets.
    """
    first = {
        spec.task: _specs(tasks[spec.task], spec)
        for spec in specs
        if tasks[spec.task].task.scale is not None
    }
    results = {
        task: _derived(tasks[task], records) for task, records in _graded(first, run).items()
    }
    again = {
        task: [evolve(spec, limits=result.limits) for spec in first[task]]
        for task, result in results.items()
        if result.limits is not None
    }
    for task, records in _graded(again, run).items():
        if (failed := _failed(records, "under the limits derived from it")) is not None:
            results[task] = References(results[task].measured, failed=failed)
    return results


def under_references(spec: TrialSpec, references: Mapping[str, References]) -> TrialSpec:
    """The spec with the limits that the reference runs of its task gave, if there were any."""
    found = references.get(spec.task)
    return spec if found is None else evolve(spec, limits=found.limits)


def references_json(references: Mapping[str, References]) -> dict[str, Any]:
    """What was measured and what follows, by task id, as the run's record has it."""
    return {
        task: {
            "measured": dict(found.measured),
            "limits": None if found.limits is None else asdict(found.limits),
        }
        for task, found in references.items()
    }


def _specs(task: BenchmarkTask, spec: TrialSpec) -> list[TrialSpec]:
    return [
        evolve(
            spec,
            candidate=reference_id(candidate.id),
            attempt=0,
            candidate_digest=candidate.digest,
            limits=None,
        )
        for candidate in task.references
    ]


def _graded(
    specs: Mapping[str, Sequence[TrialSpec]], run: RunSpecs
) -> dict[str, list[TrialRecord]]:
    found: dict[str, list[TrialRecord]] = {task: [] for task in specs}
    for record in run([spec for wanted in specs.values() for spec in wanted]):
        found[record.spec.task].append(record)
    return found


def _derived(task: BenchmarkTask, records: Sequence[TrialRecord]) -> References:
    most = {
        name: max((record.usage.get(name, 0.0) for record in records), default=0.0)
        for name in FLOORS
    }
    if (failed := _failed(records, "in the reference run")) is not None:
        return References(most, failed=failed)
    assert task.task.scale is not None
    return References(most, derived_limits(task.task.limits, task.task.scale.factor, most))


def _failed(records: Sequence[TrialRecord], when: str) -> TrialRecord | None:
    """The first gold candidate, by its id, that was not accepted."""
    for record in sorted(records, key=lambda record: record.spec.candidate):
        verdict = record.verdict
        # What the jails leave out on purpose says nothing of what a candidate takes.
        if verdict.status is VerdictStatus.ACCEPTED or verdict.reasons == (Reason.TRUST_TOO_LOW,):
            continue
        name = record.spec.candidate.removeprefix(_PREFIX)
        found = ", ".join(reason.value for reason in verdict.reasons)
        is_ours = verdict.status is VerdictStatus.INVALID
        return evolve(
            record,
            verdict=Verdict(
                VerdictStatus.INVALID,
                verdict.reasons if is_ours else (Reason.BASELINE_DRIFT,),
                Trust.UNGUARDED,
                verdict.decided_by,
            ),
            error=f"limits: candidate {name} is not accepted {when}: {found}"
            + (f": {record.error}" if record.error else ""),
        )
    return None

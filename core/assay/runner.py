"""Running a plan: baseline first, then every trial; a readable run folder whatever happens.

Order of execution is free, order of results is not. An interruption stops the jails,
records what was not graded as `invalid(cancelled)` and still writes the report.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from attrs import asdict, evolve, field, frozen

from assay.api import (
    ExecutorSetup,
    Pool,
    Reason,
    TrialRecord,
    TrialSpec,
    Trust,
    Verdict,
    VerdictStatus,
)
from assay.baseline import BASELINE
from assay.eviction import store_limits
from assay.host import Components, WorkerFactory
from assay.interruption import Interruption, interruptible
from assay.ledger import ARTIFACTS, REPORT, RUN, Ledger, create_run_folder, write_json
from assay.placement import need_of
from assay.plan import Plan
from assay.rechecks import recheck
from assay.redaction import host_redactor
from assay.reference import References, reference_runs, references_json, under_references
from assay.results import build_report, results_digest
from assay.run_identity import run_identity
from assay.scratch import run_folders

__all__ = ["Observer", "RunResult", "baseline_spec", "execute"]


class Observer(Protocol):
    """Is told how a run goes on."""

    def started(self, trials: int) -> None: ...

    def finished(self, record: TrialRecord, note: str = "") -> None:
        """One more record; `note` tells it from others of the same candidate."""
        ...


@frozen
class RunResult:
    """A finished run; `records` in the order of results, `signal` what broke it off.

    `leaks` are names of temporary folders that the run could not remove.
    """

    folder: Path
    report: dict[str, Any] = field(repr=False)
    records: tuple[TrialRecord, ...] = field(repr=False)
    signal: int | None = None
    leaks: tuple[str, ...] = ()


def execute(
    plan: Plan,
    components: Components,
    observer: Observer,
    *,
    folder: Path,
    workers: int,
    executor: str = "local",
) -> RunResult:
    """Run the plan into a new run folder. Raises UsageError when the folder exists."""
    with interruptible() as interruption:
        return _execute(plan, components, observer, folder, workers, executor, interruption)


def _execute(
    plan: Plan,
    components: Components,
    observer: Observer,
    folder: Path,
    workers: int,
    executor: str,
    interruption: Interruption,
) -> RunResult:
    limits = store_limits()
    create_run_folder(folder)
    started = time.time()
    redactor = host_redactor()
    identity = run_identity(plan, components, redactor)
    about = {
        "schema": "assay-run-1",
        "suite": plan.header.id,
        "subject": {"kind": "submission" if plan.submitted else "calibration"},
        "tasks": sorted(plan.tasks),
        "skipped": [
            {"task": item.task, "reason": redactor.message(item.reason)} for item in plan.skipped
        ],
        "retired": [asdict(item) for item in plan.retired],
        "executor": executor,
        "workers": workers,
        "copier": components.copier.name,
        "identity": identity,
        "redaction": redactor.about(),
        "started": int(started),
    }
    if components.fallback is not None:
        about["copier_fallback"] = {
            "asked": components.fallback.asked,
            "reason": components.fallback.reason,
        }
    write_json(folder, RUN, about)
    need = need_of((task.fixture for task in plan.tasks.values()), workers)
    with run_folders(components, need, limits) as folders, Ledger(folder) as ledger:
        factory = WorkerFactory(
            tasks=plan.tasks,
            candidates=plan.candidates,
            runtimes=plan.runtimes,
            scratch=folders.path,
            artifacts=folder / ARTIFACTS,
            hasher=components.hasher.contract,
            copier=components.copier.name,
            sandbox=components.sandbox.name,
        )
        pool: Pool = components.registry.load("assay.executors", executor)().open(
            ExecutorSetup(factory, workers)
        )
        try:
            interruption.watch(pool)
            observer.started(len(plan.specs))

            def counted(specs: list[TrialSpec]) -> Iterator[TrialRecord]:
                for record in _guarded(pool, specs):
                    folders.count(record)
                    yield record

            baseline = {record.spec.task: record for record in counted(_baselines(plan))}
            unsound = _unsound(baseline)
            references = reference_runs(
                plan.tasks,
                [spec for task, spec in _first(plan).items() if task not in unsound],
                counted,
            )
            unsound |= {task: ref.failed for task, ref in references.items() if ref.failed}
            diagnostic = components.sandbox.capabilities().diagnostic
            records = _trials(plan, pool, unsound, references, ledger, observer, diagnostic)
            for record in records:
                folders.count(record)
            probes = [*baseline.values()]
            for late in recheck(plan, records, probes, components.hasher):
                records = _replaced(records, ledger.append(late))
        finally:
            pool.close()
    report = redactor.names(build_report(plan, records, baseline, identity))
    write_json(folder, REPORT, report)
    write_json(
        folder,
        RUN,
        {
            **about,
            "results_digest": results_digest(report),
            "limits": references_json(references),
            "finished": int(time.time()),
            "milliseconds": {
                f"{record.spec.task}/{record.spec.candidate}/{record.spec.attempt}": {
                    stage: round(seconds * 1000) for stage, seconds in record.timings.items()
                }
                for record in records
            },
            **folders.told(),
            "interrupted": interruption.number is not None,
        },
    )
    return RunResult(folder, report, records, interruption.number, folders.leaks)


def _replaced(records: tuple[TrialRecord, ...], late: TrialRecord) -> tuple[TrialRecord, ...]:
    return tuple(late if record.spec == late.spec else record for record in records)


def _first(plan: Plan) -> dict[str, TrialSpec]:
    first = {spec.task: spec for spec in reversed(plan.specs)}
    return dict(sorted(first.items()))


def _baselines(plan: Plan) -> list[TrialSpec]:
    return [baseline_spec(spec) for spec in _first(plan).values()]


def _unsound(baseline: Mapping[str, TrialRecord]) -> dict[str, TrialRecord]:
    """Records that keep their tasks from being graded."""
    return {
        task: evolve(record, error=f"baseline: {record.error}")
        for task, record in baseline.items()
        if record.verdict.status is VerdictStatus.INVALID
    }


def baseline_spec(spec: TrialSpec) -> TrialSpec:
    """The probe of the untouched fixture that a trial's spec needs."""
    return evolve(spec, candidate=BASELINE, attempt=0, candidate_digest=spec.fixture_digest)


def _trials(
    plan: Plan,
    pool: Pool,
    unsound: Mapping[str, TrialRecord],
    references: Mapping[str, References],
    ledger: Ledger,
    observer: Observer,
    diagnostic: str,
) -> tuple[TrialRecord, ...]:
    done: list[TrialRecord] = []

    def keep(record: TrialRecord) -> None:
        # Also of trials that never came to a jail.
        verdict = evolve(record.verdict, diagnostic=diagnostic)
        done.append(ledger.append(evolve(record, verdict=verdict)))
        observer.finished(done[-1])

    for spec in plan.specs:
        if spec.task in unsound:
            keep(_ungraded(spec, unsound[spec.task]))
    sound = [under_references(spec, references) for spec in plan.specs if spec.task not in unsound]
    for record in _guarded(pool, sound):
        keep(record)
    return tuple(sorted(done, key=lambda record: record.spec.key))


def _guarded(pool: Pool, specs: list[TrialSpec]) -> Iterator[TrialRecord]:
    """Records of the specs; a contaminated source stops everything that still runs."""
    for record in pool.run(specs):
        if Reason.SOURCE_CONTAMINATED in record.verdict.reasons:
            pool.cancel()
        yield record


def _ungraded(spec: TrialSpec, probe: TrialRecord) -> TrialRecord:
    verdict = Verdict(
        VerdictStatus.INVALID, probe.verdict.reasons, Trust.UNGUARDED, probe.verdict.decided_by
    )
    return TrialRecord(
        spec,
        verdict,
        source_before=probe.source_before,
        source_after=probe.source_after,
        source_check=probe.source_check,
        leaks=probe.leaks,
        workspace_removed=probe.workspace_removed,
        error=probe.error,
        retryable=probe.retryable,
    )

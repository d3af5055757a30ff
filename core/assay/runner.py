"""Running a plan: baseline first, then every trial; a readable run folder whatever happens.

Order of execution is free, order of results is not. An interruption stops the jails,
records what was not graded as `invalid(cancelled)` and still writes the report.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from attrs import evolve, field, frozen

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
from assay.api.files import remove_tree
from assay.baseline import BASELINE
from assay.canonical import digest_json
from assay.host import Components, WorkerFactory, mountable, reachable
from assay.identity import environment, environment_digest
from assay.interruption import Interruption, interruptible
from assay.ledger import ARTIFACTS, REPORT, RUN, Ledger, create_run_folder, write_json
from assay.plan import Plan
from assay.results import build_report, results_digest

__all__ = ["Observer", "RunResult", "baseline_spec", "execute", "scratch_folder"]


class Observer(Protocol):
    """Is told how a run goes on."""

    def started(self, trials: int) -> None: ...

    def finished(self, record: TrialRecord) -> None: ...


@frozen
class RunResult:
    """A finished run; `records` in the order of results, `signal` what broke it off."""

    folder: Path
    report: dict[str, Any] = field(repr=False)
    records: tuple[TrialRecord, ...] = field(repr=False)
    signal: int | None = None


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
    create_run_folder(folder)
    started = time.time()
    identity = _identity(plan, components)
    about = {
        "schema": "assay-run-1",
        "suite": plan.header.id,
        "subject": {"kind": "submission" if plan.submitted else "calibration"},
        "tasks": sorted(plan.tasks),
        "skipped": [{"task": item.task, "reason": item.reason} for item in plan.skipped],
        "executor": executor,
        "workers": workers,
        "copier": components.copier.name,
        "identity": identity,
        "started": int(started),
    }
    if components.fallback is not None:
        about["copier_fallback"] = {
            "asked": components.fallback.asked,
            "reason": components.fallback.reason,
        }
    write_json(folder, RUN, about)
    with scratch_folder(components) as scratch, Ledger(folder) as ledger:
        factory = WorkerFactory(
            tasks=plan.tasks,
            candidates=plan.candidates,
            runtimes=plan.runtimes,
            scratch=scratch,
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
            baseline = {record.spec.task: record for record in _guarded(pool, _baselines(plan))}
            records = _trials(plan, pool, baseline, ledger, observer)
        finally:
            pool.close()
    report = build_report(plan, records, baseline, identity)
    write_json(folder, REPORT, report)
    write_json(
        folder,
        RUN,
        {
            **about,
            "results_digest": results_digest(report),
            "finished": int(time.time()),
            "milliseconds": {
                f"{record.spec.task}/{record.spec.candidate}/{record.spec.attempt}": {
                    stage: round(seconds * 1000) for stage, seconds in record.timings.items()
                }
                for record in records
            },
            "interrupted": interruption.number is not None,
        },
    )
    return RunResult(folder, report, records, interruption.number)


def _identity(plan: Plan, components: Components) -> dict[str, Any]:
    """Everything of this host that may change a result; equal for equal hosts."""
    used = {
        ("assay.sandboxes", components.sandbox.name),
        ("assay.hashers", components.hasher.contract),
        *(
            ("assay.graders", spec.use)
            for task in plan.tasks.values()
            for spec in task.task.graders
        ),
    }
    capabilities = components.sandbox.capabilities()
    found = environment(
        [components.registry.find(group, name) for group, name in sorted(used)],
        {
            "sandbox": {
                "name": components.sandbox.name,
                "mode": capabilities.mode,
                "layers": capabilities.layers,
                "versions": capabilities.versions,
            },
            "runtimes": {
                task_id: {"digest": runtime.digest, "versions": runtime.versions}
                for task_id, runtime in sorted(plan.runtimes.items())
            },
        },
    )
    tasks = {task_id: plan.revisions[task_id] for task_id in sorted(plan.tasks)}
    return {
        "revisions": {
            "task": digest_json({task_id: pins.task for task_id, pins in tasks.items()}),
            "fixture": digest_json(
                {task_id: pins.fixture.digest for task_id, pins in tasks.items()}
            ),
            "environment": environment_digest(found),
        },
        "environment": found,
    }


def _baselines(plan: Plan) -> list[TrialSpec]:
    first = {spec.task: spec for spec in reversed(plan.specs)}
    return [baseline_spec(first[task_id]) for task_id in sorted(first)]


def baseline_spec(spec: TrialSpec) -> TrialSpec:
    """The probe of the untouched fixture that a trial's spec needs."""
    return evolve(spec, candidate=BASELINE, attempt=0, candidate_digest=spec.fixture_digest)


def _trials(
    plan: Plan,
    pool: Pool,
    baseline: Mapping[str, TrialRecord],
    ledger: Ledger,
    observer: Observer,
) -> tuple[TrialRecord, ...]:
    sound = {
        task_id
        for task_id, record in baseline.items()
        if record.verdict.status is not VerdictStatus.INVALID
    }
    done: list[TrialRecord] = []

    def keep(record: TrialRecord) -> None:
        done.append(ledger.append(record))
        observer.finished(done[-1])

    for spec in plan.specs:
        if spec.task not in sound:
            keep(_without_baseline(spec, baseline[spec.task]))
    for record in _guarded(pool, [spec for spec in plan.specs if spec.task in sound]):
        keep(record)
    return tuple(sorted(done, key=lambda record: record.spec.key))


def _guarded(pool: Pool, specs: list[TrialSpec]) -> Iterator[TrialRecord]:
    """Records of the specs; a contaminated source stops everything that still runs."""
    for record in pool.run(specs):
        if Reason.SOURCE_CONTAMINATED in record.verdict.reasons:
            pool.cancel()
        yield record


def _without_baseline(spec: TrialSpec, probe: TrialRecord) -> TrialRecord:
    verdict = Verdict(
        VerdictStatus.INVALID, probe.verdict.reasons, Trust.UNGUARDED, probe.verdict.decided_by
    )
    return TrialRecord(
        spec,
        verdict,
        source_before=probe.source_before,
        source_after=probe.source_after,
        leaks=probe.leaks,
        workspace_removed=probe.workspace_removed,
        error=f"baseline: {probe.error}",
        retryable=probe.retryable,
    )


@contextmanager
def scratch_folder(components: Components) -> Iterator[str]:
    """A new folder for workspaces, removed on leaving whatever happened.

    It is in the temporary folder, or beside the store where jails can't get into the
    temporary folder (one below a private home, say).
    """
    ids = components.sandbox.capabilities().ids
    place = Path(tempfile.gettempdir())
    if not mountable(place) or (ids is not None and not reachable(place, ids)):
        place = components.store.root
    folder = Path(tempfile.mkdtemp(prefix="assay-run-", dir=place))
    # The jail's user must pass through to its workspace, but can't list what is beside it.
    folder.chmod(0o711)
    try:
        yield str(folder)
    finally:
        parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            remove_tree(parent, folder.name)
        finally:
            os.close(parent)

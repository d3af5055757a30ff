"""Lint by running: gold, untouched fixture and wrong candidates, isolated and in one process.

Each candidate is one trial in each of the two ways, with all graders that have both; nothing
is decided, only compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path

from attrs import evolve, frozen

from assay.api import (
    Candidate,
    CandidateKind,
    CleanupFailed,
    Fault,
    IntegrityError,
    Reason,
    TrialRecord,
    Unavailable,
    VerdictStatus,
)
from assay.api.folders import temporary_folder
from assay.baseline import BASELINE
from assay.host import Components
from assay.ledger import ArtifactFolder
from assay.linting.driven import GraderRun, judge
from assay.linting.jobs import WAYS, Job, make_job
from assay.linting.report import Finding
from assay.linting.static import trust_given
from assay.linting.stopping import StoppableSandbox
from assay.linting.watched import Seen, Watched
from assay.plan import Skipped, trial_spec
from assay.prepared import TrialHost
from assay.redaction import host_redactor
from assay.runner import Observer
from assay.scratch import scratch_folder
from assay.suites import Suite
from assay.trial import run_trial

__all__ = ["Driven", "drive"]

_EXPECTED_FAULTS = frozenset({Reason.BASELINE_DRIFT, Reason.GRADER_UNFIT, Reason.TRUST_TOO_LOW})


@frozen
class Driven:
    """What driving showed, by grader, and the tasks that could not be driven."""

    runs: tuple[GraderRun, ...]
    skipped: tuple[Skipped, ...]
    installed: tuple[Finding, ...] = ()
    """Answers in packages that tasks require."""


@frozen
class _Trial:
    """One candidate of a job, by its name there, in one way."""

    job: Job
    name: str
    way: str
    folder: Path
    """Where its artifacts are kept: trials run side by side."""


def drive(
    suite: Suite,
    tasks: tuple[str, ...],
    components: Components,
    observer: Observer,
    *,
    mutants: int,
    workers: int = 1,
) -> Driven:
    """Drive tasks that load without an error; at most so many mutants of each.

    Raises MutantsUnavailable, RuntimeUnavailable, or the fault that kept a trial from measuring.
    """
    made = [
        make_job(suite, evolve(suite.task(task_id), pins=None), components, mutants)
        for task_id in tasks
    ]
    jobs = [job for job in made if isinstance(job, Job)]
    skipped = tuple(job for job in made if isinstance(job, Skipped))
    with (
        scratch_folder(components) as scratch,
        temporary_folder("lint") as folder,
    ):
        sandbox = StoppableSandbox(components.sandbox)
        host = TrialHost(
            hasher=components.hasher,
            copier=components.copier,
            sandbox=sandbox,
            store=components.store,
            scratch=scratch,
            artifacts=ArtifactFolder(folder),
            redactor=host_redactor(),
        )
        trials = [
            _Trial(job, name, way, folder / f"{number}-{name}-{way}")
            for number, job in enumerate(jobs)
            for name in job.candidates
            for way in job.ways
        ]
        observer.started(len(trials))
        seen = _all_measured(host, trials, observer, workers, sandbox.stop)
    return Driven(tuple(run for job in jobs for run in _judged(job, seen)), skipped)


_Measured = dict[tuple[str, str, str, str], Seen]
"""By task, way, grader and name of the candidate."""


def _all_measured(
    host: TrialHost,
    trials: Sequence[_Trial],
    observer: Observer,
    workers: int,
    stop: Callable[[], None],
) -> _Measured:
    found: _Measured = {}
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="assay-lint")
    try:
        futures: dict[Future[tuple[TrialRecord, dict[str, Seen]]], _Trial] = {
            pool.submit(_measured, host, trial): trial for trial in trials
        }
        for future in as_completed(futures):
            record, seen = future.result()
            _require_measured(record)
            trial = futures[future]
            observer.finished(record, trial.way)
            for grader, of_grader in seen.items():
                found[trial.job.task_id, trial.way, grader, trial.name] = of_grader
    except BaseException:
        stop()
        raise
    finally:
        # What has begun leaves in order; what has not is not begun.
        pool.shutdown(wait=True, cancel_futures=True)
    return found


def _judged(job: Job, seen: _Measured) -> Iterator[GraderRun]:
    task = job.prepared.benchmark.task
    for spec in task.graders:
        if job.modes[spec.id]:
            trust = trust_given(job.prepared.graders[spec.id], job.prepared.options[spec.id], task)
            isolated, in_process = (
                {
                    name: seen[task.id, way, spec.id, name]
                    for name in job.candidates
                    if (task.id, way, spec.id, name) in seen
                }
                for way in WAYS
            )
            yield judge(task.id, spec.id, trust, isolated, in_process, job.labels)


def _measured(host: TrialHost, trial: _Trial) -> tuple[TrialRecord, dict[str, Seen]]:
    """What each grader that has this way measured of one candidate, or of the fixture."""
    job, candidate = trial.job, trial.job.candidates[trial.name]
    trial.folder.mkdir()
    artifacts = ArtifactFolder(trial.folder)
    watched = {
        grader: Watched(job.prepared.graders[grader] if trial.way in options else None)
        for grader, options in job.modes.items()
    }
    variant = evolve(
        job.prepared,
        graders=watched,
        options={
            grader: options.get(trial.way, job.prepared.options[grader])
            for grader, options in job.modes.items()
        },
    )
    benchmark, digest = job.prepared.benchmark, job.pins.fixture.digest
    shown = candidate or Candidate(BASELINE, benchmark.id, CandidateKind.FILES, digest)
    spec = trial_spec(job.suite, benchmark, job.pins, shown)
    record = run_trial(evolve(host, artifacts=artifacts), variant, candidate, spec)
    facts = {fact.grader: fact for fact in record.facts}
    return record, {
        grader: watched[grader].seen(facts.get(grader), artifacts)
        for grader, options in job.modes.items()
        if trial.way in options
    }


def _require_measured(record: TrialRecord) -> None:
    """Raise unless the trial says something about its candidate."""
    if record.leaks:
        raise CleanupFailed(record.leaks[0])
    faults = set(record.verdict.reasons) - _EXPECTED_FAULTS
    if record.verdict.status is not VerdictStatus.INVALID or not faults:
        return
    spec, names = record.spec, ", ".join(sorted(reason.value for reason in faults))
    problem = f"task {spec.task}, candidate {spec.candidate}: {names}: {record.error}"
    if Reason.SOURCE_CONTAMINATED in faults:
        raise IntegrityError(problem)
    if Reason.SANDBOX_UNAVAILABLE in faults:
        raise Unavailable(problem)
    raise Fault(problem)

"""Lint by running: gold, untouched fixture and wrong candidates, isolated and in one process.

Each candidate is one trial in each of the two ways, with all graders that have both; nothing
is decided, only compared. Mutants exist in memory, and in the workspaces of their trials.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from assay.api import (
    Candidate,
    CandidateKind,
    CandidateMalformed,
    CleanupFailed,
    Digest,
    Edits,
    Fault,
    Grader,
    IntegrityError,
    ModalGrader,
    Reason,
    TaskPins,
    TrialRecord,
    Trust,
    Unavailable,
    VerdictStatus,
)
from assay.api.files import open_root, opened, read_file
from assay.baseline import BASELINE
from assay.benchmark import BenchmarkTask
from assay.candidate_manifest import candidate_digest
from assay.candidates import edits
from assay.host import Components, prepare_task
from assay.ledger import ArtifactFolder
from assay.linting.driven import GraderRun, judge
from assay.linting.static import trust_given
from assay.linting.watched import Seen, Watched
from assay.mutants import make_mutants
from assay.plan import Skipped, lacking, prepare_runtimes, revision, trial_spec
from assay.runner import Observer, scratch_folder
from assay.suites import Suite
from assay.trial import PreparedTask, TrialHost, run_trial, stored_path

__all__ = ["Driven", "drive"]

GOLD, BASE = "gold", "base"
_WAYS = ("isolated", "in-process")
_EXPECTED_FAULTS = frozenset({Reason.BASELINE_DRIFT, Reason.GRADER_UNFIT, Reason.TRUST_TOO_LOW})


@frozen
class Driven:
    """What driving showed, by grader, and the tasks that could not be driven."""

    runs: tuple[GraderRun, ...]
    skipped: tuple[Skipped, ...]


@frozen
class _Job:
    """One task to drive: what is run, by the name it goes by, and what is wrong with it."""

    prepared: PreparedTask
    suite: str
    pins: TaskPins
    modes: Mapping[str, Mapping[str, Any]]
    """Options by grader, then by way."""
    candidates: Mapping[str, Candidate | None]
    labels: Mapping[str, str]

    @property
    def ways(self) -> tuple[str, ...]:
        return tuple(way for way in _WAYS if any(way in found for found in self.modes.values()))


def drive(
    suite: Suite,
    tasks: tuple[str, ...],
    components: Components,
    observer: Observer,
    *,
    mutants: int,
) -> Driven:
    """Drive tasks that load without an error; at most so many mutants of each.

    Raises MutantsUnavailable, RuntimeUnavailable, or the fault that kept a trial from measuring.
    """
    jobs: list[_Job] = []
    skipped: list[Skipped] = []
    for task_id in tasks:
        benchmark = evolve(suite.task(task_id), pins=None)
        made = _job(suite, benchmark, components, mutants)
        if isinstance(made, Skipped):
            skipped.append(made)
        else:
            jobs.append(made)
    observer.started(sum(len(job.ways) * len(job.candidates) for job in jobs))
    with (
        scratch_folder(components) as scratch,
        tempfile.TemporaryDirectory(prefix="assay-lint-") as folder,
    ):
        host = TrialHost(
            hasher=components.hasher,
            copier=components.copier,
            sandbox=components.sandbox,
            store=components.store,
            scratch=scratch,
            artifacts=ArtifactFolder(Path(folder)),
        )
        runs = [run for job in jobs for run in _driven(host, job, observer)]
    return Driven(tuple(runs), tuple(skipped))


def _job(
    suite: Suite, benchmark: BenchmarkTask, components: Components, mutants: int
) -> _Job | Skipped:
    task = benchmark.task
    known = suite.candidates(task.id)
    accepted = [c for c in known if c.expect and c.expect.verdict is VerdictStatus.ACCEPTED]
    if not accepted:
        return Skipped(task.id, "it has no candidate that is expected to be accepted")
    runtime = prepare_runtimes(components, {task.id: benchmark})[task.id]
    if reason := lacking(benchmark, components, runtime):
        return Skipped(task.id, reason)
    prepared = prepare_task(components, benchmark, runtime)
    modes = {
        spec.id: _ways_of(prepared.graders[spec.id], prepared.options[spec.id], benchmark)
        for spec in task.graders
    }
    if not any(modes.values()):
        return Skipped(task.id, "no grader of it has modes to compare")
    wrong = [c for c in known if c.expect and c.expect.verdict is VerdictStatus.REJECTED]
    made = _mutants(prepared, accepted[0], components, mutants)
    return _Job(
        prepared,
        suite.header.id,
        revision(benchmark, components.hasher),
        modes,
        candidates={
            GOLD: accepted[0],
            BASE: None,
            **{item.id: item for item in wrong},
            **{item.id: item for item, _ in made},
        },
        labels={
            **{item.id: "must fail" for item in wrong},
            **{item.id: label for item, label in made},
        },
    )


def _ways_of(grader: Grader, options: Any, benchmark: BenchmarkTask) -> dict[str, Any]:
    """Options for both ways, as far as the grader has them; the strongest of one process."""
    if not isinstance(grader, ModalGrader):
        return {}
    modes = grader.modes(options, benchmark.task)
    below = [trust for trust in modes if trust < Trust.ISOLATED]
    found = {"isolated": modes[Trust.ISOLATED]} if Trust.ISOLATED in modes else {}
    return {**found, **({"in-process": modes[max(below, key=_rank)]} if below else {})}


def _rank(trust: Trust) -> int:
    return trust.rank


def _mutants(
    prepared: PreparedTask, gold: Candidate, components: Components, limit: int
) -> list[tuple[Candidate, str]]:
    """Candidates that do what the gold one does, but for one small mistake, and what it is."""
    if not limit:
        return []
    manifest = prepared.prepared.manifest
    sizes = {entry.path: entry.size for entry in manifest.entries}
    with opened(open_root(stored_path(components.store, manifest))) as root:

        def read(path: Any) -> bytes:
            return read_file(root, path, sizes.get(path, 0))

        try:
            wish = edits(gold, manifest, read)
        except CandidateMalformed:
            return []
        before = {path: read(path) for path in wish.writes if path in sizes}
    after = {path: write.content for path, write in wish.writes.items()}
    found = make_mutants(before, after, limit=limit, seed=prepared.benchmark.task.seed)
    return [
        (
            _candidate(f"mutant-{number}", gold, wish, {**after, mutant.path: mutant.content}),
            f"{mutant.path}:{mutant.line} {mutant.operator}",
        )
        for number, mutant in enumerate(found, 1)
    ]


def _candidate(name: str, gold: Candidate, wish: Edits, files: Mapping[Any, bytes]) -> Candidate:
    made = Candidate(
        id=name,
        task=gold.task,
        kind=CandidateKind.FILES,
        digest=Digest(""),
        files={str(path): content for path, content in files.items()},
        executables=frozenset(path for path, write in wish.writes.items() if write.executable),
        deletes=tuple(wish.deletes),
        claim=gold.claim,
    )
    return evolve(made, digest=candidate_digest(made))


def _driven(host: TrialHost, job: _Job, observer: Observer) -> Iterator[GraderRun]:
    seen: dict[str, dict[str, dict[str, Seen]]] = {way: {} for way in _WAYS}
    for name, candidate in job.candidates.items():
        for way in job.ways:
            for grader, found in _measured(host, job, way, candidate, observer).items():
                seen[way].setdefault(grader, {})[name] = found
    task = job.prepared.benchmark.task
    for spec in task.graders:
        if job.modes[spec.id]:
            trust = trust_given(job.prepared.graders[spec.id], job.prepared.options[spec.id], task)
            isolated, in_process = (seen[way].get(spec.id, {}) for way in _WAYS)
            yield judge(task.id, spec.id, trust, isolated, in_process, job.labels)


def _measured(
    host: TrialHost, job: _Job, way: str, candidate: Candidate | None, observer: Observer
) -> dict[str, Seen]:
    """What each grader that has this way measured of one candidate, or of the fixture."""
    watched = {
        grader: Watched(job.prepared.graders[grader] if way in options else None)
        for grader, options in job.modes.items()
    }
    variant = evolve(
        job.prepared,
        graders=watched,
        options={
            grader: options.get(way, job.prepared.options[grader])
            for grader, options in job.modes.items()
        },
    )
    benchmark = job.prepared.benchmark
    digest = job.pins.fixture.digest
    shown = candidate or Candidate(BASELINE, benchmark.id, CandidateKind.FILES, digest)
    record = run_trial(host, variant, candidate, trial_spec(job.suite, benchmark, job.pins, shown))
    _require_measured(record)
    observer.finished(record)
    facts = {fact.grader: fact for fact in record.facts}
    return {
        grader: watched[grader].seen(facts.get(grader), host.artifacts)
        for grader, options in job.modes.items()
        if way in options
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

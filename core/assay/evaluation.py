"""From a suite's location to a finished run, and from one task to one verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path

from attrs import evolve, frozen

from assay.api import (
    Candidate,
    CandidateKind,
    Digest,
    Fault,
    InvalidInput,
    RuntimeUnavailable,
    TrialRecord,
    UsageError,
    Verdict,
    VerdictStatus,
)
from assay.api.folders import temporary_folder
from assay.benchmark import BenchmarkTask
from assay.candidate_manifest import candidate_digest
from assay.copiers import with_working_copier
from assay.host import Fallback, WorkerFactory, open_components
from assay.places import refuse_places_inside
from assay.plan import (
    Plan,
    lacking,
    load_tasks,
    make_plan,
    prepare_runtimes,
    revision,
    trial_spec,
)
from assay.plugins import Registry
from assay.reference import reference_runs, under_references
from assay.runner import Observer, RunResult, baseline_spec, execute
from assay.scratch import scratch_folder
from assay.submissions import load_candidates
from assay.suites import open_suite

__all__ = ["Evaluation", "Ungradable", "agrade", "evaluate", "grade", "grade_trial"]


@frozen
class Evaluation:
    """A run, what was planned for it, and what was wrong with submissions or the copier."""

    plan: Plan
    result: RunResult
    problems: tuple[str, ...] = ()
    fallback: Fallback | None = None


class Ungradable(Fault):
    """The task itself can't be graded on this host; the message says why."""


def evaluate(
    location: str,
    observer: Observer,
    *,
    folder: Path,
    workers: int,
    only: Collection[str] = (),
    limit: int | None = None,
    submission: Path | None = None,
    sandbox: str = "nsjail",
    copier: str = "copy",
    include_retired: bool = False,
) -> Evaluation:
    """Grade a suite's calibration candidates, or with `submission` the user's own.

    `sandbox` names the plugin that makes the jails, `copier` the one that makes workspaces;
    where that one does not work, `copy` is used, and the run says why. Retired tasks are graded
    only with `include_retired` or when `only` names them.

    Raises the first error of loading, UsageError for a place to write that lies inside a
    task's folder, then SandboxUnavailable, RevisionMismatch,
    RuntimeUnavailable; whatever happens after that is in the records.
    """
    registry = Registry()
    suite = open_suite(location, registry)
    tasks = load_tasks(suite, only)
    refuse_places_inside(suite, tasks, folder)
    problems: tuple[str, ...] = ()
    submissions: tuple[Candidate, ...] | None = None
    if submission is not None:
        loaded = load_candidates(str(submission), suite.task_ids(), registry)
        submissions, problems = loaded.candidates, loaded.problems
    components = open_components(registry, sandbox=sandbox, copier=copier)
    if copier != "copy":
        with scratch_folder(components) as scratch:
            components = with_working_copier(components, scratch)
    plan = make_plan(
        suite,
        tasks,
        components,
        only=only,
        limit=limit,
        submissions=submissions,
        include_retired=include_retired,
    )
    if not plan.specs:
        raise RuntimeUnavailable(
            "every task was skipped: "
            + "; ".join(f"{item.task}: {item.reason}" for item in plan.skipped)
        )
    result = execute(plan, components, observer, folder=folder, workers=workers)
    return Evaluation(plan, result, problems, components.fallback)


def grade(
    task: BenchmarkTask,
    candidate: Candidate | Path | str | Mapping[str, bytes | str],
    *,
    sandbox: str = "nsjail",
) -> Verdict:
    """Grade one candidate in this process, without a run folder.

    `candidate` is a patch file or a folder (a path), the new content of files by relative
    path (a mapping), or a loaded Candidate; `sandbox` names the plugin that makes the jails.
    Raises what loading raises, SandboxUnavailable,
    RuntimeUnavailable, and Ungradable when the untouched fixture does not give the declared
    baseline; a trial that fails for our own reasons gives an `invalid` verdict.
    """
    return grade_trial(task, candidate, sandbox=sandbox).verdict


async def agrade(
    task: BenchmarkTask,
    candidate: Candidate | Path | str | Mapping[str, bytes | str],
    *,
    sandbox: str = "nsjail",
) -> Verdict:
    """`grade` for asyncio: the jails run in a thread, the event loop stays free."""
    return await asyncio.to_thread(grade, task, candidate, sandbox=sandbox)


def grade_trial(
    task: BenchmarkTask,
    candidate: Candidate | Path | str | Mapping[str, bytes | str],
    *,
    sandbox: str = "nsjail",
) -> TrialRecord:
    """Like `grade`, with everything that was measured."""
    if not any(grader.required for grader in task.task.graders):
        raise InvalidInput(f"task {task.id}: no required grader")
    loaded = _one_candidate(task, candidate)
    components = open_components(Registry(), sandbox=sandbox)
    pins = revision(task, components.hasher)
    spec = trial_spec(task.suite, task, pins, loaded)
    task_id = task.id
    runtimes = prepare_runtimes(components, {task_id: task})
    if reason := lacking(task, components, runtimes[task_id]):
        raise RuntimeUnavailable(f"task {task_id}: {reason}")
    with (
        scratch_folder(components) as scratch,
        temporary_folder("artifacts") as artifacts,
    ):
        run = WorkerFactory(
            tasks={task_id: task},
            candidates={(task_id, loaded.id): loaded},
            runtimes=runtimes,
            scratch=scratch,
            artifacts=artifacts,
            hasher=components.hasher.contract,
            copier=components.copier.name,
            sandbox=components.sandbox.name,
        )()
        probe = run(baseline_spec(spec))
        if probe.verdict.status is VerdictStatus.INVALID:
            reasons = ", ".join(reason.value for reason in probe.verdict.reasons)
            raise Ungradable(f"task {task_id}: {reasons}: {probe.error}")
        references = reference_runs({task_id: task}, [spec], lambda specs: map(run, specs))
        for found in references.values():
            if found.failed is not None:
                raise Ungradable(f"task {task_id}: {found.failed.error}")
        return run(under_references(spec, references))


def _one_candidate(
    task: BenchmarkTask, candidate: Candidate | Path | str | Mapping[str, bytes | str]
) -> Candidate:
    if isinstance(candidate, Candidate):
        return candidate
    if isinstance(candidate, Mapping):
        content = {
            path: text.encode() if isinstance(text, str) else text
            for path, text in candidate.items()
        }
        loose = Candidate("candidate", task.id, CandidateKind.FILES, Digest(""), files=content)
        return evolve(loose, digest=candidate_digest(loose))
    loaded = load_candidates(str(candidate), (task.id,))
    if loaded.problems:
        raise UsageError(loaded.problems[0])
    if len(loaded.candidates) != 1:
        raise UsageError(f"expected one candidate, found {len(loaded.candidates)}")
    return loaded.candidates[0]

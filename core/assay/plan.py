"""What a run will do, worked out and checked before the first jail.

The revision gate is here: every digest that the suite pins must hold, or nothing starts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attrs import frozen

from assay.api import (
    Candidate,
    Digest,
    Hasher,
    InvalidInput,
    RevisionMismatch,
    Runtime,
    SuiteHeader,
    TaskPins,
    TrialSpec,
    UsageError,
)
from assay.benchmark import BenchmarkTask
from assay.canonical import digest_json
from assay.host import Components
from assay.locking import compute_pins
from assay.record_json import to_plain
from assay.services import service_tools
from assay.suites import Suite
from assay.surroundings import FAKETIME, fakes_time

__all__ = [
    "Plan",
    "Skipped",
    "lacking",
    "load_tasks",
    "make_plan",
    "prepare_runtimes",
    "revision",
    "trial_spec",
]


@frozen
class Skipped:
    """A task that this host can't run, and what it lacks."""

    task: str
    reason: str


@frozen
class Plan:
    """All trials of a run, in order, and what they need; mappings are by task id."""

    header: SuiteHeader
    tasks: Mapping[str, BenchmarkTask]
    revisions: Mapping[str, TaskPins]
    runtimes: Mapping[str, Runtime]
    candidates: Mapping[tuple[str, str], Candidate]
    specs: tuple[TrialSpec, ...]
    skipped: tuple[Skipped, ...]
    retired: tuple[Skipped, ...]
    """Tasks that are no longer used and were not asked for, with the reasons."""
    submitted: bool
    """Whether the candidates came from the user rather than with the suite."""


def load_tasks(suite: Suite, only: Collection[str] = ()) -> dict[str, BenchmarkTask]:
    """Load every task of the suite, so that an error anywhere shows before anything runs.

    Raises UsageError for an unknown id in `only`, InvalidInput for a task without a
    required grader, and whatever loading a task raises.
    """
    if set(only) - set(suite.task_ids()):
        raise UsageError(f"unknown task; known: {', '.join(suite.task_ids())}")
    loaded = {task_id: suite.task(task_id) for task_id in suite.task_ids()}
    for task_id, benchmark in loaded.items():
        if not any(grader.required for grader in benchmark.task.graders):
            raise InvalidInput(f"task {task_id}: no required grader")
    return loaded


def make_plan(
    suite: Suite,
    loaded: Mapping[str, BenchmarkTask],
    components: Components,
    *,
    only: Collection[str] = (),
    limit: int | None = None,
    submissions: tuple[Candidate, ...] | None = None,
    include_retired: bool = False,
) -> Plan:
    """Check pins, prepare runtimes, list the trials.

    Retired tasks are left out unless they are in `only`, or with `include_retired`.

    Raises RevisionMismatch for a digest that differs from its pin, RuntimeUnavailable,
    InvalidInput for a run without a trial.
    """
    revisions = {task_id: revision(task, components.hasher) for task_id, task in loaded.items()}
    chosen = {task_id: task for task_id, task in loaded.items() if not only or task_id in only}
    retired = (
        ()
        if include_retired
        else tuple(
            Skipped(task_id, str(task.task.retired["reason"]))
            for task_id, task in sorted(chosen.items())
            if task.task.retired is not None and task_id not in only
        )
    )
    for item in retired:
        del chosen[item.task]
    runtimes = prepare_runtimes(components, chosen)
    skipped = tuple(
        Skipped(task_id, reason)
        for task_id, task in sorted(chosen.items())
        if (reason := lacking(task, components, runtimes[task_id]))
    )
    for item in skipped:
        del chosen[item.task]
    candidates = {
        (task_id, candidate.id): candidate
        for task_id in chosen
        for candidate in (
            suite.candidates(task_id)
            if submissions is None
            else [item for item in submissions if item.task == task_id]
        )
    }
    specs = sorted(
        (
            trial_spec(suite.header.id, chosen[task_id], revisions[task_id], candidate)
            for (task_id, _), candidate in candidates.items()
        ),
        key=lambda spec: spec.key,
    )[:limit]
    if not specs and not skipped:
        problem = "every task is retired" if retired and not chosen else "no candidate to grade"
        raise InvalidInput(f"suite {suite.header.id}: {problem}")
    return Plan(
        header=suite.header,
        tasks={task_id: chosen[task_id] for task_id in sorted({spec.task for spec in specs})},
        revisions=revisions,
        runtimes=runtimes,
        candidates=candidates,
        specs=tuple(specs),
        skipped=skipped,
        retired=retired,
        submitted=submissions is not None,
    )


def trial_spec(
    suite_id: str, benchmark: BenchmarkTask, pins: TaskPins, candidate: Candidate
) -> TrialSpec:
    """The first attempt of one candidate at one task."""
    return TrialSpec(
        suite=suite_id,
        task=benchmark.task.id,
        candidate=candidate.id,
        attempt=1,
        task_digest=pins.task,
        fixture_digest=pins.fixture.digest,
        hidden_digest=None if pins.hidden is None else pins.hidden.digest,
        candidate_digest=candidate.digest,
        seed=benchmark.task.seed,
    )


def revision(benchmark: BenchmarkTask, hasher: Hasher) -> TaskPins:
    """Digests of a task's content as it is now; raises RevisionMismatch when pins differ."""
    found, pins = compute_pins(benchmark, hasher), benchmark.pins
    if pins is not None and pins != found:
        names = [
            name
            for name in ("fixture", "hidden", "trees", "task", "version")
            if getattr(pins, name) != getattr(found, name)
        ]
        raise RevisionMismatch(
            f"task {benchmark.id}: {', '.join(names)} differs from the digest in suite.json"
        )
    return found


def prepare_runtimes(
    components: Components, tasks: Mapping[str, BenchmarkTask]
) -> dict[str, Runtime]:
    """The runtime of each task; tasks that declare the same one share it."""
    by_declaration: dict[Digest, Runtime] = {}
    runtimes: dict[str, Runtime] = {}
    for task_id, benchmark in tasks.items():
        key = digest_json(to_plain(benchmark.task.runtime))
        if key not in by_declaration:
            by_declaration[key] = components.sandbox.runtime(
                benchmark.task.runtime, components.store, components.hasher
            )
        runtimes[task_id] = by_declaration[key]
    return runtimes


def lacking(benchmark: BenchmarkTask, components: Components, runtime: Runtime) -> str:
    """What the task or one of its graders needs and the runtime lacks; empty for nothing."""
    needed = set(benchmark.task.runtime.get("tools", ()))
    needed |= service_tools(benchmark.task)
    needed |= {FAKETIME} if fakes_time(benchmark.task) else set()
    for spec in benchmark.task.graders:
        grader, options = components.registry.grader(spec, "task.json", f"graders.{spec.id}")
        needed |= set(grader.needs(options, benchmark.task).tools)
    if benchmark.task.services and not components.sandbox.capabilities().listening:
        return "services: not possible in this sandbox"
    return "; ".join(
        f"{tool}: {runtime.unavailable.get(tool, 'not in the runtime')}"
        for tool in sorted(needed - set(runtime.tools))
    )

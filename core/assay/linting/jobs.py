"""What is run of one task to drive it, worked out before the first jail.

Mutants exist in memory only, as candidates like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from assay.api import (
    Candidate,
    CandidateKind,
    CandidateMalformed,
    Digest,
    Edits,
    Grader,
    ModalGrader,
    TaskPins,
    Trust,
    VerdictStatus,
)
from assay.api.files import open_root, opened, read_file
from assay.benchmark import BenchmarkTask
from assay.candidate_manifest import candidate_digest
from assay.candidates import edits
from assay.host import Components, prepare_task
from assay.mutants import make_mutants
from assay.plan import Skipped, lacking, prepare_runtimes, revision
from assay.prepared import PreparedTask, stored_path
from assay.suites import Suite

__all__ = ["BASE", "GOLD", "WAYS", "Job", "make_job"]

GOLD, BASE = "@gold", "@base"
"""Names that no candidate can have; a mutant's is `@mutant-N`."""
WAYS = ("isolated", "in-process")


@frozen
class Job:
    """One task to drive: what is run, by the name it goes by, and what is wrong with it."""

    prepared: PreparedTask
    suite: str
    pins: TaskPins
    modes: Mapping[str, Mapping[str, Any]]
    """Options by grader, then by way."""
    candidates: Mapping[str, Candidate | None]
    labels: Mapping[str, str]

    @property
    def task_id(self) -> str:
        """The task's id."""
        return self.prepared.benchmark.id

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways that at least one grader has."""
        return tuple(way for way in WAYS if any(way in found for found in self.modes.values()))


def make_job(
    suite: Suite, benchmark: BenchmarkTask, components: Components, mutants: int
) -> Job | Skipped:
    """The job of one task with at most so many mutants, or why it can't be driven.

    Raises MutantsUnavailable, RuntimeUnavailable.
    """
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
    return Job(
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
    """Options for both ways, as far as the grader has them.

    In one process its own mode counts, else the one with the least trust, which is the plainest.
    """
    if not isinstance(grader, ModalGrader):
        return {}
    modes = grader.modes(options, benchmark.task)
    below = sorted((trust for trust in modes if trust < Trust.ISOLATED), key=_rank)
    own = [modes[trust] for trust in below if modes[trust] == options]
    found = {"isolated": modes[Trust.ISOLATED]} if Trust.ISOLATED in modes else {}
    return {**found, **({"in-process": (own or [modes[below[0]]])[0]} if below else {})}


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
            _candidate(f"@mutant-{number}", gold, wish, {**after, mutant.path: mutant.content}),
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

"""The parts of this host that trials work with, found by name through the registry.

The worker that runs a trial builds its own host; what it is built from is picklable and
holds the prepared runtime, so that every worker of a run uses the same one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path

from attrs import evolve, field, frozen

from assay.api import (
    Candidate,
    Copier,
    Hasher,
    HostIds,
    Limits,
    Prepared,
    Reason,
    Runtime,
    RunTrial,
    Sandbox,
    SandboxUnavailable,
    TrialRecord,
    TrialSpec,
)
from assay.api.files import open_root, opened, read_file
from assay.api.folders import temporary_folder
from assay.artifacts import ArtifactLimits
from assay.baseline import BASELINE
from assay.benchmark import BenchmarkTask
from assay.fixture_repository import commit_date, repository_files
from assay.fixtures import Source
from assay.ledger import ArtifactFolder
from assay.metering import MeteredSandbox
from assay.plugins import Registry
from assay.prepared import PreparedTask, TrialHost
from assay.redaction import host_redactor
from assay.reference import measured, reference_id
from assay.revisions import task_digest
from assay.store import Store, default_store_root
from assay.tree import tree_manifest
from assay.trial import run_trial

__all__ = [
    "Components",
    "Fallback",
    "WorkerFactory",
    "mountable",
    "open_components",
    "prepare_task",
    "reachable",
]


@frozen
class Fallback:
    """The copier that was asked for, and why another one is used."""

    asked: str
    reason: str


_MOST_RUNS = 3
"""How often a candidate is run at most: a gold one is a reference twice before it is graded."""


@frozen
class Components:
    """The plugins that a run uses, and its store."""

    registry: Registry
    hasher: Hasher
    copier: Copier
    sandbox: Sandbox
    store: Store
    fallback: Fallback | None = None


def open_components(
    registry: Registry,
    *,
    hasher: str = "assay-tree-v1",
    copier: str = "copy",
    sandbox: str = "nsjail",
) -> Components:
    """Load the named plugins; raises SandboxUnavailable when this host can't make jails."""
    box: Sandbox = registry.load("assay.sandboxes", sandbox)()
    capabilities = box.capabilities()
    if not capabilities.available:
        raise SandboxUnavailable(capabilities.layer, capabilities.fix)
    digester: Hasher = registry.load("assay.hashers", hasher)()
    root = default_store_root()
    if not mountable(root):
        raise SandboxUnavailable(
            "the store's path is not plain text", "set ASSAY_STORE to a path in UTF-8 of one line"
        )
    store = Store(root, digester, capabilities.ids)
    if capabilities.ids is not None and not reachable(store.root, capabilities.ids):
        raise SandboxUnavailable(
            f"user id {capabilities.ids.uid}, which jails run as, can't get into the store",
            "set ASSAY_STORE to a folder outside of private ones",
        )
    return Components(registry, digester, registry.load("assay.copiers", copier)(), box, store)


def mountable(folder: Path) -> bool:
    """Whether a jail's configuration can hold the path: UTF-8 without control characters."""
    path = str(folder.absolute())
    return not any(unicodedata.category(char) in ("Cc", "Cs") for char in path)


def reachable(folder: Path, ids: HostIds) -> bool:
    """Whether a user can pass through to a folder, by the mode of each folder on the way."""
    for place in (folder, *folder.absolute().parents):
        info = place.stat()
        shift = 6 if info.st_uid == ids.uid else 3 if info.st_gid == ids.gid else 0
        if not info.st_mode >> shift & 1:
            return False
    return True


def prepare_task(
    components: Components, benchmark: BenchmarkTask, runtime: Runtime
) -> PreparedTask:
    """Put a task's trees into the store and structure its graders' options."""
    graders = {
        spec.id: components.registry.grader(spec, "task.json", f"graders.{spec.id}")
        for spec in benchmark.task.graders
    }
    source = Source(benchmark.id, benchmark.fixture, components.hasher)
    hidden = None if benchmark.hidden is None else _prepared(components, benchmark.hidden)
    trees = {name: _prepared(components, folder) for name, folder in benchmark.trees.items()}
    return PreparedTask(
        benchmark,
        components.copier.prepare(benchmark.fixture, source.manifest, components.store),
        hidden,
        _repository(components, benchmark) if benchmark.task.git else None,
        trees,
        task_digest(
            benchmark.task,
            None if hidden is None else hidden.manifest.ref.digest,
            trees={name: tree.manifest.ref.digest for name, tree in trees.items()},
        ),
        runtime,
        {grader_id: grader for grader_id, (grader, _) in graders.items()},
        {grader_id: options for grader_id, (_, options) in graders.items()},
        source,
    )


def _under(limits: Limits | None, prepared: PreparedTask) -> PreparedTask:
    """The task with limits of a reference run, if there are any, in place of its own."""
    if limits is None:
        return prepared
    benchmark = prepared.benchmark
    return evolve(prepared, benchmark=evolve(benchmark, task=evolve(benchmark.task, limits=limits)))


def _prepared(components: Components, folder: str) -> Prepared:
    manifest = tree_manifest(folder, components.hasher)
    return components.copier.prepare(folder, manifest, components.store)


def _repository(components: Components, benchmark: BenchmarkTask) -> Prepared:
    """The fixture's repository, in the store; it has the same digest on every host."""
    manifest = tree_manifest(benchmark.fixture, components.hasher)
    with opened(open_root(benchmark.fixture)) as root:
        files = repository_files(
            manifest,
            lambda entry: read_file(root, entry.path, entry.size),
            commit_date(benchmark.task),
        )
    with temporary_folder("repository") as outer:
        folder = outer / "content"
        for path, content in files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        return _prepared(components, str(folder))


@frozen
class WorkerFactory:
    """Makes the trial function of one worker process; runtimes by task id."""

    tasks: Mapping[str, BenchmarkTask]
    candidates: Mapping[tuple[str, str], Candidate] = field(repr=False)
    runtimes: Mapping[str, Runtime] = field(repr=False)
    scratch: str
    artifacts: Path
    hasher: str
    copier: str
    sandbox: str

    def __call__(self) -> RunTrial:
        """Open this worker's components; trees are prepared at first use."""
        components = open_components(
            Registry(), hasher=self.hasher, copier=self.copier, sandbox=self.sandbox
        )
        host = TrialHost(
            hasher=components.hasher,
            copier=components.copier,
            sandbox=components.sandbox,
            store=components.store,
            scratch=self.scratch,
            artifacts=ArtifactFolder(self.artifacts),
            redactor=host_redactor(),
            limits=ArtifactLimits.of_run(_MOST_RUNS * len(self.candidates) + len(self.tasks)),
        )
        prepared: dict[str, PreparedTask] = {}

        def run(spec: TrialSpec) -> TrialRecord:
            record = trial(spec)
            if Reason.COPY_FAILED in record.verdict.reasons:
                # A stored tree may have been damaged: it is verified, and made anew if need be.
                prepared.pop(spec.task, None)
                components.store.verify_again()
            return record

        def trial(spec: TrialSpec) -> TrialRecord:
            if spec.task not in prepared:
                prepared[spec.task] = prepare_task(
                    components, self.tasks[spec.task], self.runtimes[spec.task]
                )
            task = _under(spec.limits, prepared[spec.task])
            if spec.candidate == BASELINE:
                return run_trial(host, task, None, spec)
            gold = {reference_id(item.id): item for item in task.benchmark.references}
            if spec.candidate in gold:
                meter = MeteredSandbox(host.sandbox)
                metered = evolve(host, sandbox=meter)
                record = run_trial(metered, task, gold[spec.candidate], spec)
                return measured(record, task.benchmark, meter)
            return run_trial(host, task, self.candidates[spec.task, spec.candidate], spec)

        return run

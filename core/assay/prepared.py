"""A task and a host made ready for trials, and what a grader is given of both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from assay.api import (
    Artifacts,
    ChangeSet,
    Copier,
    CopyFailed,
    Digest,
    Grader,
    GraderSpec,
    Hasher,
    Prepared,
    Runtime,
    Sandbox,
    Store,
    TreeManifest,
)
from assay.artifacts import ArtifactLimits
from assay.benchmark import BenchmarkTask
from assay.fixtures import Source
from assay.grading import GradingContext
from assay.grading_trees import GradingTrees
from assay.ledger import ArtifactFolder
from assay.redaction import Redactor

__all__ = ["PreparedTask", "TrialHost", "grading_context", "stored_path"]


@frozen
class PreparedTask:
    """A task whose trees are in the store, verified against their digests."""

    benchmark: BenchmarkTask
    prepared: Prepared
    hidden: Prepared | None
    repository: Prepared | None
    trees: Mapping[str, Prepared]
    revision: Digest
    """Digest of what was put there and of the task: that of the plan, or nothing is graded."""
    runtime: Runtime
    graders: Mapping[str, Grader]
    options: Mapping[str, Any]
    source: Source | None = None
    """The fixture itself, as this process knows it; None to look at it anew each time."""


@frozen
class TrialHost:
    """The parts of this host that a trial works with."""

    hasher: Hasher
    copier: Copier
    sandbox: Sandbox
    store: Store
    scratch: str
    artifacts: ArtifactFolder
    redactor: Redactor
    limits: ArtifactLimits = ArtifactLimits()


def grading_context(
    host: TrialHost,
    task: PreparedTask,
    trees: GradingTrees,
    changes: ChangeSet,
    tree: TreeManifest,
    grader: GraderSpec,
    artifacts: Artifacts,
    *,
    probing: bool,
) -> GradingContext:
    """What one grader of one trial works with; `probing` when there is no candidate."""
    hidden = task.hidden.manifest if task.hidden is not None else None
    return GradingContext(
        task=task.benchmark.task,
        spec=grader,
        options=task.options[grader.id],
        tree=tree,
        hidden=hidden,
        change_set=changes,
        runtime=task.runtime,
        artifacts=artifacts,
        redactor=host.redactor,
        sandbox=host.sandbox,
        trees=trees,
        fixture_trees=trees.of_trusted(task.prepared),
        hidden_trees=None if task.hidden is None else trees.of_trusted(task.hidden),
        repository=None if task.repository is None else trees.of_trusted(task.repository),
        fixture_source=stored_path(host.store, task.prepared.manifest),
        hidden_source=None if hidden is None else stored_path(host.store, hidden),
        sources={name: stored_path(host.store, one.manifest) for name, one in task.trees.items()},
        probing=probing,
    )


def stored_path(store: Store, manifest: TreeManifest) -> str:
    """Host path of a tree that must be in the store; raises CopyFailed when it is not."""
    path = store.tree(manifest.ref)
    if path is None:
        raise CopyFailed(f"tree {manifest.ref.digest} is not in the store")
    return path

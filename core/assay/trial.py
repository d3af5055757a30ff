"""One trial: from a candidate's bytes to a verdict, and out again without a trace.

A trial is a function of its spec. Only what was measured enters the verdict; whatever goes
wrong on our side makes it `invalid`. On leaving, each step runs whatever the earlier raised:
jails are closed, the source is digested again, the workspace is removed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from assay.api import (
    Candidate,
    CandidateMalformed,
    ChangeSet,
    Contaminated,
    Copier,
    CopyFailed,
    Digest,
    Edits,
    Facts,
    Grader,
    GraderSpec,
    Hasher,
    InvalidInput,
    Prepared,
    Reason,
    RelPath,
    Runtime,
    Sandbox,
    Store,
    TreeManifest,
    TrialRecord,
    TrialSpec,
    Workspace,
)
from assay.api.changes import compare, edited_manifest
from assay.api.files import open_root, read_file
from assay.baseline import baseline_verdict
from assay.benchmark import BenchmarkTask
from assay.boundary import judge, permitted_edits
from assay.candidates import edits as read_edits
from assay.claims import check as check_claims
from assay.decide import decide
from assay.draft import Draft, grader_timing
from assay.fixtures import UNREADABLE, Source, SourceGuard
from assay.grading import GradingContext
from assay.grading_trees import GradingTrees
from assay.leaving import leave_trial
from assay.ledger import ArtifactFolder
from assay.measure import measure

__all__ = ["PreparedTask", "TrialHost", "run_trial"]


@frozen
class PreparedTask:
    """A task whose trees are in the store, verified against their digests."""

    benchmark: BenchmarkTask
    prepared: Prepared
    hidden: Prepared | None
    repository: Prepared | None
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


def run_trial(
    host: TrialHost, task: PreparedTask, candidate: Candidate | None, spec: TrialSpec
) -> TrialRecord:
    """Grade one candidate, or with None the untouched fixture (the baseline probe).

    An interruption passes through, after the same leaving; everything else becomes part of
    the record.
    """
    draft = Draft(spec)
    guard: SourceGuard | None = None
    workspace: list[Workspace] = []
    try:
        with draft.stage("source"):
            guard = _guard(host, task, spec)
            draft.source_before = guard.before
            draft.source_check = guard.source_check
        _measure_all(host, task, candidate, draft, workspace)
    except CandidateMalformed as error:
        draft.rejected |= {error.reason}
        draft.error = error.rule
    except Contaminated as error:
        draft.source_after = Digest(error.after)
        draft.fail(Reason.SOURCE_CONTAMINATED, error)
    except Exception as error:
        draft.blame(error)
    finally:
        leave_trial(draft, guard, workspace)
    return _record(host, task, draft, candidate)


def _guard(host: TrialHost, task: PreparedTask, spec: TrialSpec) -> SourceGuard:
    """The source as the plan found it; raises Contaminated when it is another one by now."""
    try:
        guard = SourceGuard(spec.task, task.benchmark.fixture, host.hasher, task.source)
    except (InvalidInput, OSError) as error:
        raise Contaminated(spec.task, spec.fixture_digest, UNREADABLE) from error
    if guard.before != spec.fixture_digest:
        raise Contaminated(spec.task, spec.fixture_digest, guard.before)
    return guard


def _measure_all(
    host: TrialHost,
    task: PreparedTask,
    candidate: Candidate | None,
    draft: Draft,
    opened: list[Workspace],
) -> None:
    base = task.prepared.manifest
    with draft.stage("candidate"):
        wish = Edits() if candidate is None else _wish(host, task, candidate)
        wished = edited_manifest(base, wish, host.hasher)
        draft.change_set = compare(base, wished, binary=lambda path: _is_binary(wish, path))
        draft.boundary = judge(task.benchmark.task, draft.change_set, wish)
        permitted = permitted_edits(wish, draft.boundary)
    with draft.stage("workspace"):
        trees = GradingTrees(
            copier=host.copier,
            prepared=task.prepared,
            scratch=host.scratch,
            hasher=host.hasher,
            ids=host.sandbox.capabilities().ids,
            edits=permitted,
            opened=opened,
        )
        expected, changes = trees.whole()
    with draft.stage("grading"):
        for grader in task.benchmark.task.graders:
            context = _context(host, task, trees, changes, expected, grader)
            with draft.timed(grader_timing(grader.id)):
                draft.facts += (measure(task.graders[grader.id], context),)
    if candidate is not None:
        with draft.stage("claims"):
            draft.claims = check_claims(task.benchmark.task, candidate, draft.facts)


def _wish(host: TrialHost, task: PreparedTask, candidate: Candidate) -> Edits:
    manifest = task.prepared.manifest
    sizes = {entry.path: entry.size for entry in manifest.entries}
    root = open_root(stored_path(host.store, manifest))
    try:
        return read_edits(
            candidate, manifest, lambda path: read_file(root, path, sizes.get(path, 0))
        )
    finally:
        os.close(root)


def _is_binary(wish: Edits, path: RelPath) -> bool:
    write = wish.writes.get(path)
    return write is not None and b"\0" in write.content


def _context(
    host: TrialHost,
    task: PreparedTask,
    trees: GradingTrees,
    changes: ChangeSet,
    tree: TreeManifest,
    grader: GraderSpec,
) -> GradingContext:
    hidden = task.hidden.manifest if task.hidden is not None else None
    return GradingContext(
        task=task.benchmark.task,
        spec=grader,
        options=task.options[grader.id],
        tree=tree,
        hidden=hidden,
        change_set=changes,
        runtime=task.runtime,
        artifacts=host.artifacts,
        sandbox=host.sandbox,
        trees=trees,
        fixture_trees=trees.of_trusted(task.prepared),
        hidden_trees=None if task.hidden is None else trees.of_trusted(task.hidden),
        repository=None if task.repository is None else trees.of_trusted(task.repository),
        fixture_source=stored_path(host.store, task.prepared.manifest),
        hidden_source=None if hidden is None else stored_path(host.store, hidden),
    )


def stored_path(store: Store, manifest: TreeManifest) -> str:
    """Host path of a tree that must be in the store; raises CopyFailed when it is not."""
    path = store.tree(manifest.ref)
    if path is None:
        raise CopyFailed(f"tree {manifest.ref.digest} is not in the store")
    return path


def _record(
    host: TrialHost, task: PreparedTask, draft: Draft, candidate: Candidate | None
) -> TrialRecord:
    if candidate is None:
        verdict = baseline_verdict(task.benchmark.task, draft)
    else:
        verdict = decide(
            task.benchmark.task,
            boundary=draft.boundary,
            facts=draft.facts,
            claims=draft.claims,
            candidate_reasons=draft.rejected,
            invalid=draft.invalid,
            diagnostic=host.sandbox.capabilities().diagnostic,
        )
    return TrialRecord(
        spec=draft.spec,
        verdict=verdict,
        stages=draft.stages,
        change_set=draft.change_set,
        boundary=draft.boundary,
        facts=draft.facts,
        claims=draft.claims,
        source_before=draft.source_before,
        source_after=draft.source_after,
        source_check=draft.source_check,
        touched=draft.touched,
        workspace_removed=not draft.leaks,
        leaks=draft.leaks,
        workspaces=draft.workspaces,
        usage=_usage(draft.facts),
        timings=draft.timings,
        error=draft.error,
        retryable=draft.retryable,
    )


def _usage(facts: tuple[Facts, ...]) -> dict[str, float]:
    outcomes = [fact.outcome for fact in facts if fact.outcome is not None]
    return {
        "cpu": sum(outcome.cpu for outcome in outcomes),
        "wall": sum(outcome.wall for outcome in outcomes),
        "peak_memory": max((outcome.peak_memory for outcome in outcomes), default=0),
    }

"""One trial: from a candidate's bytes to a verdict, and out again without a trace.

A trial is a function of its spec. Only what was measured enters the verdict; whatever goes
wrong on our side makes it `invalid`. On leaving, each step runs whatever the earlier raised:
jails are closed, the source is digested again, the workspace is removed.
"""

from __future__ import annotations

import os

from attrs import evolve

from assay.api import (
    Candidate,
    CandidateMalformed,
    Contaminated,
    Digest,
    Edits,
    InvalidInput,
    Reason,
    RelPath,
    RevisionMismatch,
    TrialRecord,
    TrialSpec,
    Workspace,
)
from assay.api.changes import compare, edited_manifest
from assay.api.files import open_root, read_file
from assay.artifacts import GraderArtifacts, TrialArtifacts, export
from assay.baseline import baseline_verdict
from assay.boundary import judge, permitted_edits
from assay.candidates import edits as read_edits
from assay.claims import check as check_claims
from assay.decide import decide
from assay.draft import Draft, grader_timing, trees_timing
from assay.fixtures import UNREADABLE, SourceGuard
from assay.grading_trees import GradingTrees
from assay.leaving import leave_trial
from assay.measure import measure
from assay.prepared import PreparedTask, TrialHost, grading_context, stored_path

__all__ = ["run_trial"]


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
    artifacts = TrialArtifacts(host.artifacts, host.redactor, host.limits)
    try:
        with draft.stage("source"), draft.timed(trees_timing("hash")):
            guard = _guard(host, task, spec)
            draft.source_before = guard.before
            draft.source_check = guard.source_check
            if task.revision != spec.task_digest:
                raise RevisionMismatch(f"task {spec.task}: changed after the run was planned")
        _measure_all(host, task, candidate, draft, workspace, artifacts)
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
    return host.redactor.record(_record(host, task, draft, candidate, artifacts))


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
    artifacts: TrialArtifacts,
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
            timed=lambda work: draft.timed(trees_timing(work)),
        )
        expected, changes = trees.whole()
    with draft.stage("grading"):
        for grader in task.benchmark.task.graders:
            put = GraderArtifacts(artifacts, grader.id)
            context = grading_context(
                host, task, trees, changes, expected, grader, put, probing=candidate is None
            )
            with draft.timed(grader_timing(grader.id)):
                facts = measure(task.graders[grader.id], context)
            draft.facts += (evolve(facts, artifacts=artifacts.kept(facts.artifacts)),)
        if task.benchmark.task.artifacts:
            export(trees.at_rest(), task.benchmark.task.artifacts, artifacts)
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


def _record(
    host: TrialHost,
    task: PreparedTask,
    draft: Draft,
    candidate: Candidate | None,
    artifacts: TrialArtifacts,
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
        usage=draft.usage,
        timings=draft.timings,
        error=draft.error,
        retryable=draft.retryable,
        artifacts=artifacts.notes(),
    )

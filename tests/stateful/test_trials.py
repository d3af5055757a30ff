"""Trials in any order, with any end: the source never changes and nothing is left."""

from __future__ import annotations

import errno
import functools
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from attrs import evolve, frozen
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.records import facts
from support.tiny import BROKEN, FIXED, make_suite

from assay import load_benchmark_task
from assay.api import (
    Candidate,
    CandidateKind,
    Facts,
    GradeContext,
    GraderNeeds,
    GraderRole,
    GraderUnfit,
    NoSpace,
    Reason,
    Runtime,
    SandboxFailed,
    Task,
    TestOutcome,
    TrialRecord,
    Trust,
    VerdictStatus,
)
from assay.api.folders import MARKER
from assay.candidate_manifest import candidate_digest
from assay.fixtures import SourceGuard
from assay.host import Components, open_components, prepare_task
from assay.ledger import ArtifactFolder
from assay.plan import revision, trial_spec
from assay.plugins import Registry
from assay.prepared import TrialHost
from assay.redaction import host_redactor
from assay.scratch import scratch_folder
from assay.tree import tree_manifest, tree_ref
from assay.trial import run_trial

CONTENTS = {"fixed": FIXED, "same": BROKEN, "wrong": "def add(a, b):\n    return 5\n"}
PATHS = ("src/calc.py", "README.md", "../outside.py", "src/__pycache__/x.pyc")

ENDS: dict[str, Callable[[], TestOutcome]] = {}


def _end(action: Callable[[], TestOutcome]) -> Callable[[], TestOutcome]:
    ENDS[action.__name__] = action
    return action


@_end
def passes() -> TestOutcome:
    return TestOutcome.PASSED


@_end
def fails() -> TestOutcome:
    return TestOutcome.FAILED


@_end
def is_unfit() -> TestOutcome:
    raise GraderUnfit("its tool is absent")


@_end
def loses_its_jail() -> TestOutcome:
    raise SandboxFailed("start")


@_end
def has_no_space() -> TestOutcome:
    raise NoSpace("the disk is full")


@_end
def has_a_fault() -> TestOutcome:
    raise ZeroDivisionError("a fault of the grader's own")


@_end
def is_interrupted() -> TestOutcome:
    raise KeyboardInterrupt


@frozen
class Scripted:
    """A grader that ends as it is told, without a jail."""

    end: str
    api: ClassVar[str] = "1.0"
    name: ClassVar[str] = "scripted"
    version: ClassVar[str] = "1"
    Options: ClassVar[type] = object
    max_trust: ClassVar[Trust] = Trust.UNGUARDED

    def check(self, options: Any, task: Task) -> tuple[str, ...]:
        return ()

    def needs(self, options: Any, task: Task) -> GraderNeeds:
        return GraderNeeds()

    def grade(self, ctx: GradeContext) -> Facts:
        return facts(GraderRole.VISIBLE, ENDS[self.end]())


@functools.cache
def _components() -> tuple[Components, Runtime]:
    components = open_components(Registry())
    return components, components.sandbox.runtime({}, components.store, components.hasher)


class Trials(RuleBasedStateMachine):
    """One source, many trials; each ends in some way."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="assay-test-"))
        self.root.chmod(0o711)
        self.task = load_benchmark_task(make_suite(self.root / "suite"), "add")
        components, runtime = _components()
        self.prepared = prepare_task(components, self.task, runtime)
        self.scratch = scratch_folder(components)
        (self.root / "artifacts").mkdir()
        self.host = TrialHost(
            hasher=components.hasher,
            copier=components.copier,
            sandbox=components.sandbox,
            store=components.store,
            scratch=self.scratch.__enter__(),
            artifacts=ArtifactFolder(self.root / "artifacts"),
            redactor=host_redactor(),
        )
        self.pins = revision(self.task, components.hasher)
        self.contaminated = False

    def teardown(self) -> None:
        self.scratch.__exit__(None, None, None)
        assert not Path(self.host.scratch).exists()
        shutil.rmtree(self.root)

    def _run(self, ends: tuple[str, str], files: dict[str, bytes]) -> TrialRecord:
        candidate = Candidate("c", "add", CandidateKind.FILES, self.pins.task, files=files)
        candidate = evolve(candidate, digest=candidate_digest(candidate))
        graders = dict(zip(("visible", "hidden"), map(Scripted, ends), strict=True))
        return run_trial(
            self.host,
            evolve(self.prepared, graders=graders),
            candidate,
            trial_spec("tiny", self.task, self.pins, candidate),
        )

    @rule(
        ends=st.tuples(*[st.sampled_from(sorted(ENDS))] * 2),
        files=st.dictionaries(
            st.sampled_from(PATHS), st.sampled_from(sorted(CONTENTS)), max_size=3
        ),
    )
    def trial(self, ends: tuple[str, str], files: dict[str, str]) -> None:
        contents = {path: CONTENTS[name].encode() for path, name in files.items()}
        reached = ends if ends[0] in ("passes", "fails") else ends[:1]
        if "is_interrupted" in reached and not self.contaminated:
            with pytest.raises(KeyboardInterrupt):
                self._run(ends, contents)
            return
        record = self._run(ends, contents)
        status = record.verdict.status
        if self.contaminated:
            assert record.verdict.reasons == (Reason.SOURCE_CONTAMINATED,)
        elif set(ends) <= {"passes", "fails"}:
            assert status is not VerdictStatus.INVALID
            changed_as_allowed = files in ({"src/calc.py": "fixed"}, {"src/calc.py": "wrong"})
            good = ends == ("passes", "passes") and changed_as_allowed
            assert (status is VerdictStatus.ACCEPTED) is good
        else:
            assert status is VerdictStatus.INVALID
        assert record.workspace_removed

    @precondition(lambda self: not self.contaminated)
    @rule()
    def contaminate(self) -> None:
        (Path(self.task.fixture) / "src" / "calc.py").write_text("# changed\n")
        self.contaminated = True

    @precondition(lambda self: self.contaminated)
    @rule()
    def restore(self) -> None:
        (Path(self.task.fixture) / "src" / "calc.py").write_text(BROKEN)
        self.contaminated = False

    @invariant()
    def the_source_is_as_it_was(self) -> None:
        if not self.contaminated:
            assert tree_ref(self.task.fixture, self.host.hasher) == self.pins.fixture

    @invariant()
    def nothing_is_left(self) -> None:
        assert os.listdir(self.host.scratch) == [MARKER]


Trials.TestCase.settings = settings(max_examples=10, stateful_step_count=10, deadline=None)
TestTrials = Trials.TestCase


def test_an_error_in_the_source_check_does_not_keep_the_workspace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trials = Trials()
    try:

        def is_broken(guard: SourceGuard, **_: bool) -> None:
            raise MemoryError

        monkeypatch.setattr(SourceGuard, "check", is_broken)
        with pytest.raises(MemoryError):
            trials._run(("passes", "passes"), {"src/calc.py": FIXED.encode()})
        trials.nothing_is_left()
    finally:
        trials.teardown()


def test_a_workspace_that_stays_busy_is_told_and_changes_no_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trials = Trials()
    try:
        with monkeypatch.context() as patch:
            patch.setattr("assay.api.folders.remove_marked", _is_busy)
            patch.setattr("time.sleep", lambda _: None)
            record = trials._run(("passes", "passes"), {"src/calc.py": FIXED.encode()})
        assert record.verdict.status is VerdictStatus.ACCEPTED
        assert not record.workspace_removed
        assert record.workspaces == len(record.leaks) == 1
        left = set(os.listdir(trials.host.scratch)) - {MARKER}
        assert left == set(record.leaks)
    finally:
        trials.teardown()


def _is_busy(*_: object) -> None:
    raise OSError(errno.EBUSY, "busy")


def test_a_copy_that_is_cut_short_and_stays_is_invalid_and_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def is_full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    trials = Trials()
    try:
        with monkeypatch.context() as patch:
            patch.setattr("assay.builtin.copier.copy_tree", is_full)
            patch.setattr("assay.api.folders.remove_marked", _is_busy)
            patch.setattr("time.sleep", lambda _: None)
            record = trials._run(("passes", "passes"), {"src/calc.py": FIXED.encode()})
        assert record.verdict.reasons == (Reason.NO_SPACE,)
        assert record.facts == ()
        assert len(record.leaks) == 1
    finally:
        trials.teardown()


def test_a_record_says_what_its_trees_took() -> None:
    trials = Trials()
    try:
        record = trials._run(("passes", "passes"), {"src/calc.py": FIXED.encode()})
        taken = {name for name in record.timings if name.startswith("trees/")}
        assert taken == {"trees/hash", "trees/copy", "trees/freeze", "trees/remove"}
        manifest = tree_manifest(trials.task.fixture, trials.host.hasher)
        assert record.usage["files"] == manifest.files * record.workspaces
        assert record.usage["bytes"] == manifest.bytes * record.workspaces
    finally:
        trials.teardown()

"""What is known of a trial while it runs: stages, facts so far, and whose fault an error is."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from attrs import define, field

from assay.api import (
    AssayError,
    BoundaryFacts,
    ChangeSet,
    ClaimFacts,
    CleanupFailed,
    CopyFailed,
    CopyMismatch,
    Digest,
    Facts,
    Fault,
    Reason,
    RelPath,
    RevisionMismatch,
    SourceCheck,
    StageStatus,
    TrialSpec,
    Unavailable,
    Workspace,
)

__all__ = ["STAGES", "Draft", "grader_timing", "usage"]

STAGES = ("source", "candidate", "workspace", "grading", "claims", "leave")


@define
class Draft:
    """What is known of a running trial."""

    spec: TrialSpec
    stages: dict[str, StageStatus] = field(
        factory=lambda: dict.fromkeys(STAGES, StageStatus.NOT_STARTED)
    )
    change_set: ChangeSet | None = None
    boundary: BoundaryFacts | None = None
    facts: tuple[Facts, ...] = ()
    claims: ClaimFacts | None = None
    source_before: Digest | None = None
    source_after: Digest | None = None
    source_check: SourceCheck = SourceCheck.FULL
    touched: tuple[RelPath, ...] = ()
    rejected: frozenset[Reason] = frozenset()
    invalid: frozenset[Reason] = frozenset()
    leaks: tuple[str, ...] = ()
    workspaces: int = 0
    usage: dict[str, float] = field(factory=dict)
    timings: dict[str, float] = field(factory=dict)
    error: str = ""
    retryable: bool = False

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage and note how it ended."""
        self.stages[name] = StageStatus.FAILED
        with self.timed(name):
            yield
        self.stages[name] = StageStatus.PASSED

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Time a part of the trial; parts of one name are added up."""
        started = time.monotonic()
        try:
            yield
        finally:
            taken = time.monotonic() - started
            self.timings[name] = self.timings.get(name, 0.0) + taken

    def fail(self, reason: Reason, error: BaseException, *, retryable: bool = False) -> None:
        """The trial can't be graded; the first error is the one that is told."""
        self.invalid |= {reason}
        self.error = self.error or one_line(error)
        self.retryable = self.retryable or retryable

    def blame(self, error: BaseException) -> None:
        """What went wrong on our side; a folder that is left hides no other error."""
        if isinstance(error, CleanupFailed):
            self.leaks += (error.temp_id,)
            self.blame(error.__cause__ or CopyFailed("a workspace could not be made"))
        elif isinstance(error, Fault):
            self.fail(error.reason, error, retryable=error.retryable)
        elif isinstance(error, Unavailable):
            self.fail(Reason.SANDBOX_UNAVAILABLE, error)
        elif isinstance(error, CopyMismatch):
            self.fail(Reason.COPY_FAILED, error)
        elif isinstance(error, RevisionMismatch):
            self.fail(Reason.REVISION_MISMATCH, error)
        else:
            self.fail(Reason.ENVIRONMENT_FAILED, error)


def trees_timing(work: str) -> str:
    """Under which name the time for one kind of work on trees is kept."""
    return f"trees/{work}"


def usage(facts: Iterable[Facts], workspaces: Sequence[Workspace]) -> dict[str, float]:
    """What jails and trees took: seconds of graders, bytes of memory, files and bytes copied."""
    outcomes = [fact.outcome for fact in facts if fact.outcome is not None]
    return {
        "cpu": sum(outcome.cpu for outcome in outcomes),
        "wall": sum(outcome.wall for outcome in outcomes),
        "peak_memory": max((outcome.peak_memory for outcome in outcomes), default=0),
        "files": sum(workspace.base.files for workspace in workspaces),
        "bytes": sum(workspace.base.bytes for workspace in workspaces),
    }


def grader_timing(grader_id: str) -> str:
    """Under which name the time that one grader took is kept."""
    return f"grading/{grader_id}"


def one_line(error: BaseException) -> str:
    # Only our own messages are known to be free of content and host paths.
    return str(error) if isinstance(error, AssayError) else type(error).__name__

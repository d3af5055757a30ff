"""What was measured, what was decided, and the record of one trial."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from attrs import field, frozen

from assay.api.jail import Limits, Outcome
from assay.api.reasons import Reason
from assay.api.tasks import Claim, GraderRole, VerdictStatus
from assay.api.trees import BlobRef, ChangeSet, Digest, RelPath, Violation
from assay.api.trust import Trust

__all__ = [
    "ArtifactNote",
    "BoundaryFacts",
    "ClaimFacts",
    "Facts",
    "LeftOut",
    "SourceCheck",
    "StageStatus",
    "TestOutcome",
    "TestResult",
    "TrialRecord",
    "TrialSpec",
    "Verdict",
]


class TestOutcome(Enum):
    """Outcome of one expected test; only PASSED is a pass."""

    __test__ = False

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    ERROR = "error"
    MISSING = "missing"
    DUPLICATE = "duplicate"
    UNKNOWN = "unknown"


@frozen
class TestResult:
    """One test. `message_public` may be shown to a candidate, `message_private` never."""

    __test__ = False

    id: str
    outcome: TestOutcome
    message_public: str = ""
    message_private: str = field(default="", repr=False)


@frozen
class Facts:
    """What one grader measured. It never says accepted or rejected.

    `completed` is False when the grader could not finish for a reason that is the
    candidate's (a limit: see `outcome`). `layers_held` names the guards in force.
    `artifacts` maps a name to the stored bytes.
    """

    grader: str
    plugin: str
    role: GraderRole
    version: str
    options_digest: Digest
    completed: bool
    trust: Trust
    layers_held: tuple[str, ...] = ()
    tests: tuple[TestResult, ...] = ()
    outcome: Outcome | None = None
    measures: Mapping[str, float] = field(factory=dict)
    codes: tuple[str, ...] = ()
    reasons: frozenset[Reason] = frozenset()
    """Rejections measured directly, such as STRUCTURE_FAILED or PROTOCOL_FAULT."""
    artifacts: Mapping[str, BlobRef] = field(factory=dict)
    required: bool = True

    @property
    def passed(self) -> bool:
        """Every expected test passed and nothing else was measured against it."""
        return (
            self.completed
            and not self.reasons
            and (bool(self.tests) or self.role is GraderRole.STRUCTURE)
            and all(test.outcome is TestOutcome.PASSED for test in self.tests)
        )


class LeftOut(Enum):
    """Why an artifact is listed by its digest only."""

    TOO_LARGE = "too-large"
    TOO_MANY = "too-many"
    NO_ROOM = "no-room"
    BINARY = "binary"
    REFUSED = "refused"
    """A link, a FIFO or something else that is no plain file."""
    UNREADABLE = "unreadable"


@frozen
class ArtifactNote:
    """What became of one artifact: `name` is GRADER/NAME, or workspace/PATH for a file.

    `size` in bytes and `digest` are of what was kept, or would have been; `digest` is None for
    what has no content. `left_out` is None for what was kept.
    """

    name: str
    size: int
    digest: Digest | None
    left_out: LeftOut | None = None


@frozen
class BoundaryFacts:
    """The boundary's measurement: what is forbidden, which changes may be graded."""

    violations: tuple[Violation, ...] = ()
    permitted: tuple[RelPath, ...] = ()
    non_empty: bool = False

    @property
    def kept(self) -> bool:
        """No change lies outside the boundary."""
        return not self.violations


@frozen
class ClaimFacts:
    """The candidate's statements against measured facts; None when it made no claim."""

    claim: Claim | None
    agrees: bool | None
    reasons: frozenset[Reason] = frozenset()
    malformed: str = ""
    """The rule that the claim breaks, when it could not be read."""


@frozen
class Verdict:
    """What the gate decided; `decided_by` is the version of the decision function.

    `diagnostic` says what the jails left out on purpose (`Capabilities.diagnostic`).
    """

    status: VerdictStatus
    reasons: tuple[Reason, ...]
    trust: Trust
    decided_by: str
    diagnostic: str = ""


@frozen
class TrialSpec:
    """One trial as pure data without paths: the same spec gives the same result.

    `limits` are those that a reference run of the task gave, None for the task's own.
    """

    suite: str
    task: str
    candidate: str
    attempt: int
    task_digest: Digest
    fixture_digest: Digest
    hidden_digest: Digest | None
    candidate_digest: Digest
    seed: int = 0
    limits: Limits | None = None

    @property
    def key(self) -> tuple[str, str, int]:
        """The order of results: task, candidate, attempt."""
        return self.task, self.candidate, self.attempt


class StageStatus(Enum):
    """How far a stage of a trial came."""

    NOT_STARTED = "not-started"
    PASSED = "passed"
    FAILED = "failed"


class SourceCheck(Enum):
    """How the source fixture was checked around a trial."""

    FULL = "full"
    WITNESS = "witness"


@frozen
class TrialRecord:
    """Everything known of one trial. `workspaces`, `timings`, `usage`: no part of any digest.

    `error` is one line (ids, digests, rules) when the trial is invalid.
    """

    spec: TrialSpec
    verdict: Verdict
    stages: Mapping[str, StageStatus] = field(factory=dict)
    change_set: ChangeSet | None = None
    boundary: BoundaryFacts | None = None
    facts: tuple[Facts, ...] = ()
    claims: ClaimFacts | None = None
    source_before: Digest | None = None
    source_after: Digest | None = None
    source_check: SourceCheck = SourceCheck.FULL
    touched: tuple[RelPath, ...] = ()
    """The first files of the source that were touched, and perhaps changed and restored,
    while the digest stayed the same: a hint that proves nothing, and no part of any digest."""
    workspace_removed: bool = True
    leaks: tuple[str, ...] = ()
    workspaces: int = 0
    """How many workspaces it made."""
    usage: Mapping[str, float] = field(factory=dict)
    timings: Mapping[str, float] = field(factory=dict)
    error: str = ""
    retryable: bool = False
    seq: int = 0
    prev: Digest | None = None
    artifacts: tuple[ArtifactNote, ...] = ()

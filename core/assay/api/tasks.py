"""Suites, tasks and candidates, as loaded: checked, defaults filled in, no host paths."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from attrs import field, frozen

from assay.api.jail import Limits, Network
from assay.api.reasons import Reason
from assay.api.trees import Digest, Op, RelPath, TreeRef
from assay.api.trust import Trust

__all__ = [
    "AllowRule",
    "BaselineResult",
    "Candidate",
    "CandidateKind",
    "Claim",
    "EvidencePolicy",
    "Expectation",
    "GraderRole",
    "GraderSpec",
    "LimitScale",
    "Service",
    "SuiteHeader",
    "Task",
    "TaskChange",
    "TaskPins",
    "VerdictStatus",
]


class VerdictStatus(Enum):
    """What the gate says."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    INVALID = "invalid"


class GraderRole(Enum):
    """What a grader stands for; decides its reason and what a candidate may see."""

    VISIBLE = "visible"
    HIDDEN = "hidden"
    REGRESSION = "regression"
    STRUCTURE = "structure"


class BaselineResult(Enum):
    """What a grader gives on the untouched fixture."""

    PASS = "pass"
    FAIL = "fail"


class EvidencePolicy(Enum):
    """Whether a candidate must say what it measured."""

    REQUIRED = "required"
    OPTIONAL = "optional"


@frozen
class AllowRule:
    """A path pattern and the operations it grants.

    A pattern is matched component by component: `*` and `?` inside one, `**` for any number.
    `binary` grants content with NUL bytes besides `ops`.
    """

    path: str
    ops: frozenset[Op] = frozenset({Op.MODIFIED})
    binary: bool = False


@frozen
class GraderSpec:
    """One grader of a task: its id, the plugin, its role, and the plugin's own options."""

    id: str
    use: str
    role: GraderRole
    options: Mapping[str, Any] = field(factory=dict)
    required: bool = True


@frozen
class LimitScale:
    """Limits follow what a reference run took on the same host, times `factor`.

    `reference` says what is run: `gold` is every candidate that is expected to be accepted.
    """

    factor: float
    reference: str = "gold"


@frozen
class Service:
    """A server that a task's jails find at `port` of their loopback.

    `files` is relative to the task's folder. It is ready when it can be connected to and, unless
    `ready_line` is empty, has said a line with that text; in at most `seconds`.
    """

    id: str
    argv: tuple[str, ...]
    port: int
    files: RelPath | None = None
    ready_line: str = ""
    seconds: float = 10.0


@frozen
class Task:
    """One task with every default filled in.

    `fixture` and `hidden` are relative to the task's folder; `caches` are names of folders in
    `caches` of the task's folder or of the suite's. `baseline` maps a grader's id
    to its result on the untouched fixture (all required graders that it leaves out: FAIL).
    With `scale`, `limits` are the most that the scaled ones may be.
    """

    id: str
    category: str
    prompt: str
    fixture: RelPath
    hidden: RelPath | None = None
    title: str = ""
    graders: tuple[GraderSpec, ...] = ()
    allow: tuple[AllowRule, ...] = ()
    protect: tuple[str, ...] = ()
    baseline: Mapping[str, BaselineResult] = field(factory=dict)
    limits: Limits = field(factory=Limits)
    budgets: Mapping[str, int] = field(factory=dict)
    evidence: EvidencePolicy = EvidencePolicy.OPTIONAL
    runtime: Mapping[str, Any] = field(factory=dict)
    network: Network = Network.NONE
    env: Mapping[str, str] = field(factory=dict)
    seed: int = 0
    clock: str | None = None
    git: Mapping[str, Any] = field(factory=dict)
    services: tuple[Service, ...] = ()
    caches: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    version: int = 1
    retired: Mapping[str, Any] | None = None
    require_trust: Trust = Trust.UNGUARDED
    artifacts: tuple[str, ...] = ()
    scale: LimitScale | None = None


@frozen
class TaskPins:
    """Digests that the suite pins for one task; `hidden` None when it has none.

    `trees` are those of its caches and of its services' files: `caches/NAME`, `services/ID`.
    """

    fixture: TreeRef
    hidden: TreeRef | None
    task: Digest
    trees: Mapping[str, Digest] = field(factory=dict)
    version: int = field(default=1, eq=False)
    """The task's own counting when it was pinned."""


@frozen
class TaskChange:
    """Why the pins of a task were changed; `after` None when the task was taken out.

    `before` and `after` are digests of its pins. `intent` says what the change is for, `grading`
    what it does to how candidates are graded, `comparable` whether results from before and after
    it may stand side by side.
    """

    task: str
    version: int
    before: Digest
    after: Digest | None
    intent: str
    grading: str
    comparable: bool


@frozen
class SuiteHeader:
    """What `suite.json` says; `tasks` in id order."""

    id: str
    categories: tuple[str, ...]
    categories_version: int
    require_trust: Trust = Trust.UNGUARDED
    runtime: Mapping[str, Any] = field(factory=dict)
    plugins: Mapping[str, Any] = field(factory=dict)
    tasks: Mapping[str, TaskPins | None] = field(factory=dict)
    changes: tuple[TaskChange, ...] = ()


class CandidateKind(Enum):
    """How a candidate's work is given."""

    FILES = "files"
    PATCH = "patch"
    AGENT = "agent"


@frozen
class Claim:
    """What a candidate says it measured; None where it says nothing."""

    visible_exit_code: int | None = None
    completed: bool | None = None
    summary: str = ""


@frozen
class Expectation:
    """The verdict a calibration candidate must get.

    Measured reasons must include `required` and lie inside `required | permitted`.
    """

    verdict: VerdictStatus
    required: frozenset[Reason] = frozenset()
    permitted: frozenset[Reason] = frozenset()


@frozen
class Candidate:
    """One candidate for one task, its raw bytes included; nothing of it is trusted yet.

    `files` maps the text of a path, as supplied, to content. `claim` is the raw text of the
    claim. `digest` covers all of it.
    """

    id: str
    task: str
    kind: CandidateKind
    digest: Digest
    files: Mapping[str, bytes] = field(factory=dict, repr=False)
    executables: frozenset[str] = frozenset()
    deletes: tuple[str, ...] = ()
    patch: bytes | None = field(default=None, repr=False)
    claim: bytes | None = field(default=None, repr=False)
    expect: Expectation | None = None
    subject: Mapping[str, str] = field(factory=dict)
    malformed: str = ""
    """The rule that the candidate breaks, when it could not be read at all."""

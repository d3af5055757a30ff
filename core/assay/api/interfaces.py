"""What plugins implement and what they are given.

Contexts (`GradeContext`, `ReportView`) only ever grow; a plugin written against an older
minor version of this API keeps working.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any, ClassVar, Protocol, runtime_checkable

from attrs import frozen

from assay.api.jail import (
    Capabilities,
    Command,
    Finding,
    HostIds,
    JailSpec,
    Limits,
    Mount,
    Outcome,
    Profile,
    Runtime,
)
from assay.api.records import Facts, TrialRecord, TrialSpec
from assay.api.tasks import GraderSpec, Task
from assay.api.trees import (
    BlobRef,
    ChangeSet,
    Digest,
    Edits,
    Entry,
    RelPath,
    Scan,
    TreeLimits,
    TreeManifest,
    TreeRef,
)
from assay.api.trust import Trust

__all__ = [
    "API_VERSION",
    "Artifacts",
    "Channel",
    "ChannelFault",
    "Copier",
    "Executor",
    "ExecutorSetup",
    "Frozen",
    "GradeContext",
    "Grader",
    "GraderNeeds",
    "Hasher",
    "Lease",
    "Pool",
    "Prepared",
    "Process",
    "Reporter",
    "RunTrial",
    "Sandbox",
    "Session",
    "Store",
    "SuiteFiles",
    "SuiteReader",
    "Support",
    "TrialFactory",
    "Workspace",
]

API_VERSION = "1.0"
"""Version of this API; a plugin's `api` must have the same major and no later minor."""


@frozen
class Support:
    """Whether something works on this host, and why not."""

    ok: bool
    reason: str = ""


class Hasher(Protocol):
    """Digests trees under one contract."""

    api: ClassVar[str]
    contract: ClassVar[str]

    def scan(
        self, root_fd: int, *, limits: TreeLimits = ..., collect_refused: bool = False
    ) -> Scan:
        """Read the tree beneath the directory descriptor once, never following a link.

        Raises TreeRefused on the first refused entry (in path order) unless
        `collect_refused`; TreeLimit; TreeChanged if a file moves under the reader.
        """
        ...

    def manifest(self, entries: Iterable[Entry]) -> TreeManifest:
        """Digest entries that are already known; pure, any order of input."""
        ...


class Store(Protocol):
    """Content-addressed, read-only trees and blobs of this host."""

    def add_tree(self, root_fd: int, manifest: TreeManifest) -> TreeRef:
        """Copy a tree in, verify it against its manifest, publish it atomically."""
        ...

    def tree(self, ref: TreeRef) -> str | None:
        """Host path of a stored tree, or None; for sandboxes and copiers only."""
        ...

    def add_blob(self, content: bytes) -> BlobRef:
        """Keep a byte string."""
        ...

    def blob(self, ref: BlobRef) -> bytes | None:
        """A kept byte string, or None."""
        ...

    def note(self, key: Digest, ref: TreeRef) -> None:
        """Remember a tree under a key of the caller's."""
        ...

    def noted(self, key: Digest) -> TreeRef | None:
        """The tree noted under a key, or None. A hint: the caller must check the tree."""
        ...


@frozen
class Prepared:
    """A tree made ready for fast workspaces; `handle` is the copier's own."""

    manifest: TreeManifest
    handle: str


class Frozen(Protocol):
    """A workspace at rest: what changed, and the bytes of what is in it."""

    @property
    def change_set(self) -> ChangeSet: ...

    def read(self, path: RelPath, cap: int) -> bytes:
        """Content of one regular file, no-follow; TreeLimit above `cap` bytes."""
        ...


class Lease(Protocol):
    """Held by each live jail on a workspace; a leased workspace can't be put or frozen."""

    def release(self) -> None: ...


class Workspace(Protocol):
    """A fresh writable tree equal to its base, with one owner; also a context manager."""

    @property
    def base(self) -> TreeManifest: ...

    @property
    def host_path(self) -> str | None:
        """Where it is on this host, for copiers whose `host_visible` is True."""
        ...

    def mounts(self, dst: str, *, writable: bool) -> tuple[Mount, ...]: ...

    def lease(self) -> Lease: ...

    def put(self, edits: Edits) -> None:
        """Write and delete as one set; all or nothing. Refused while leased."""
        ...

    def freeze(self, hasher: Hasher, limits: TreeLimits = ...) -> Frozen:
        """Scan and compare with the base. Refused while leased."""
        ...

    def close(self) -> None:
        """Remove it; idempotent. Raises CleanupFailed when something is left."""
        ...

    def __enter__(self) -> Workspace: ...

    def __exit__(self, *exc: object) -> None: ...


class Copier(Protocol):
    """Makes workspaces."""

    api: ClassVar[str]
    name: ClassVar[str]
    host_visible: ClassVar[bool]

    def supports(self, scratch: str) -> Support: ...

    def prepare(self, source: str, manifest: TreeManifest, store: Store | None) -> Prepared:
        """Once per tree and host, safe between processes, verified.

        `source` is the fixture's folder. Without a store, workspaces are made from it.
        """
        ...

    def open(
        self, prepared: Prepared, scratch: str, *, hasher: Hasher, ids: HostIds | None = None
    ) -> Workspace:
        """A fresh equal workspace in a new folder of its own beneath `scratch`.

        Raises CopyFailed, NoSpace or CopyMismatch; then nothing is left behind.
        """
        ...


class ChannelFault(Exception):
    """A channel's peer broke the framing or stayed silent; the jail's side is at fault."""


class Channel(Protocol):
    """A private framed message stream between the host and a jailed process."""

    def send(self, message: bytes) -> None:
        """One frame: length as 4 bytes big-endian, then the bytes."""
        ...

    def recv(self, cap: int, deadline: float) -> bytes | None:
        """The next frame, or None at its end; `deadline` is on the monotonic clock.

        Raises ChannelFault for a frame above `cap`, a cut frame or a passed deadline.
        """
        ...

    def close(self) -> None: ...


class Process(Protocol):
    """One started command."""

    @property
    def channels(self) -> Mapping[str, Channel]: ...

    def wait(self, deadline: float | None = None) -> Outcome:
        """The outcome; a limit is an outcome. At `deadline` (monotonic) it is killed."""
        ...

    def kill(self) -> None:
        """Stop it and everything it started; `wait` then says CANCELLED."""
        ...


class Session(Protocol):
    """A live jail; /tmp and the workspace persist between its commands."""

    def start(self, command: Command, channels: tuple[str, ...] = ()) -> Process:
        """Start one command at a time.

        A channel NAME is a descriptor whose number is in `ASSAY_CHANNEL_NAME` inside.
        """
        ...

    def run(self, command: Command) -> Outcome: ...

    def close(self) -> None:
        """Everything inside is dead when it returns; idempotent."""
        ...

    def __enter__(self) -> Session: ...

    def __exit__(self, *exc: object) -> None: ...


class Sandbox(Protocol):
    """Makes jails."""

    api: ClassVar[str]
    name: ClassVar[str]

    def capabilities(self) -> Capabilities:
        """What works here; never raises."""
        ...

    def diagnose(self) -> tuple[Finding, ...]:
        """Every layer of this host that matters to jails; never raises, never needs root."""
        ...

    def runtime(self, spec: Mapping[str, Any], store: Store, hasher: Hasher) -> Runtime:
        """Prepare a declared runtime, verified when it was there; raises RuntimeUnavailable.

        An empty `spec` is the default one: this interpreter and the installed test tools.
        """
        ...

    def open(self, spec: JailSpec) -> Session:
        """A live session; raises SandboxUnavailable or SandboxFailed."""
        ...


class Artifacts(Protocol):
    """Keeps bytes beside a trial's record."""

    def put(self, name: str, content: bytes) -> BlobRef: ...


@frozen
class GraderNeeds:
    """What a grader needs before it can run: tools of the runtime, hidden files."""

    tools: tuple[str, ...] = ()
    hidden: bool = False


class GradeContext(Protocol):
    """What a grader is given; no host path, no verdict."""

    @property
    def task(self) -> Task: ...
    @property
    def spec(self) -> GraderSpec: ...
    @property
    def options(self) -> Any:
        """The structured `Options` of the grader."""
        ...

    @property
    def tree(self) -> TreeManifest:
        """The grading tree."""
        ...

    @property
    def hidden(self) -> TreeManifest | None: ...
    @property
    def change_set(self) -> ChangeSet: ...
    @property
    def runtime(self) -> Runtime: ...
    @property
    def seed(self) -> int: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def artifacts(self) -> Artifacts: ...

    def jail(
        self, profile: Profile, *, hidden: bool = False, extra: tuple[Mount, ...] = ()
    ) -> Session:
        """A jail with the grading tree read-only at /workspace, which is its cwd.

        With `hidden`, the hidden files are read-only at /hidden.
        """
        ...

    def cancelled(self) -> bool: ...


class Grader(Protocol):
    """Measures one thing. The class is the plugin; `Options` is a frozen attrs class."""

    api: ClassVar[str]
    name: ClassVar[str]
    version: ClassVar[str]
    Options: ClassVar[type]
    max_trust: ClassVar[Trust]

    def check(self, options: Any, task: Task) -> tuple[str, ...]:
        """Problems of the options for this task, as sentences; pure."""
        ...

    def needs(self, options: Any, task: Task) -> GraderNeeds: ...

    def grade(self, ctx: GradeContext) -> Facts:
        """Measure. Raises GraderUnfit or another Fault when the fault is not the candidate's."""
        ...


class SuiteFiles(Protocol):
    """A suite as files in the documented layout, wherever they come from.

    The framework itself parses and checks what is read; a reader only finds bytes.
    """

    @property
    def name(self) -> str:
        """Name to show and to fall back on as the suite's id; never a host path."""
        ...

    def read(self, path: RelPath, cap: int) -> bytes | None:
        """Content of one regular file, no-follow; None when absent. TreeLimit above `cap`."""
        ...

    def folders(self, path: RelPath | None) -> tuple[str, ...]:
        """Names of the folders in a folder (None: the root), sorted; () when absent."""
        ...

    def files(self, path: RelPath) -> tuple[RelPath, ...]:
        """Paths, below a folder and relative to it, of all regular files, sorted.

        Raises TreeRefused for anything but regular files and folders.
        """
        ...

    def host_folder(self, path: RelPath) -> str | None:
        """Where a folder is on this host, for hashers and copiers only; None when absent."""
        ...


@runtime_checkable
class SuiteReader(Protocol):
    """Opens suites of one format; `scheme` is what stands before the colon of a location."""

    api: ClassVar[str]
    scheme: ClassVar[str]

    def sniff(self, location: str) -> bool:
        """Whether a location without a scheme looks like this format."""
        ...

    def open(self, location: str) -> SuiteFiles: ...


class Pool(Protocol):
    """Workers of one run."""

    def run(self, specs: Iterable[TrialSpec]) -> Iterator[TrialRecord]:
        """Exactly one record per spec, in order of completion, fed lazily."""
        ...

    def cancel(self) -> None: ...

    def close(self) -> None: ...


class Executor(Protocol):
    """Runs trials somewhere; every worker calls the setup's factory once."""

    api: ClassVar[str]
    name: ClassVar[str]

    def open(self, setup: ExecutorSetup) -> Pool: ...


class RunTrial(Protocol):
    """What a worker calls for each spec."""

    def __call__(self, spec: TrialSpec) -> TrialRecord: ...


class TrialFactory(Protocol):
    """Picklable maker of a worker's trial function; called once in each worker."""

    def __call__(self) -> RunTrial: ...


@frozen
class ExecutorSetup:
    """How an executor's workers get ready, and how many there are."""

    factory: TrialFactory
    workers: int


@runtime_checkable
class Reporter(Protocol):
    """Writes one format from a run's report; every string in it may be hostile."""

    api: ClassVar[str]
    format: ClassVar[str]
    suffix: ClassVar[str]

    def render(self, report: Mapping[str, Any], out: IO[bytes]) -> None: ...

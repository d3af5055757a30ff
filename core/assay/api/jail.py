"""What a jail is given and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from socket import socket

from attrs import field, frozen

from assay.api.trees import Digest, TreeRef

__all__ = [
    "Capabilities",
    "Captured",
    "Command",
    "Finding",
    "HostIds",
    "JailSpec",
    "Limits",
    "Mount",
    "MountKind",
    "Network",
    "Outcome",
    "OutcomeStatus",
    "Profile",
    "Runtime",
]


class Profile(Enum):
    """Named sets of permissions; who runs inside decides which."""

    AGENT = "agent"
    VISIBLE = "visible"
    HIDDEN = "hidden"
    WORKER = "worker"
    BUILD = "build"


class Network(Enum):
    """What a jail reaches: nothing, or its own loopback."""

    NONE = "none"
    LOOPBACK = "loopback"


@frozen
class Limits:
    """Bounds of one command. Seconds, bytes and counts; each is enforced or refused.

    `cpu` bounds each process, and all of the command's together. `memory` bounds each process,
    and all of the session's together (with what its file systems in memory hold on top).
    `address_space` is the bound on the addresses that a process reserves, 0 for none. `processes`
    bounds the session, `output` each of stdout and stderr.
    """

    wall: float = 10.0
    cpu: int = 30
    memory: int = 512 * 1024**2
    address_space: int = 4 * 1024**3
    processes: int = 64
    file_size: int = 64 * 1024**2
    open_files: int = 256
    output: int = 1024**2
    tmp: int = 64 * 1024**2


class MountKind(Enum):
    """Where the content of a mount comes from."""

    TREE = "tree"
    FILE = "file"
    TMPFS = "tmpfs"
    OVERLAY = "overlay"


@frozen
class Mount:
    """One mount of a jail at the absolute path `dst`.

    TREE and FILE have a `source` that only a Workspace, a Store or a Runtime fills in: a
    place on this host, never shown and never stored. FILE may carry its `content` instead.
    TMPFS has `size` in bytes; for a writable TREE it is what the tree may hold, and 0 means
    what the profile allows; of an OVERLAY it is what the changes may hold.
    A TREE may have a `descriptor` instead of a source: a folder of a file system that has a size
    of its own. It stays its owner's, who keeps it open until the jail is open.
    OVERLAY shows the folder `source`, which is never written, with the changes that are in the
    folder `upper`; `work`, on the same file system, is the kernel's own.
    """

    dst: str
    kind: MountKind
    source: str = field(default="", repr=False)
    content: bytes | None = field(default=None, repr=False)
    size: int = 0
    writable: bool = False
    upper: str = field(default="", repr=False)
    work: str = field(default="", repr=False)
    descriptor: int = field(default=-1, repr=False)


@frozen
class Runtime:
    """Interpreters, tools and dependencies that jailed code sees; read-only, digested.

    `tools` maps a logical name (`python`, `node`, a declared one) to the absolute path inside
    the jail, `versions` to its version or, when nobody knows how to ask, to the digest of its
    file. `unavailable` maps a tool that this host lacks to the reason.
    """

    ref: TreeRef
    digest: Digest
    mounts: tuple[Mount, ...] = ()
    env: dict[str, str] = field(factory=dict)
    tools: dict[str, str] = field(factory=dict)
    versions: dict[str, str] = field(factory=dict)
    unavailable: dict[str, str] = field(factory=dict)


@frozen
class HostIds:
    """Owner that a jail's user has on the host: workspaces must belong to it."""

    uid: int
    gid: int


@frozen
class JailSpec:
    """Everything needed to open a session; nothing of the host's environment enters."""

    profile: Profile
    runtime: Runtime
    mounts: tuple[Mount, ...] = ()
    limits: Limits = Limits()
    env: dict[str, str] = field(factory=dict)
    network: Network = Network.NONE
    cwd: str = "/"


@frozen
class Command:
    """One program to start: bytes without control characters, cwd absolute in the jail.

    Each of `sockets` is inherited: its descriptor's number is in `ASSAY_CHANNEL_NAME` inside.
    They remain the caller's as well.
    """

    argv: tuple[bytes, ...]
    cwd: str = ""
    env: dict[str, str] = field(factory=dict)
    limits: Limits | None = None
    stdin: bytes = field(default=b"", repr=False)
    sockets: Mapping[str, socket] = field(factory=dict, repr=False)


class OutcomeStatus(Enum):
    """How a command ended; a limit is an outcome, not an error."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed-out"
    OUTPUT_LIMIT = "output-limit"
    MEMORY_LIMIT = "memory-limit"
    DISK_LIMIT = "disk-limit"
    CANCELLED = "cancelled"
    SETUP_FAILED = "setup-failed"


@frozen
class Captured:
    """One stream: first and last bytes kept, cut at character boundaries, total counted."""

    head: bytes = b""
    tail: bytes = b""
    total: int = 0
    truncated: bool = False

    def text(self) -> str:
        """Kept bytes as text; invalid UTF-8 becomes U+FFFD, a cut is marked."""
        gap = "\n[cut]\n" if self.truncated else ""
        parts = (self.head.decode("utf-8", "replace"), self.tail.decode("utf-8", "replace"))
        return gap.join(parts) if self.truncated else parts[0] + parts[1]


@frozen
class Outcome:
    """What happened to one command, from the init's single record and the supervisor.

    `cpu` and `wall` in seconds; `peak_memory` in bytes, of all processes together where the
    sandbox can tell, else of the largest. `processes` is the most that lived at one time, threads
    included, 0 where the sandbox can't tell.
    `enforced_by` names the layer that enforced each limit that was reached.
    `detail` says what failed when `status` is SETUP_FAILED.
    """

    status: OutcomeStatus
    exit_code: int | None = None
    signal: int | None = None
    stdout: Captured = Captured()
    stderr: Captured = Captured()
    cpu: float = 0.0
    wall: float = 0.0
    peak_memory: int = 0
    enforced_by: dict[str, str] = field(factory=dict)
    detail: str = ""
    processes: int = 0


@frozen
class Capabilities:
    """What a sandbox can do on this host; `available` False comes with `layer` and `fix`.

    `layers` maps a layer's name to what is in force (`present`, `absent`, `degraded`) and
    why; it enters the identity. `profiles` says what each profile allows: by its name, rules
    by theirs, with sizes in bytes. `listening` says whether sockets can be handed over in both
    directions, which services need. `diagnostic` says what is left out on purpose by a sandbox that
    is only for finding faults; verdicts under it repeat that, and are unguarded.
    """

    available: bool
    mode: str = ""
    ids: HostIds | None = None
    layer: str = ""
    fix: str = ""
    layers: dict[str, str] = field(factory=dict)
    versions: dict[str, str] = field(factory=dict)
    shared_pid_namespace: bool = True
    listening: bool = False
    profiles: dict[str, dict[str, bool | int]] = field(factory=dict)
    diagnostic: str = ""


@frozen
class Finding:
    """What a sandbox found out about one layer of this host.

    `state` is `present`, `absent` or `degraded`; `found` says how it was found out, `follows`
    what that means for the user, `fix` the command or setting that mends it ("" for none).
    """

    layer: str
    state: str
    found: str
    follows: str = ""
    fix: str = ""
    optional: bool = False

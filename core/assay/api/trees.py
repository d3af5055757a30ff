"""Trees and their changes, as contents: nothing here names a place on a host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NewType

from attrs import field, frozen

from assay.api.reasons import Reason

__all__ = [
    "BlobRef",
    "Change",
    "ChangeSet",
    "Digest",
    "Edits",
    "Entry",
    "EntryKind",
    "FileWrite",
    "Op",
    "Refused",
    "RefusedKind",
    "RelPath",
    "Scan",
    "Stat",
    "TreeLimits",
    "TreeManifest",
    "TreeRef",
    "Violation",
]

RelPath = NewType("RelPath", str)
"""A checked relative POSIX path; only `assay.paths.relpath` makes one from outside text."""

Digest = NewType("Digest", str)
"""`sha256:` and 64 lower-case hexadecimal digits."""


class EntryKind(Enum):
    """The only kinds that our trees hold."""

    FILE = "file"
    DIR = "dir"


@frozen
class TreeRef:
    """A tree by content: the contract that digested it, and the digest."""

    contract: str
    digest: Digest


@frozen
class BlobRef:
    """A byte string by content; size in bytes."""

    digest: Digest
    size: int


@frozen
class Entry:
    """One file or directory. Directories have size 0 and an empty digest."""

    path: RelPath
    kind: EntryKind
    executable: bool = False
    size: int = 0
    digest: Digest = Digest("")


@frozen
class TreeManifest:
    """A whole tree: entries in the order of their paths' UTF-8 bytes."""

    ref: TreeRef
    entries: tuple[Entry, ...] = field(repr=False)
    files: int
    bytes: int


class RefusedKind(Enum):
    """Why something found in a tree can't be part of it."""

    SYMLINK = "symbolic link"
    HARD_LINK = "multi-link file"
    FIFO = "FIFO"
    SOCKET = "socket"
    DEVICE = "device"
    SPECIAL_MODE = "setuid, setgid or sticky file"
    UNSAFE_NAME = "unsafe name"
    COLLISION = "case-fold or normalisation collision"
    UNREADABLE = "unreadable entry"


@frozen
class Refused:
    """Something refused: its path as printable text (escaped, so not a RelPath)."""

    path: str
    kind: RefusedKind


@frozen
class Stat:
    """What the scan saw of one file; advisory, never part of a digest."""

    path: RelPath
    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


@frozen
class Scan:
    """One pass over a tree. `manifest` is None iff something was refused.

    `witness` holds one element for each file, in path order.
    """

    manifest: TreeManifest | None
    refused: tuple[Refused, ...] = ()
    ignored: tuple[str, ...] = ()
    witness: Sequence[Stat] = field(default=(), repr=False)


@frozen
class TreeLimits:
    """Bounds of a scan: counts, bytes, path depth in components, and seconds.

    Only the last depends on the host, so only it is never the fault of what is in the tree.
    """

    files: int = 200_000
    bytes: int = 8 * 1024**3
    depth: int = 256
    seconds: float = 600.0


class Op(Enum):
    """What happened to a path between two trees."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    MODE = "mode"
    KIND = "kind"


@frozen
class Change:
    """One path that differs. `binary` when the new content holds a NUL byte."""

    path: RelPath
    op: Op
    before: Entry | None = None
    after: Entry | None = None
    binary: bool = False


@frozen
class ChangeSet:
    """All differences of `result` from `base`, in path order.

    `result` is None iff something was refused; `refused` and `ignored` hold printable paths.
    """

    base: TreeRef
    result: TreeRef | None
    changes: tuple[Change, ...] = ()
    refused: tuple[Refused, ...] = ()
    ignored: tuple[str, ...] = ()


@frozen
class FileWrite:
    """New content of one file; `executable` None keeps the bit that the file has."""

    content: bytes = field(repr=False)
    executable: bool | None = None


@frozen
class Violation:
    """One change or path that the boundary forbids; `path` is printable text."""

    path: str
    reason: Reason


@frozen
class Edits:
    """What a candidate asks for: files to write and paths to delete (directories too).

    `violations` are the parts that were refused before anything was written: unsafe or
    ignored paths, links, submodules, special modes.
    """

    writes: Mapping[RelPath, FileWrite] = field(factory=dict)
    deletes: tuple[RelPath, ...] = ()
    violations: tuple[Violation, ...] = ()

"""What hashers, stores and copiers implement: contents in, verified contents out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Protocol, runtime_checkable

from attrs import frozen

from assay.api.jail import (
    HostIds,
    Mount,
)
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

__all__ = [
    "Copier",
    "Frozen",
    "Hasher",
    "IndexingHasher",
    "Lease",
    "Prepared",
    "Store",
    "Support",
    "TreeIndex",
    "Workspace",
]


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


class TreeIndex(Protocol):
    """What a hasher keeps of one tree, to digest trees near it quickly."""

    def spliced(self, hidden: Iterable[range], entries: Iterable[Entry]) -> TreeRef:
        """The tree without what is at the `hidden` positions of its manifest, with `entries`.

        Equal to `Hasher.manifest` of the same entries, which the caller has judged already.
        """
        ...


@runtime_checkable
class IndexingHasher(Hasher, Protocol):
    """A hasher that can do that; one that can't is asked for whole manifests."""

    def index(self, manifest: TreeManifest) -> TreeIndex: ...


class Store(Protocol):
    """Content-addressed, read-only trees and blobs of this host."""

    def add_tree(self, root_fd: int, manifest: TreeManifest) -> TreeRef:
        """Copy a tree in, verify it against its manifest, publish it atomically."""
        ...

    def tree(self, ref: TreeRef) -> str | None:
        """Host path of a stored tree, or None; for sandboxes and copiers only."""
        ...

    def lower(self, manifest: TreeManifest) -> str:
        """Host path of a stored tree as a jail's user would have copied it.

        Its owner and modes are those of a workspace, for copiers that show it instead of
        copying it; nobody writes to it. Made once and verified like `tree`; raises CopyFailed
        when the tree is not stored, CopyMismatch, NoSpace.
        """
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

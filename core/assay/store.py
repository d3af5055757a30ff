"""Content-addressed trees and blobs of this host, shared by all its processes.

    STORE/
        trees/DIGEST/       read-only trees (`trees-GID` when a jail's group must read them)
        lowers/DIGEST/      the same as a jail's user would have copied them (`lowers-UID`)
        blobs/DIGEST        byte strings
        notes/DIGEST        which tree was made from what; hints, checked by whoever reads them
        leases/ used/ lock  what is in use and when it was: see `assay.leases`

Something is in the store under its digest or not at all: it is made under another name and
renamed when it has been verified. A tree is verified again when a process first uses it,
since a machine that lost power may have lost content of a finished file; from then on it is
not evicted as long as the process lives.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
import weakref
from contextlib import suppress
from pathlib import Path

from assay.api import (
    BlobRef,
    CopyFailed,
    CopyMismatch,
    Digest,
    Hasher,
    HostIds,
    InvalidInput,
    RelPath,
    TreeManifest,
    TreeRef,
    Unavailable,
)
from assay.api.copies import Layout, copy_tree
from assay.api.digests import content_digest, hexadecimal
from assay.api.files import (
    copy_fault,
    open_directory,
    open_root,
    opened,
    read_file,
    remove_tree,
    write_new,
)
from assay.api.places import default_store_root
from assay.leases import LEASES, USED, Lease

__all__ = ["BLOBS", "LOWERS", "NOTES", "TREES", "Store", "default_store_root"]

TREES = "trees"
LOWERS = "lowers"
BLOBS = "blobs"
NOTES = "notes"

_NOTE_BYTES = 128
_NOT_A_TREE = frozenset({errno.ENOTDIR, errno.ELOOP, errno.EACCES})


class Store:
    """The store of one host folder. `ids` is who must be able to read trees in jails.

    Raises Unavailable when the folder can't be made or is not this user's alone, since
    another user could then put anything under any digest.
    """

    def __init__(self, root: Path, hasher: Hasher, ids: HostIds | None = None) -> None:
        self._hasher = hasher
        self._root = root = root.absolute()
        as_root = os.geteuid() == 0
        foreign = ids if as_root else None
        # A mode of 0711 lets a jail's user pass through to a tree whose name it was given.
        self._passage = 0o711 if foreign else 0o700
        self._layout = Layout(0o550, 0o440, 0o550, gid=foreign.gid if foreign else -1)
        owner = (foreign.uid, foreign.gid) if foreign else (-1, -1)
        self._lower_layout = Layout(0o755, 0o644, 0o755, *owner)
        self._verified: set[tuple[Path, TreeRef]] = set()
        self._lock = threading.Lock()
        trees = f"{TREES}-{foreign.gid}" if foreign else TREES
        lowers = f"{LOWERS}-{foreign.uid}" if foreign else LOWERS
        try:
            for folder in (root, root / trees, root / lowers, root / BLOBS, root / NOTES):
                _own_folder(folder, self._passage)
            for folder in (root / LEASES, root / USED):
                _own_folder(folder, 0o700)
            self._lease = Lease(root)
        except OSError as error:
            problem = os.strerror(error.errno or 0)
            raise Unavailable(
                f"store folder can't be used: {problem}; set ASSAY_STORE to another one"
            ) from None
        self._trees = root / trees
        self._lowers = root / lowers
        self._blobs = root / BLOBS
        self._notes = root / NOTES
        self.close = weakref.finalize(self, self._lease.close)
        """Nothing of it is in use any more; called at the latest when nobody holds the store."""

    @property
    def root(self) -> Path:
        """The store's folder, which a jail's user can pass through."""
        return self._root

    def add_tree(self, root_fd: int, manifest: TreeManifest) -> TreeRef:
        """Copy a tree in, verify it against its manifest, publish it atomically.

        Raises CopyMismatch, NoSpace, CopyFailed; then nothing was added.
        """
        if self.tree(manifest.ref) is None:
            self._put(self._trees, root_fd, manifest, self._layout)
        return manifest.ref

    def tree(self, ref: TreeRef) -> str | None:
        """Host path of a stored tree, or None; verified once by each store object."""
        return self._found(self._trees, ref)

    def verify_again(self) -> None:
        """Something did not equal what is stored: all trees are verified at their next use."""
        with self._lock:
            self._verified.clear()

    def lower(self, manifest: TreeManifest) -> str:
        """A stored tree as a jail's user would have copied it, made at first use; its host path.

        Raises CopyFailed when the tree is not stored, CopyMismatch, NoSpace.
        """
        if (found := self._found(self._lowers, manifest.ref)) is not None:
            return found
        if (tree := self.tree(manifest.ref)) is None:
            raise CopyFailed("the tree is not in the store")
        with opened(open_root(tree)) as source:
            self._put(self._lowers, source, manifest, self._lower_layout)
        return str(self._lowers / self._name(manifest.ref))

    def _put(self, folder: Path, source: int, manifest: TreeManifest, layout: Layout) -> None:
        name = self._name(manifest.ref)
        key = f"{folder.name}/{name}"
        with opened(open_root(folder)) as trees:
            unfinished = self._lease.unfinished()
            try:
                os.mkdir(unfinished, 0o700, dir_fd=trees)
                with opened(open_directory(trees, unfinished)) as target:
                    content = content_digest(self._hasher)
                    copy_tree(source, target, manifest.entries, layout, content)
                    if self._digest(target) != manifest.ref:
                        raise CopyMismatch("stored tree is not equal to its manifest")
                self._lease.hold(key)
                _publish(trees, unfinished, name)
            except OSError as error:
                raise copy_fault(error, "tree could not be stored") from None
            finally:
                # What is left of it now is evicted later.
                with suppress(OSError):
                    remove_tree(trees, unfinished)
        self._lease.used(key, manifest)
        self._verified.add((folder, manifest.ref))

    def _found(self, folder: Path, ref: TreeRef) -> str | None:
        name = self._name(ref)
        with self._lock:
            if (folder, ref) not in self._verified:
                if not self._sound(folder, name, ref):
                    return None
                self._lease.used(f"{folder.name}/{name}")
            self._verified.add((folder, ref))
        path = folder / name
        return str(path) if path.is_dir() else None

    def add_blob(self, content: bytes) -> BlobRef:
        """Keep a byte string; raises NoSpace or CopyFailed."""
        hexadecimal = hashlib.sha256(content).hexdigest()
        ref = BlobRef(Digest(f"sha256:{hexadecimal}"), len(content))
        if self.blob(ref) is not None:
            return ref
        self._write(self._blobs, hexadecimal, content)
        return ref

    def blob(self, ref: BlobRef) -> bytes | None:
        """A kept byte string, or None when it is absent or no longer what it was."""
        name = hexadecimal(ref.digest)
        with opened(open_root(self._blobs)) as blobs:
            try:
                content = read_file(blobs, RelPath(name), ref.size)
            except (OSError, InvalidInput):
                return None
            if len(content) != ref.size or hashlib.sha256(content).hexdigest() != name:
                return None
            _touch(blobs, name)
        return content

    def note(self, key: Digest, ref: TreeRef) -> None:
        """Remember a tree under a key of the caller's; raises NoSpace or CopyFailed."""
        self._name(ref)
        self._write(self._notes, hexadecimal(key), ref.digest.encode("ascii"))

    def noted(self, key: Digest) -> TreeRef | None:
        """The tree noted under a key, or None. A hint: the caller must check the tree."""
        with opened(open_root(self._notes)) as notes:
            try:
                content = read_file(notes, RelPath(hexadecimal(key)), _NOTE_BYTES)
                digest = Digest(content.decode("ascii", "replace"))
                hexadecimal(digest)
            except (OSError, InvalidInput):
                return None
            _touch(notes, hexadecimal(key))
        return TreeRef(self._hasher.contract, digest)

    def _write(self, folder: Path, name: str, content: bytes) -> None:
        """Put a small file under its name, whole or not at all."""
        with opened(open_root(folder)) as directory:
            unfinished = self._lease.unfinished()
            try:
                write_new(directory, unfinished, content, 0o400)
                os.replace(unfinished, name, src_dir_fd=directory, dst_dir_fd=directory)
            except OSError as error:
                with suppress(OSError):
                    os.unlink(unfinished, dir_fd=directory)
                raise copy_fault(error, "content could not be stored") from None

    def _name(self, ref: TreeRef) -> str:
        if ref.contract != self._hasher.contract:
            raise InvalidInput("store: the tree is of another contract than the store's hasher")
        return hexadecimal(ref.digest)

    def _digest(self, root: int) -> TreeRef | None:
        manifest = self._hasher.scan(root).manifest
        return manifest.ref if manifest else None

    def _sound(self, folder: Path, name: str, ref: TreeRef) -> bool:
        """Whether the tree is there and is what its name says; removed if it is not."""
        with opened(open_root(folder)) as trees:
            if not _is_there(trees, name):
                return False
            try:
                # Before it is looked at, so that it can't be evicted after that.
                self._lease.hold(f"{folder.name}/{name}")
            except OSError as error:
                raise copy_fault(error, "stored tree can't be taken into use") from None
            try:
                with opened(open_directory(trees, name)) as root:
                    if self._digest(root) == ref:
                        return True
            except FileNotFoundError:
                return False
            except InvalidInput:
                pass
            except OSError as error:
                if error.errno not in _NOT_A_TREE:
                    raise copy_fault(error, "stored tree can't be read") from None
            spoiled = self._lease.unfinished()
            with suppress(OSError):
                os.rename(name, spoiled, src_dir_fd=trees, dst_dir_fd=trees)
                remove_tree(trees, spoiled)
        return False


def _touch(directory: int, name: str) -> None:
    """It was used now, and so is not among the first to be evicted."""
    with suppress(OSError):
        os.utime(name, dir_fd=directory, follow_symlinks=False)


def _is_there(directory: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _own_folder(folder: Path, mode: int) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    with opened(open_root(folder)) as descriptor:
        info = os.fstat(descriptor)
        present = stat.S_IMODE(info.st_mode)
        if info.st_uid != os.geteuid() or present & 0o022:
            raise Unavailable("the store's folder is open to other users; choose another one")
        if present | mode != present:
            os.fchmod(descriptor, present | mode)


def _publish(trees: int, unfinished: str, name: str) -> None:
    """Give a verified tree its name; another process may have been first, with an equal one."""
    try:
        os.rename(unfinished, name, src_dir_fd=trees, dst_dir_fd=trees)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise

"""Content-addressed trees and blobs of this host, shared by all its processes.

    STORE/
        trees/DIGEST/       read-only trees (`trees-GID` when a jail's group must read them)
        lowers/DIGEST/      the same as a jail's user would have copied them (`lowers-UID`)
        blobs/DIGEST        byte strings
        notes/DIGEST        which tree was made from what; hints, checked by whoever reads them

Something is in the store under its digest or not at all: it is made under another name and
renamed when it has been verified. A tree is verified again when a process first uses it,
since a machine that lost power may have lost content of a finished file.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
import threading
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
from assay.api.files import (
    copy_fault,
    open_directory,
    open_root,
    opened,
    read_file,
    remove_tree,
    write_new,
)

__all__ = ["Store", "default_store_root"]

_UNFINISHED = ".unfinished-"
_BLOBS = "blobs"
_NOTES = "notes"
_NOTE_BYTES = 128
_NOT_A_TREE = frozenset({errno.ENOTDIR, errno.ELOOP, errno.EACCES})


def default_store_root() -> Path:
    """Where the store is: `ASSAY_STORE`, or the cache folder of the system or the user."""
    if chosen := os.environ.get("ASSAY_STORE"):
        return Path(chosen)
    if os.geteuid() == 0:
        return Path("/var/cache/assay")
    if cache := os.environ.get("XDG_CACHE_HOME"):
        return Path(cache) / "assay"
    try:
        return Path.home() / ".cache" / "assay"
    except RuntimeError:
        raise Unavailable("this user has no home folder; set ASSAY_STORE") from None


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
        self._lower_layout = Layout(
            0o755, 0o644, 0o755, *((foreign.uid, foreign.gid) if foreign else (-1, -1))
        )
        self._verified: set[tuple[Path, TreeRef]] = set()
        self._lock = threading.Lock()
        trees = f"trees-{foreign.gid}" if foreign else "trees"
        lowers = f"lowers-{foreign.uid}" if foreign else "lowers"
        try:
            for folder in (root, root / trees, root / lowers, root / _BLOBS, root / _NOTES):
                _own_folder(folder, self._passage)
        except OSError as error:
            problem = os.strerror(error.errno or 0)
            raise Unavailable(
                f"store folder can't be used: {problem}; set ASSAY_STORE to another one"
            ) from None
        self._trees = root / trees
        self._lowers = root / lowers
        self._blobs = root / _BLOBS
        self._notes = root / _NOTES

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

    def lower(self, manifest: TreeManifest) -> str:
        """Host path of a stored tree as a jail's user would have copied it; nobody writes to it.

        Made at first use. Raises CopyFailed when the tree is not stored, CopyMismatch, NoSpace.
        """
        if (found := self._found(self._lowers, manifest.ref)) is not None:
            return found
        tree = self.tree(manifest.ref)
        if tree is None:
            raise CopyFailed("the tree is not in the store")
        with opened(open_root(tree)) as source:
            self._put(self._lowers, source, manifest, self._lower_layout)
        return str(self._lowers / self._name(manifest.ref))

    def _put(self, folder: Path, source: int, manifest: TreeManifest, layout: Layout) -> None:
        with opened(open_root(folder)) as trees:
            unfinished = _UNFINISHED + secrets.token_hex(16)
            try:
                os.mkdir(unfinished, 0o700, dir_fd=trees)
                with opened(open_directory(trees, unfinished)) as target:
                    copy_tree(source, target, manifest.entries, layout)
                    if self._digest(target) != manifest.ref:
                        raise CopyMismatch("stored tree is not equal to its manifest")
                _publish(trees, unfinished, self._name(manifest.ref))
            except OSError as error:
                raise copy_fault(error, "tree could not be stored") from None
            finally:
                with suppress(FileNotFoundError):
                    remove_tree(trees, unfinished)
        self._verified.add((folder, manifest.ref))

    def _found(self, folder: Path, ref: TreeRef) -> str | None:
        name = self._name(ref)
        with self._lock:
            if (folder, ref) not in self._verified and not self._sound(folder, name, ref):
                return None
            self._verified.add((folder, ref))
        path = folder / name
        return str(path) if path.is_dir() else None

    def add_blob(self, content: bytes) -> BlobRef:
        """Keep a byte string; raises NoSpace or CopyFailed."""
        hexadecimal = hashlib.sha256(content).hexdigest()
        ref = BlobRef(Digest(f"sha256:{hexadecimal}"), len(content))
        if self.blob(ref) is not None:
            return ref
        _write(self._blobs, hexadecimal, content)
        return ref

    def blob(self, ref: BlobRef) -> bytes | None:
        """A kept byte string, or None when it is absent or no longer what it was."""
        name = _hexadecimal(ref.digest)
        with opened(open_root(self._blobs)) as blobs:
            try:
                content = read_file(blobs, RelPath(name), ref.size)
            except (OSError, InvalidInput):
                return None
        kept = len(content) == ref.size and hashlib.sha256(content).hexdigest() == name
        return content if kept else None

    def note(self, key: Digest, ref: TreeRef) -> None:
        """Remember a tree under a key of the caller's; raises NoSpace or CopyFailed."""
        _write(self._notes, _hexadecimal(key), self._name(ref).encode("ascii"))

    def noted(self, key: Digest) -> TreeRef | None:
        """The tree noted under a key, or None. A hint: the caller must check the tree."""
        with opened(open_root(self._notes)) as notes:
            try:
                content = read_file(notes, RelPath(_hexadecimal(key)), _NOTE_BYTES)
                digest = Digest("sha256:" + content.decode("ascii", "replace"))
                _hexadecimal(digest)
            except (OSError, InvalidInput):
                return None
        return TreeRef(self._hasher.contract, digest)

    def _name(self, ref: TreeRef) -> str:
        if ref.contract != self._hasher.contract:
            raise InvalidInput("store: the tree is of another contract than the store's hasher")
        return _hexadecimal(ref.digest)

    def _digest(self, root: int) -> TreeRef | None:
        manifest = self._hasher.scan(root).manifest
        return manifest.ref if manifest else None

    def _sound(self, folder: Path, name: str, ref: TreeRef) -> bool:
        """Whether the tree is there and is what its name says; removed if it is not."""
        with opened(open_root(folder)) as trees:
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
            spoiled = _UNFINISHED + secrets.token_hex(16)
            with suppress(OSError):
                os.rename(name, spoiled, src_dir_fd=trees, dst_dir_fd=trees)
                remove_tree(trees, spoiled)
        return False


def _write(folder: Path, name: str, content: bytes) -> None:
    """Put a small file under its name, whole or not at all."""
    with opened(open_root(folder)) as directory:
        unfinished = _UNFINISHED + secrets.token_hex(16)
        try:
            write_new(directory, unfinished, content, 0o400)
            os.replace(unfinished, name, src_dir_fd=directory, dst_dir_fd=directory)
        except OSError as error:
            with suppress(OSError):
                os.unlink(unfinished, dir_fd=directory)
            raise copy_fault(error, "content could not be stored") from None


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


def _hexadecimal(digest: Digest) -> str:
    text = digest.removeprefix("sha256:")
    if len(text) != 64 or set(text) - set("0123456789abcdef"):
        raise InvalidInput("store: not a digest")
    return text

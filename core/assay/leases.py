"""Which trees of a store are in use, by processes that may die at any moment.

    STORE/
        lock                short turns: shared to take a tree into use, exclusive to evict
        leases/NAME         one for each open store: held by a lock, names the trees in use
        used/FOLDER.DIGEST  bytes that a tree takes; its time is when the tree was last used

A lease counts as long as its file is locked, which ends with the process however it ends.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.api import TreeManifest
from assay.api.files import open_root, opened, write_all, write_new

__all__ = [
    "LEASES",
    "UNFINISHED",
    "USED",
    "Lease",
    "live_leases",
    "locked",
    "maker_of",
    "used_name",
]

LEASES = "leases"
USED = "used"
UNFINISHED = ".unfinished-"
_LOCK = "lock"
_UNFINISHED_NAME = re.compile(r"\.unfinished-([0-9a-f]{16})\.[0-9a-f]{32}")
_NEW_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_LEASE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_BLOCK = 1024**2
_DISK_BLOCK = 4096


@contextmanager
def locked(root: Path, *, exclusive: bool = False) -> Iterator[None]:
    """A turn at the store; raises OSError."""
    with opened(os.open(root / _LOCK, _NEW_LOCK, 0o600)) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        yield


class Lease:
    """The trees that one open store uses; ends with `close`, or with the process."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.name = secrets.token_hex(8)
        self._owner = os.getpid()
        self._held: set[str] = set()
        with locked(root):
            self._fd = os.open(self._path, _NEW_LEASE, 0o600)
            fcntl.flock(self._fd, fcntl.LOCK_EX)

    @property
    def _path(self) -> Path:
        return self._root / LEASES / self.name

    def hold(self, key: str) -> None:
        """From now on, what is there under this key stays; raises OSError."""
        if key not in self._held:
            with locked(self._root):
                write_all(self._fd, f"{key}\n".encode("ascii"))
            self._held.add(key)

    def unfinished(self) -> str:
        """A new name for something that is not whole yet, which tells that it is ours."""
        return f"{UNFINISHED}{self.name}.{secrets.token_hex(16)}"

    def used(self, key: str, manifest: TreeManifest | None = None) -> None:
        """Note that a tree was used now, and when it is new how many bytes it takes.

        It is a help for choosing what to evict: whoever finds no note measures again.
        """
        name = used_name(key)
        with suppress(OSError), opened(open_root(self._root / USED)) as folder:
            if manifest is None:
                os.utime(name, dir_fd=folder, follow_symlinks=False)
            else:
                fresh = self.unfinished()
                write_new(folder, fresh, b"%d\n" % _disk_bytes(manifest), 0o600)
                os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)

    def close(self) -> None:
        """Nothing is in use any more; idempotent. A forked child closes only its own copy."""
        if self._fd < 0:
            return
        descriptor, self._fd = self._fd, -1
        if os.getpid() == self._owner:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
        os.close(descriptor)


def _disk_bytes(manifest: TreeManifest) -> int:
    """About what it takes of a disk: whole blocks, and one for each directory."""
    return sum(-(-entry.size // _DISK_BLOCK) or 1 for entry in manifest.entries) * _DISK_BLOCK


def used_name(key: str) -> str:
    """Under which name the use of a tree is noted."""
    return key.replace("/", ".")


def live_leases(root: Path) -> dict[str, frozenset[str]]:
    """Names of live leases and what each holds; dead ones are removed.

    Whoever asks must have an exclusive turn, or the answer is old when it is given.
    """
    live: dict[str, frozenset[str]] = {}
    with opened(open_root(root / LEASES)) as folder:
        for name in os.listdir(folder):
            try:
                descriptor = os.open(name, _READ, dir_fd=folder)
            except OSError:
                continue
            with opened(descriptor):
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    live[name] = frozenset(_lines(descriptor))
                else:
                    os.unlink(name, dir_fd=folder)
    return live


def _lines(descriptor: int) -> list[str]:
    parts: list[bytes] = []
    while part := os.read(descriptor, _BLOCK):
        parts.append(part)
    return b"".join(parts).decode("ascii", "replace").splitlines()


def maker_of(unfinished: str) -> str | None:
    """The lease that something unfinished belongs to; None when its name tells none."""
    match = _UNFINISHED_NAME.fullmatch(unfinished)
    return match.group(1) if match else None

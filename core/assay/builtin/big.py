"""Big files are digested by threads; small ones never are, they would only wait for each other.

A thread owns the descriptor that it is given. Few files are open at one time, and no thread
outlives the pass that started it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeAlias

from attrs import define, field

from assay.api import Fault, NoSpace, TreeChanged, printable

__all__ = ["BIG_FILE", "BigFiles", "changed", "unreadable"]

BIG_FILE = 256 * 1024
"""Bytes from which on a thread pays for itself."""

_BLOCK = 256 * 1024
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_THREADS = min(4, os.cpu_count() or 1)
_IN_FLIGHT = 2 * _THREADS

_Pending: TypeAlias = tuple[str, os.stat_result, "Future[str]"]


def changed(path: str) -> TreeChanged:
    """The error for a file that moved under the reader."""
    return TreeChanged(f"{printable(path) or '.'}: changed while it was read")


def unreadable(path: str, error: OSError) -> Fault:
    """The error for a file system that fails; never the fault of what is in the tree."""
    if error.errno in _EXHAUSTED:
        return NoSpace("tree can't be read: no descriptor or memory is left")
    name = errno.errorcode.get(error.errno or 0, "unknown error")
    return Fault(f"{printable(path) or '.'}: can't be read: {name}")


@define
class BigFiles:
    """Files being digested aside; results come in the order of `add`."""

    _pool: ThreadPoolExecutor | None = None
    _pending: deque[_Pending] = field(factory=deque)
    _done: list[tuple[str, os.stat_result, str]] = field(factory=list)
    _stop: threading.Event = field(factory=threading.Event)

    def add(self, fd: int, info: os.stat_result, path: str) -> None:
        """Take over a descriptor; it is closed whatever happens."""
        try:
            while len(self._pending) >= _IN_FLIGHT:
                self._collect()
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_THREADS, "assay-hash")
            future = self._pool.submit(_digest, fd, info, path, self._stop)
        except BaseException:
            os.close(fd)
            raise
        self._pending.append((path, info, future))

    def results(self) -> Iterator[tuple[str, os.stat_result, str]]:
        """Path, stat result and hexadecimal digest of each file; raises TreeChanged, Fault."""
        while self._pending:
            self._collect()
        yield from self._done

    def close(self) -> None:
        """Stop reading and wait for the threads, so that every descriptor is closed."""
        self._stop.set()
        if self._pool is not None:
            self._pool.shutdown(wait=True)

    def _collect(self) -> None:
        path, info, future = self._pending.popleft()
        self._done.append((path, info, future.result()))


def _digest(fd: int, info: os.stat_result, path: str, stop: threading.Event) -> str:
    """Digest of a whole file; it must be as long, and as old, at the end as at the start."""
    try:
        hashed = hashlib.sha256()
        block = bytearray(_BLOCK)
        view = memoryview(block)
        total = 0
        while not stop.is_set() and (count := os.readv(fd, [block])):
            hashed.update(view[:count])
            total += count
            if total > info.st_size:
                raise changed(path)
        after = os.fstat(fd)
    except OSError as error:
        raise unreadable(path, error) from None
    finally:
        os.close(fd)
    if total != info.st_size or _age(after) != _age(info):
        raise changed(path)
    return hashed.hexdigest()


def _age(info: os.stat_result) -> tuple[int, int, int]:
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns

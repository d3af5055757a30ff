"""Copies of large trees by helper processes, and of large files by threads.

Directories are made first and get their modes last; between, helpers copy files, some at a time.
A helper that dies may have copied a part of its task, so the copy fails.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import attrs
from attrs import define, field

from assay.api.crew import Team, assemble, running
from assay.api.descents import Descent
from assay.api.digests import SHA256, ContentDigest
from assay.api.errors import CopyFailed
from assay.api.filecopies import (
    FileRow,
    check_source,
    copy_file,
    fill_large,
    open_source,
    open_target,
)
from assay.api.files import FILE_FLAGS, copy_fault
from assay.api.layouts import Layout

__all__ = ["CopyFiles", "LargeFiles", "copy_shared", "team_for"]

JOB = f"{__name__}:CopyFiles"
WORTH_STARTING = 10_000
"""Entries from which on helpers are started."""
WORTH_USING = 3_000
"""The same where there are helpers already."""
_FILES = 400
_BYTES = 32 * 1024**2
_THREADS = min(4, os.cpu_count() or 1)


def team_for(entries: int, source: int, target: int, layout: Layout) -> Team | None:
    """Helpers for a copy of so many entries, or None when it is done without."""
    if entries < (WORTH_USING if running() else WORTH_STARTING):
        return None
    return assemble(JOB, (source, target), attrs.astuple(layout))


@define
class CopyFiles:
    """The job of a helper: tasks are files with SHA-256 digests, in depth-first order."""

    descriptors: Sequence[int]
    argument: tuple[Any, ...]

    def __call__(self, task: list[FileRow]) -> int:
        layout = Layout(*self.argument)
        descent = Descent(self.descriptors[0], self.descriptors[1])
        try:
            for wanted in task:
                descent.go(wanted[0].rpartition("/")[0])
                copy_file(*descent.here, wanted, layout, SHA256)
        except OSError as error:
            raise copy_fault(error, "copy of a tree failed") from None
        finally:
            descent.close()
        return len(task)


def copy_shared(team: Team, files: Iterable[FileRow], job: CopyFiles) -> None:
    """Copy all files into directories that are there; raises what `copy_file` raises."""
    tasks = _tasks(files)
    task = next(tasks, None)
    while task is not None or team.busy:
        while task is not None and team.submit(task):
            task = next(tasks, None)
        if task is not None and not team.ready():
            job(task)
            task = next(tasks, None)
            continue
        for _, answer in team.answers():
            if answer is None:
                raise CopyFailed("a helper process died while it copied")


def _tasks(files: Iterable[FileRow]) -> Iterator[list[FileRow]]:
    rows: list[FileRow] = []
    size = 0
    for wanted in files:
        rows.append(wanted)
        size += wanted[2]
        if len(rows) >= _FILES or size >= _BYTES:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


@define
class LargeFiles:
    """Large files being copied by threads; few are open at one time."""

    layout: Layout
    content_digest: ContentDigest
    _pool: ThreadPoolExecutor | None = None
    _pending: deque[Future[None]] = field(factory=deque)
    _stop: threading.Event = field(factory=threading.Event)

    def add(self, source: int, target: int, wanted: FileRow) -> None:
        """Begin with one file; raises what an earlier one raised."""
        while len(self._pending) >= 2 * _THREADS:
            self._pending.popleft().result()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_THREADS, "assay-copy")
        name = wanted[0].rpartition("/")[2].encode("utf-8")
        reader = open_source(source, name, FILE_FLAGS, wanted[0])
        try:
            check_source(reader, wanted)
            writer = open_target(target, name)
        except BaseException:
            os.close(reader)
            raise
        try:
            self._pending.append(self._pool.submit(self._fill, reader, writer, wanted))
        except BaseException:
            os.close(reader)
            os.close(writer)
            raise

    def finish(self) -> None:
        """Wait for all; raises what one of them raised."""
        while self._pending:
            self._pending.popleft().result()

    def close(self) -> None:
        """Stop, and wait for the threads, so that every descriptor is closed."""
        self._stop.set()
        if self._pool is not None:
            self._pool.shutdown(wait=True)

    def _fill(self, reader: int, writer: int, wanted: FileRow) -> None:
        try:
            fill_large(reader, writer, wanted, self.layout, self.content_digest, self._stop.is_set)
        finally:
            os.close(reader)

"""Copying a known tree: read, digest and write in one pass, then equal or an error.

The manifest leads, never the source's own listing: what the manifest does not name is not
copied, and what differs from it ends the copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from assay.api.crew import Team
from assay.api.descents import Descent, depth_first
from assay.api.digests import SHA256, ContentDigest
from assay.api.errors import CopyMismatch
from assay.api.filecopies import LARGE, FileRow, copy_file
from assay.api.files import copy_fault
from assay.api.layouts import Layout, give
from assay.api.sharedcopies import CopyFiles, LargeFiles, copy_shared, team_for
from assay.api.trees import Entry, EntryKind

__all__ = ["Layout", "copy_tree", "give"]


def copy_tree(
    source: int,
    target: int,
    entries: Iterable[Entry],
    layout: Layout,
    content_digest: ContentDigest = SHA256,
) -> tuple[Entry, ...]:
    """Copy the entries from one directory into an empty one, `target` gets `layout` as well.

    Returns what was copied, each proven equal to its entry: of a small file what was written,
    of a large one what is in the copy. Raises CopyMismatch when the source differs from an
    entry, NoSpace or CopyFailed when a call fails; the rest is the caller's to remove, and
    nothing writes to it any more.
    """
    ordered = sorted(entries, key=_depth_first)
    team = None
    if content_digest == SHA256:
        team = team_for(len(ordered), source, target, layout)
    try:
        if team is None:
            _copy_alone(source, target, ordered, layout, content_digest)
        else:
            _copy_together(team, source, target, ordered, layout)
    except OSError as error:
        raise copy_fault(error, "copy of a tree failed") from None
    finally:
        if team is not None:
            team.close()
    return tuple(ordered)


def _copy_alone(
    source: int,
    target: int,
    entries: Sequence[Entry],
    layout: Layout,
    content_digest: ContentDigest,
) -> None:
    descent = Descent(source, target, layout)
    large = LargeFiles(layout, content_digest)
    try:
        for entry in entries:
            path = entry.path
            if entry.kind is EntryKind.DIR:
                descent.make(path)
                continue
            descent.stand_in(path.rpartition("/")[0])
            if entry.size < LARGE:
                copy_file(*descent.here, _row(entry), layout, content_digest)
            else:
                large.add(*descent.here, _row(entry))
        large.finish()
        descent.finish()
    finally:
        large.close()
        descent.close()


def _copy_together(
    team: Team, source: int, target: int, entries: Sequence[Entry], layout: Layout
) -> None:
    directories = [entry.path for entry in entries if entry.kind is EntryKind.DIR]
    files = [entry for entry in entries if entry.kind is EntryKind.FILE]
    known = {"", *directories}
    if any(entry.path.rpartition("/")[0] not in known for entry in files):
        raise CopyMismatch("a manifest names an entry without its directory")
    made = Descent(source, target)
    finished = Descent(source, target, layout)
    try:
        for path in directories:
            made.make(path)
        made.close()
        job = CopyFiles((source, target), attrs.astuple(layout))
        copy_shared(team, map(_row, files), job)
        for path in directories:
            finished.go(path)
        finished.finish()
    finally:
        made.close()
        finished.close()


def _row(entry: Entry) -> FileRow:
    return (entry.path, entry.executable, entry.size, entry.digest)


def _depth_first(entry: Entry) -> str:
    return depth_first(entry.path)

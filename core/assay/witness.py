"""A cheap look at a tree that was digested: has any of it been touched since?

A witness is what the file system says of each entry: device, inode, size and times. While it
stays the same, so does the content, as far as the file system tells. It does not always: on
tmpfs a mapped file changes without a trace, so a witness is never the last word.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from attrs import field, frozen

from assay.api import Entry, EntryKind, RelPath, Stat, TreeManifest
from assay.api.files import open_directory, open_root, opened
from assay.api.paths import components, parent

__all__ = ["Witness", "moved", "take_witness"]

_SETTLED_NS = 2 * 10**9
"""Older kernels give one time to changes within some milliseconds, some file systems to those
within two seconds: what was changed that recently may change again and look the same."""

_Seen = tuple[int, int, int, int, int]


@frozen
class Witness:
    """What was seen of each entry by path, "" being the tree itself."""

    seen: Mapping[str, _Seen] = field(repr=False)
    settled: bool
    """Whether every change since would show: nothing had changed shortly before."""


def take_witness(folder: str | Path, manifest: TreeManifest) -> Witness | None:
    """Look at every entry of a manifest; None when one is absent or of another kind.

    What the manifest does not name shows by the times of the directory that it is in.
    """
    now = time.time_ns()
    levels: list[tuple[RelPath | None, int]] = []
    seen: dict[str, _Seen] = {}
    try:
        with opened(open_root(folder)) as root:
            levels.append((None, os.dup(root)))
            seen[""] = _seen(os.fstat(root))
            for entry in sorted(manifest.entries, key=lambda entry: components(entry.path)):
                _look(levels, entry, seen)
    except OSError:
        return None
    finally:
        for _, descriptor in levels:
            os.close(descriptor)
    newest = max(times for *_, times in seen.values())
    return Witness(seen, newest + _SETTLED_NS < now)


def _look(levels: list[tuple[RelPath | None, int]], entry: Entry, seen: dict[str, _Seen]) -> None:
    while levels[-1][0] != parent(entry.path):
        os.close(levels.pop()[1])
    directory = levels[-1][1]
    name = components(entry.path)[-1].encode("utf-8")
    if entry.kind is EntryKind.DIR:
        levels.append((entry.path, open_directory(directory, name)))
        seen[entry.path] = _seen(os.fstat(levels[-1][1]))
    else:
        seen[entry.path] = _seen(os.stat(name, dir_fd=directory, follow_symlinks=False))


def _seen(info: os.stat_result) -> _Seen:
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def moved(before: Iterable[Stat], after: Iterable[Stat]) -> tuple[RelPath, ...]:
    """Files whose inode or change time differs, in path order: touched, and perhaps restored."""
    known = {stat.path: (stat.device, stat.inode, stat.ctime_ns) for stat in before}
    return tuple(
        stat.path
        for stat in after
        if known.get(stat.path, ()) not in ((), (stat.device, stat.inode, stat.ctime_ns))
    )

"""What this host gives to workspaces and to the store, and the one line that mends it."""

from __future__ import annotations

import os
from pathlib import Path

from assay.api import AssayError, Finding, HostIds
from assay.api.detached import supported
from assay.filesystems import FileSystem, create_after_delete, file_system
from assay.placement import Need, best_place

__all__ = ["check_host", "judge_place", "judge_speed", "judge_store"]

_SLOW = 2.5
_LEAST_BYTES = 2 * 1024**3
_LEAST_INODES = 100_000
_GIB = 1024**3
_MOUNT = "mount -t tmpfs -o size=4g,mode=1777 assay /mnt && export TMPDIR=/mnt"


def check_host(store: Path, ids: HostIds | None) -> tuple[Finding, ...]:
    """All findings, in a fixed order; never raises for what a host lacks.

    Some hundred empty files are made and removed to measure how long that takes.
    """
    place = best_place(store, ids, Need())
    return (*_workspaces(place), _store(store))


def _workspaces(place: Path) -> tuple[Finding, ...]:
    try:
        found = file_system(place)
        if not os.access(place, os.W_OK | os.X_OK):
            raise PermissionError
    except OSError:
        return (
            Finding(
                "workspaces",
                "absent",
                "the temporary folder can't be written",
                "no workspace can be made",
                "set TMPDIR to a folder that can be written",
            ),
        )
    return (*judge_place(found), _speed(place, found))


def judge_place(found: FileSystem) -> tuple[Finding, ...]:
    """What follows from the file system that workspaces are on, and from its room."""
    flags = "".join(
        flag
        for flag, absent in ((", noexec", found.executable), (", nosuid", found.setuid))
        if not absent
    )
    kind = found.kind + flags
    if found.executable:
        place = Finding("workspaces", "present", kind, "programs in workspaces can be started")
    else:
        place = Finding(
            "workspaces",
            "degraded",
            kind,
            "programs in workspaces can't be started, though they can elsewhere",
            "set TMPDIR to a folder that is not mounted noexec",
            optional=True,
        )
    inodes = "inodes not counted" if found.inodes is None else f"{found.inodes} inodes"
    room = f"{found.free / _GIB:.1f} GiB and {inodes} free"
    if found.free < _LEAST_BYTES or (found.inodes or _LEAST_INODES) < _LEAST_INODES:
        space = Finding(
            "workspace room",
            "degraded",
            room,
            "large fixtures and many workers may end as invalid (no-space)",
            "free some, or set TMPDIR to a larger file system",
            optional=True,
        )
    else:
        space = Finding("workspace room", "present", room, "there is room for many workspaces")
    return place, space, _disk(found)


def _disk(found: FileSystem) -> Finding:
    if found.in_memory:
        follows = "its size bounds what all workspaces hold together"
        return Finding("disk", "present", found.kind, follows)
    follows = "what a jail writes into a workspace is measured, and bounded some milliseconds late"
    if supported():
        follows += "; the kernel bounds the changes of copier overlay"
    return Finding("disk", "degraded", found.kind, follows, _MOUNT)


def _speed(place: Path, found: FileSystem) -> Finding:
    try:
        return judge_speed(create_after_delete(place), found)
    except (AssayError, OSError):
        return Finding(
            "workspace speed",
            "degraded",
            "it could not be measured",
            "there may be no room for workspaces",
            _MOUNT,
            optional=True,
        )


def judge_speed(ratio: float, found: FileSystem) -> Finding:
    """Whether making files gets slow after others were removed; `ratio` to fresh ones."""
    layer, measured = "workspace speed", f"{ratio:.1f} times as long after removing as many"
    if found.journal is False:
        measured += ", ext4 without a journal"
    if ratio < _SLOW and found.journal is not False:
        return Finding(layer, "present", measured, "making and removing workspaces is no burden")
    follows = "workspaces may take many times as long as on another file system"
    return Finding(layer, "degraded", measured, follows, _MOUNT, optional=True)


def _store(store: Path) -> Finding:
    # It may not be there yet; then its nearest folder above says what it will be on.
    place = next(folder for folder in (store, *store.absolute().parents) if folder.exists())
    try:
        return judge_store(file_system(place))
    except OSError:
        return Finding(
            "store",
            "absent",
            "it can't be looked at",
            "nothing can be kept",
            "set ASSAY_STORE to a folder that can be written",
        )


def judge_store(found: FileSystem) -> Finding:
    """Whether what jails run can be kept there."""
    if not found.executable:
        return Finding(
            "store",
            "absent",
            f"{found.kind}, noexec",
            "the programs of runtimes can't be started",
            "set ASSAY_STORE to a folder that is not mounted noexec",
        )
    room = f"{found.kind}, {found.free / _GIB:.1f} GiB free"
    if found.free < _LEAST_BYTES:
        fix = "free some, or set ASSAY_STORE to a larger file system"
        return Finding("store", "degraded", room, "runtimes may not fit", fix, optional=True)
    return Finding("store", "present", room, "fixtures and runtimes are kept there")

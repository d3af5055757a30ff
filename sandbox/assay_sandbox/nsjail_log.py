"""What nsjail says on its private log: whether it failed, and which layer it blames."""

from __future__ import annotations

import os

from attrs import frozen

from assay_sandbox.tables import rows

__all__ = ["LogReading", "read_log", "read_log_file"]

LOG_BYTES = 1 << 20


@frozen
class LogReading:
    """What nsjail said on its private log: whether it failed, and at which layer."""

    failed: bool
    layer: str


LAYERS = (
    ("user namespaces", ("newuidmap", "uid_map", "gid_map", "setgroups", "CLONE_NEWUSER")),
    ("seccomp policy", ("seccomp", "sandboxing policy", "kafel")),
    ("namespaces", ("clone(", "unshare", "nsjail_clone")),
    ("mounts", ("mount", "pivot_root", "chroot", "symlink", "remount")),
    ("network", ("interface", "netns", "net ns")),
    ("limits", ("rlimit",)),
    ("init", ("execve", "execute")),
)


def read_log_file(log: int) -> LogReading:
    """What nsjail wrote to its log so far."""
    return read_log(os.pread(log, min(os.fstat(log).st_size, LOG_BYTES), 0))


def read_log(log: bytes) -> LogReading:
    """Find the first error in a log; its layer is one of a fixed set of words."""
    for line in rows(log.decode("utf-8", "replace")):
        if line.startswith(("[E]", "[F]")):
            for layer, marks in LAYERS:
                if any(mark in line for mark in marks):
                    return LogReading(True, layer)
            return LogReading(True, "nsjail")
    return LogReading(False, "init")

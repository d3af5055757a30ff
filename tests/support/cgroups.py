"""Control groups that this test process made."""

from __future__ import annotations

import glob
import os
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def own_groups() -> set[Path]:
    """Folders of the jails' groups of this process, in every hierarchy."""
    return groups_of(os.getpid())


def groups_of(supervisor: int) -> set[Path]:
    """The same of another process."""
    mine = f"{os.stat('/proc/self/ns/pid').st_ino}.{supervisor}.*"
    return {
        # Not Path.glob, which fails when a group of somebody else's goes away meanwhile.
        Path(found)
        for pattern in (f"assay*/{mine}", f"*/assay*/{mine}", f"*/*/*/*/assay*/{mine}")
        for found in glob.glob(str(ROOT / pattern))
    }

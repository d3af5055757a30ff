"""Nothing may be left by any test here.

No process, zombie, thread, descriptor, mount, control group or note of a jail.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cgroups import own_groups
from support.jail import forget_store
from support.processes import children, open_descriptors
from support.users import remove_copy

from assay.api import crew
from assay_sandbox.init_choice import compiled_or_python
from assay_sandbox.notes import notes_folder


@pytest.fixture(autouse=True, scope="session")
def large_folders_are_removed() -> Iterator[None]:
    yield
    forget_store()
    remove_copy()


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    # Helpers of an earlier test would be taken for processes of a jail.
    crew.dismiss()
    before = set(children(os.getpid()))
    mounts = own_mounts()
    # The compiled init is opened once, with a process's first jail, and kept.
    compiled_or_python()
    descriptors = own_descriptors()
    yield
    gc.collect()
    left = {pid: state for pid, state in children(os.getpid()).items() if pid not in before}
    assert not left
    assert not [thread for thread in threading.enumerate() if thread.name == "assay-jail"]
    assert own_descriptors() <= descriptors
    assert own_mounts() <= mounts
    assert not own_groups()
    assert not own_notes()


def own_descriptors() -> set[str]:
    """What is open, without the lease of the tests' store, which lives as long as they do."""
    store = os.environ.get("ASSAY_TEST_STORE", "/assay-test-store-")
    return {one for one in open_descriptors() if store not in one}


def own_mounts() -> set[str]:
    """Mounts that a jail or a workspace could have left; other tests mount disks meanwhile."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return {line for line in lines if "nsjail" in line or "/assay-run-" in line}


def own_notes() -> list[Path]:
    """Notes of jails of this process."""
    return list(notes_folder().glob(f"*.{os.getpid()}.*"))

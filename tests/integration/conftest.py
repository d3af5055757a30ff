"""Nothing may be left by any test here: no process, zombie, thread, descriptor or mount."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.processes import children, open_descriptors


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = set(children(os.getpid()))
    mounts = Path("/proc/self/mountinfo").read_text()
    descriptors = open_descriptors()
    yield
    gc.collect()
    left = {pid: state for pid, state in children(os.getpid()).items() if pid not in before}
    assert not left
    assert not [thread for thread in threading.enumerate() if thread.name == "assay-jail"]
    assert open_descriptors() <= descriptors
    assert Path("/proc/self/mountinfo").read_text() == mounts

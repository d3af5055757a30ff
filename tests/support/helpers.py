"""Helper processes in tests: there, ready, and used for trees of any size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from assay.api import crew, sharedcopies
from assay.api.crew import PROCESSES
from assay.builtin import scanning


@contextmanager
def used_for_everything(entries: int = 1, files: int = 2) -> Iterator[None]:
    """Two helpers take over each scan and copy; so much is in one answer, or task."""
    with ExitStack() as stack:
        stack.enter_context(patch.dict("os.environ", {PROCESSES: "2"}))
        for module in (scanning, sharedcopies):
            stack.enter_context(patch.object(module, "WORTH_STARTING", 0))
            stack.enter_context(patch.object(module, "WORTH_USING", 0))
        stack.enter_context(patch.object(scanning, "_ENTRIES", entries))
        stack.enter_context(patch.object(sharedcopies, "_FILES", files))
        wait_for_helpers()
        yield


@contextmanager
def none() -> Iterator[None]:
    """No helper is used."""
    with patch.dict("os.environ", {PROCESSES: "1"}):
        yield


def wait_for_helpers() -> set[int]:
    """Start the helpers where they are missing, and wait for all of them; their numbers."""
    team = crew.assemble("support.helper_jobs:Obedient", (), None)
    assert team is not None
    try:
        while not all(helper.ready for helper in team._helpers):
            team._listen(None)
        return {helper.process.pid for helper in team._helpers}
    finally:
        team.close()

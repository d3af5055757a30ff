"""Where this process runs: beside those that it talks to, never at the same time as they."""

from __future__ import annotations

import contextlib
import os

__all__ = ["run_on"]


def run_on(processor: int | None) -> None:
    """Run on this processor only, if the host has one for the conversation."""
    if processor is not None:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {processor})

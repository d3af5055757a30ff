"""What the commands write to: consoles that treat all text as text."""

from __future__ import annotations

import sys
from enum import StrEnum

from rich.console import Console

__all__ = ["MAX_JOBS", "Display", "make_console"]

MAX_JOBS = 1024
"""Most worker processes of one run."""

WIDE = 200
"""Columns where nobody looks at a screen: logs and pipes get whole lines."""


class Display(StrEnum):
    """How progress is shown."""

    AUTO = "auto"
    RICH = "rich"
    PLAIN = "plain"
    NONE = "none"


def make_console(*, stderr: bool = False) -> Console:
    """A console that never guesses markup or emoji in text; off a terminal it is wide."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(
        stderr=stderr,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
        width=None if stream.isatty() else WIDE,
    )

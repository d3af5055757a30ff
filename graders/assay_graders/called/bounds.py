"""What both sides of a conversation agree on."""

from __future__ import annotations

__all__ = ["MAX_ANSWER_BYTES"]

MAX_ANSWER_BYTES = 4 * 1024**2
"""An answer is put together in the grader's memory, where it takes up to forty times its size."""

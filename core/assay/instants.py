"""Instants in manifests: one spelling each, so that equal times have equal digests."""

from __future__ import annotations

import re
from datetime import UTC, datetime

__all__ = ["INSTANT_PATTERN", "epoch_seconds", "is_instant"]

INSTANT_PATTERN = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"
"""RFC 3339 in UTC, whole seconds, capital letters."""

_FORM = "%Y-%m-%dT%H:%M:%SZ"
_INSTANT = re.compile(INSTANT_PATTERN)


def is_instant(text: str) -> bool:
    """Whether the text is an instant from 1970 on; a leap second is none."""
    if _INSTANT.fullmatch(text) is None:
        return False
    try:
        return epoch_seconds(text) >= 0
    except ValueError:
        return False


def epoch_seconds(instant: str) -> int:
    """Seconds since 1970-01-01T00:00:00Z; raises ValueError for no date of the calendar."""
    return int(datetime.strptime(instant, _FORM).replace(tzinfo=UTC).timestamp())

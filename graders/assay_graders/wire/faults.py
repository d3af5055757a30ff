"""The one exception of the wire."""

from __future__ import annotations

__all__ = ["WireFault"]


class WireFault(ValueError):
    """A frame, text or value breaks the rules; the message names the rule, never content."""

"""What came out of a probe: an outcome that the host knows, and a reply that is only text."""

from __future__ import annotations

from typing import Any

import attrs
from attrs import frozen

from assay.api import Outcome

__all__ = ["Check", "Ran", "checks_of"]


@frozen
class Check:
    """One attempt: `state` is refused, open, partial, seen or silent; `detail` is untrusted."""

    label: str
    state: str
    detail: str = ""


@frozen
class Ran:
    """A probe that ran alone: how it ended, what it reported, and what came over a channel."""

    outcome: Outcome
    reply: dict[str, Any] | None

    @property
    def checks(self) -> list[Check]:
        """What it reported; a probe that died has one silent check."""
        return checks_of(self.reply)


def checks_of(reply: Any) -> list[Check]:
    """The attempts of a reply, read as what it is: text from a jail."""
    if not isinstance(reply, dict) or reply.get("ended") is not True:
        fault = reply.get("fault", "") if isinstance(reply, dict) else ""
        return [Check("answer", "silent", str(fault))]
    items = reply.get("checks")
    found = []
    for item in items if isinstance(items, list) else []:
        if not (isinstance(item, list) and len(item) == len(attrs.fields(Check))):
            return [Check("answer", "silent", "malformed")]
        label, state, detail = (str(part) for part in item)
        known = state in ("refused", "open", "partial", "seen")
        found.append(Check(label, state if known else "silent", detail))
    return found or [Check("answer", "silent", "no attempts")]

"""How far a verdict can be believed: who shared a process with the candidate."""

from __future__ import annotations

from enum import Enum

__all__ = ["Trust"]


class Trust(Enum):
    """Ordered trust of a fact or verdict; the weakest fact decides the verdict's."""

    UNGUARDED = "unguarded"
    """The candidate's own process could have chosen the result."""
    TAMPER_EVIDENT = "tamper-evident"
    """In-process, with every guard in force: forging is possible but shows."""
    ISOLATED = "isolated"
    """Expected values and verdict never entered a process that ran candidate code."""

    @property
    def rank(self) -> int:
        """Position in the order, 0 for the weakest."""
        return tuple(Trust).index(self)

    def __lt__(self, other: Trust) -> bool:
        return self.rank < other.rank

    def __le__(self, other: Trust) -> bool:
        return self.rank <= other.rank

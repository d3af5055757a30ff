"""What one test did on the wire: counted as it happens, judged when the test is over."""

from __future__ import annotations

from .refusals import Refusal

__all__ = ["Noted"]


class Noted:
    """`is_asked`: the candidate made the driver run something of the test's.

    `is_anchored`: something of the candidate's was equal to a value of the test's, or two things
    of the candidate's differed. `stops` are what calls raised, and loops may take for their end.
    """

    def __init__(self) -> None:
        self.trips = 0
        self.features: set[str] = set()
        self.refusals: list[Refusal] = []
        self.lost = ""
        self.failed_back = False
        self.is_asked = False
        self.is_anchored = False
        self.stops: list[StopIteration] = []

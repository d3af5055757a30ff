"""What one test did on the wire: counted as it happens, judged when the test is over."""

from __future__ import annotations

from .refusals import Refusal

__all__ = ["Noted"]


class Noted:
    """`is_asked`: the candidate made the driver run something of the test's."""

    def __init__(self) -> None:
        self.trips = 0
        self.features: set[str] = set()
        self.refusals: list[Refusal] = []
        self.lost = ""
        self.failed_back = False
        self.is_asked = False

"""Which proxy stands for which object of the worker's, for as long as somebody has the proxy.

When a proxy dies, the worker is told how often its object was received: it drops the object
only if it has not sent it again meanwhile.
"""

from __future__ import annotations

import weakref
from typing import Any

from .protocol import FREE

__all__ = ["Place", "Places"]

_LIFE = "_assay_life"
_AT_ONCE = 50
"""How many proxies must have died before a message carries the news."""


class Place:
    """Where a proxy's object is: its number in one worker, or the way to it in any.

    `text` is what `str` of an exception was.
    """

    def __init__(self, word: str, generation: int, number: int) -> None:
        self.word = word
        self.generation = generation
        self.number = number
        self.receipts = 1
        self.text = ""
        self.way: tuple[str, str] | None = None
        self.reference: weakref.ref[Any] | None = None


class _Life:
    """Dies with the object that has it in its `__dict__`."""

    __slots__ = ("__weakref__",)


class Places:
    """Finds proxies by number and places by proxy; `generation` is that of the worker."""

    def __init__(self) -> None:
        self.generation = 1
        self._places: dict[int, Place] = {}
        self._weak: dict[int, weakref.ref[Any]] = {}
        self._kept: dict[int, Any] = {}
        self._ways: dict[tuple[str, str], Any] = {}
        self._dead: list[list[int]] = []
        self._told: list[list[int]] = []

    def __len__(self) -> int:
        return len(self._places)

    def of(self, value: Any) -> Place | None:
        """The place of a proxy; None for anything else."""
        return self._places.get(id(value))

    def restarted(self, generation: int) -> None:
        """A fresh worker has no objects yet; those that died were another one's."""
        self.generation = generation
        self._weak, self._kept, self._dead, self._told = {}, {}, [], []

    def known(self, number: int) -> Any:
        """The living proxy of a number, received once more; else None."""
        reference = self._weak.get(number)
        proxy = self._kept.get(number) if reference is None else reference()
        if proxy is not None:
            self._places[id(proxy)].receipts += 1
        return proxy

    def register(self, word: str, number: int, proxy: Any, *, is_kept: bool = False) -> Place:
        """A proxy that was made for a number; `is_kept` keeps it for ever."""
        place = Place(word, self.generation, number)
        before = self._places.get(id(proxy))
        if before is not None:
            place.way = before.way
        self._places[id(proxy)] = place
        if is_kept or not self._watch(place, proxy):
            self._keep(number, proxy)
        return place

    def found(self, proxy: Any, place: Place, way: tuple[str, str]) -> None:
        """A proxy can be found again this way: it is kept, as one object for each way."""
        place.way = way
        self._ways[way] = proxy

    def additions(self, generation: int) -> list[list[Any]]:
        """What to tell the worker of this generation with the next message.

        Only what died before the last message was written: in the one that is being written there
        may be objects whose proxies died since.
        """
        if generation != self.generation:
            self.restarted(generation)
        told, self._told = self._told, []
        if len(self._dead) >= _AT_ONCE:
            self._told, self._dead = self._dead, []
        return [[FREE, *one] for one in told]

    def _keep(self, number: int, proxy: Any) -> None:
        self._kept[number] = proxy
        # Its place must be found for as long as this process lives.
        self._ways["", str(id(proxy))] = proxy

    def _watch(self, place: Place, proxy: Any) -> bool:
        key, number, generation = id(proxy), place.number, self.generation

        def gone(reference: Any) -> None:
            if self._places.get(key) is place:
                del self._places[key]
            if self._weak.get(number) is reference:
                del self._weak[number]
            if generation == self.generation:
                self._dead.append([number, place.receipts])

        try:
            place.reference = weakref.ref(proxy, gone)
        except TypeError:
            if not isinstance(proxy, BaseException):
                return False
            # Built-in exceptions know no weak references: their attributes' end is theirs.
            life = vars(proxy)[_LIFE] = _Life()
            place.reference = weakref.ref(life, gone)
            return True
        self._weak[number] = place.reference
        return True

"""What the candidate printed and warned of, given out as if it came from the driver."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

from ..wire.faults import WireFault
from ..wire.stdlib import BUILTIN_TYPES
from ..wire.values import Codec
from .logs import give_out, read_record

__all__ = ["Notes"]


class Notes:
    """Output goes out at once; warnings and log records wait until no exchange is under way.

    `effects` are what the candidate did to things that are here, by the word of such a note.
    """

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self.effects: dict[str, Callable[[Any, Any, Any], None]] = {}
        self._warnings: list[tuple[str, type[Warning]]] = []
        self._records: list[tuple[str, int, bool, str]] = []

    def pass_on(self, noted: Any) -> set[str]:
        """Take the notes of one message; features that they are. Raises WireFault."""
        if type(noted) is not list:
            raise WireFault("a message has no notes")
        features = set()
        for note in noted:
            if type(note) is not list or not note or type(note[0]) is not str:
                raise WireFault("a note has another form")
            if note[0] in self.effects:
                effect = self.effects[note[0]]
                if len(note) != 4:
                    raise WireFault("a note has another form")
                effect(*note[1:])
                continue
            texts = [self._codec.decode(part) for part in note[1:]]
            if not all(type(text) is str for text in texts):
                raise WireFault("a note is not text")
            if note[0] in ("stdout", "stderr") and len(texts) == 1:
                getattr(sys, note[0]).write(texts[0])
                features.add("output")
            elif note[0] == "warning" and len(texts) == 2:
                self._warnings.append((texts[1], _category(texts[0])))
                features.add("warnings")
            elif note[0] == "log" and len(texts) == 4:
                self._records.append(read_record(texts))
                features.add("logs")
            else:
                raise WireFault("a note of an unknown kind")
        return features

    def warn(self) -> None:
        """Give out records and warnings; a filter may turn one of these into an exception."""
        while self._records:
            give_out(*self._records.pop(0))
        while self._warnings:
            text, kind = self._warnings.pop(0)
            warnings.warn(text, kind, stacklevel=5)


def _category(name: str) -> type[Warning]:
    kind = BUILTIN_TYPES.get(name)
    if kind is None or not issubclass(kind, Warning):
        raise WireFault("a warning is none")
    return kind

"""Values that must not be told, found however a program may have written them.

Plain, percent-encoded in any mix of encoded and plain characters, escaped as JSON or Python
does, hexadecimal, and base64 of both alphabets at any offset, also in lines. Values shorter than
`SHORTEST` are refused: they would be found in ordinary words.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator

from attrs import field, frozen

from assay.api.errors import UsageError

__all__ = ["SHORTEST", "KnownValues"]

SHORTEST = 8
"""Fewest characters of a value."""

_FEWEST_KEPT = 4
_LINES_OF_BASE64 = re.compile(r"(?:[A-Za-z0-9+/_-]{16,}\r?\n[ \t]*)+[A-Za-z0-9+/_-]+")


@frozen
class KnownValues:
    """Finds given values in text; what replaces them must be shorter than `SHORTEST`."""

    literals: tuple[str, ...] = field(repr=False)
    encoded: tuple[str, ...] = field(repr=False)
    percent: re.Pattern[str] | None = field(repr=False)

    @classmethod
    def of(cls, values: Iterable[str]) -> KnownValues:
        """Raises UsageError, without the value, for one that is too short."""
        known = sorted(set(values), key=lambda value: (-len(value), value))
        if any(len(value) < SHORTEST for value in known):
            raise UsageError(f"a value to redact must have at least {SHORTEST} characters")
        encoded = {form for value in known for form in _base64(value.encode("utf-8", "replace"))}
        plain = {form for value in known for form in _literal(value)}
        return cls(
            literals=tuple(sorted(plain | encoded, key=lambda form: (-len(form), form))),
            encoded=tuple(sorted(encoded)),
            percent=re.compile("|".join(map(_percent, known))) if known else None,
        )

    def replaced(self, text: str, mark: str) -> str:
        """The text with `mark` in place of every value, in whichever form."""
        found = text
        while (once := self._once(found, mark)) != found:
            found = once
        return found

    def _once(self, text: str, mark: str) -> str:
        for form in self.literals:
            if form in text:
                text = text.replace(form, mark)
        if self.percent is not None and "%" in text:
            text = self.percent.sub(lambda _: mark, text)
        if self.encoded and "\n" in text:
            text = _LINES_OF_BASE64.sub(lambda match: self._without(match[0], mark), text)
        return text

    def _without(self, lines: str, mark: str) -> str:
        joined = "".join(lines.split())
        return mark if any(form in joined for form in self.encoded) else lines

    def without_end(self, text: str) -> str:
        """The text without a value's beginning at its end, where a stream was cut."""
        longest = max((_overlap(text, form) for form in self.literals), default=0)
        return text[: len(text) - longest]

    def without_start(self, text: str) -> str:
        """The text without a value's end at its beginning, where a stream goes on."""
        reverse = text[: max(map(len, self.literals), default=0)][::-1]
        longest = max((_overlap(reverse, form[::-1]) for form in self.literals), default=0)
        return text[longest:]


def _overlap(text: str, form: str) -> int:
    """How many first characters of a form the text ends with, if they are enough to tell."""
    sizes = range(min(len(form) - 1, len(text)), _FEWEST_KEPT - 1, -1)
    return next((size for size in sizes if text.endswith(form[:size])), 0)


def _literal(value: str) -> Iterator[str]:
    raw = value.encode("utf-8", "replace")
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield json.dumps(value)[1:-1].replace("/", "\\/")
    yield repr(value)[1:-1]
    yield raw.hex()
    yield raw.hex().upper()


def _base64(raw: bytes) -> Iterator[str]:
    """The characters that the value alone decides, for each offset within three bytes."""
    for offset in range(3):
        text = base64.b64encode(bytes(offset) + raw).decode("ascii")
        form = text[-(-offset * 8 // 6) : (offset + len(raw)) * 8 // 6]
        yield form
        yield form.replace("+", "-").replace("/", "_")


def _percent(value: str) -> str:
    return "".join(map(_either, value))


def _either(char: str) -> str:
    hexes = "".join(
        "%" + "".join(f"[{digit}{digit.upper()}]" for digit in f"{byte:02x}")
        for byte in char.encode("utf-8", "replace")
    )
    plus = r"|\+" if char == " " else ""
    return f"(?:{re.escape(char)}|{hexes}{plus})"

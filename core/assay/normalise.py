"""Output made comparable: what differs between two equal runs is replaced by a fixed word.

Only forms that a harness prints are replaced, and never on a line that states an
assertion: one more failing test or another number in an assertion stays visible. Exit
status, signals and limits are no text and are not seen here.
"""

from __future__ import annotations

import re

__all__ = ["NORMALISED", "NORMALISER_VERSION", "WORKSPACE", "normalise"]

NORMALISER_VERSION = "2"

WORKSPACE = "<workspace>"
NORMALISED = "<normalized>"

_ASSERTION = re.compile(
    r"^\s*(?:E(?:\s|$)|>(?:\s|$)|[+-](?:\s|$))"
    r"|\bassert|AssertionError|\b(?:expected|actual)\b"
    r"|\S[ \t]+(?:[=!]==?|[<>]=)[ \t]+\S",
    re.IGNORECASE,
)
_NUMBER = r"\d+(?:\.\d+)?"
_VOLATILE = re.compile(
    r"(?P<root>(?<![\w./<>-])(?:/private)?/(?:var/tmp|tmp|dev/shm)/[\w.-]+)"
    rf"|(?P<duration>\b(?:in|took|after)\s)(?:{_NUMBER}\s?(?:ms|s|seconds?)\b)"
    r"(?:\s\(\d+:\d\d:\d\d\))?"
    rf"|(?P<elapsed>\bduration_ms:?\s){_NUMBER}\b"
    rf"|(?P<phase>^\s*){_NUMBER}s(?=\s+(?:setup|call|teardown)\s)"
    r"|(?P<process>\bpid(?:=|:?\s))\d+\b"
    r"|(?P<address>\bat\s)0x[0-9a-fA-F]{4,16}\b"
    r"|(?P<port>(?:\bport(?:=|:?\s)|\blocalhost:|(?<![\d.])127\.0\.0\.1:|\[::1\]:))\d{1,5}\b"
    r"|(?<![\w.:-])\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
    r"(?:Z|[+-]\d\d:?\d\d)?(?![\w.:-])"
)
# A headline is filled up to the terminal's width, by how long its duration is in print.
_FILLING = re.compile(r"^=+(?= )|(?<= )=+(?=\s*$)")
_FILLED = "====="


def normalise(text: str) -> str:
    """The text with temporary roots, durations, process ids, addresses, ports and time
    stamps replaced; doing it twice changes nothing more."""
    return "".join(map(_normalised, text.splitlines(keepends=True)))


def _normalised(line: str) -> str:
    if _ASSERTION.search(line):
        return line
    replaced = _VOLATILE.sub(_replacement, line)
    if replaced == line or not line.startswith("="):
        return replaced
    return _FILLING.sub(_FILLED, replaced)


def _replacement(match: re.Match[str]) -> str:
    if match["root"] is not None:
        return WORKSPACE
    kept = (match[name] for name in ("duration", "elapsed", "phase", "process", "address", "port"))
    return next((prefix for prefix in kept if prefix is not None), "") + NORMALISED

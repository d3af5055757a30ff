"""File names in a patch's header lines, as raw bytes: quoted, prefixed, or with a date behind.

Nothing here is safe to open: a name becomes a `RelPath` later or is refused.
"""

from __future__ import annotations

import re
from itertools import islice

__all__ = [
    "NameSyntax",
    "agreed_name",
    "header_name",
    "is_dev_null",
    "is_epoch",
    "pairs",
    "stripped",
]

_MAX_BLANKS = 100

_ESCAPES = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
    b"\\": b"\\",
    b'"': b'"',
}
_QUOTED = re.compile(rb'"((?:[^"\\]|\\[abfnrtv\\"]|\\[0-3][0-7]{2})*)"')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_EPOCH = re.compile(
    rb"(1969-12-31|1970-01-01) ([0-2][0-9]):([0-5][0-9]):00(?:\.0+)?"
    rb" ([-+])([0-2][0-9]):?([0-5][0-9])\r?"
)


class NameSyntax(Exception):
    """A name is quoted wrongly, or holds too many blanks to tell where it ends."""


def _unquoted(text: bytes) -> tuple[bytes, bytes]:
    match = _QUOTED.match(text)
    if match is None:
        raise NameSyntax
    return _ESCAPE.sub(_unescape, match[1]), text[match.end() :]


def _unescape(match: re.Match[bytes]) -> bytes:
    return _ESCAPES.get(match[1]) or bytes([int(match[1], 8)])


def header_name(text: bytes, *, tab_ends: bool) -> bytes:
    """The name after `--- `, `+++ ` or `rename from `; raises NameSyntax.

    `tab_ends` is for the first two, where a date or nothing may follow after a tab.
    """
    if text.startswith(b'"'):
        return _unquoted(text)[0]
    name = text.partition(b"\r")[0]
    return name.partition(b"\t")[0] if tab_ends else name


def is_dev_null(text: bytes) -> bool:
    """Whether a `--- ` or `+++ ` line stands for no file at all."""
    return re.match(rb"/dev/null(?:\s|\Z)", text) is not None


def is_epoch(text: bytes) -> bool:
    """Whether the date behind a name is the epoch, by which diff means an absent file."""
    _, tab, date = text.rpartition(b"\t")
    match = _EPOCH.fullmatch(date) if tab else None
    if match is None:
        return False
    day, hour, minute, sign, zone_hour, zone_minute = match.groups()
    zone = int(zone_hour) * 60 + int(zone_minute)
    local = int(hour) * 60 + int(minute) - (24 * 60 if day == b"1969-12-31" else 0)
    return local == (zone if sign == b"+" else -zone)


def stripped(name: bytes) -> bytes | None:
    """The name without its first component (`a/`, `b/`), or None when it has just one."""
    _, slash, rest = name.partition(b"/")
    return rest if slash else None


def pairs(text: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """Every way to read the two names after `diff --git `, prefixes removed.

    Raises NameSyntax.
    """
    found = []
    for left, right in _splits(text):
        old, new = stripped(left), stripped(right)
        if old and new:
            found.append((old, new))
    return tuple(found)


def _splits(text: bytes) -> list[tuple[bytes, bytes]]:
    if text.startswith(b'"'):
        left, rest = _unquoted(text)
        right = rest.lstrip(b" \t")
        return [(left, _unquoted(right)[0] if right.startswith(b'"') else right)]
    if text.endswith(b'"') and (at := text.find(b' "')) >= 0:
        return [(text[:at], _unquoted(text[at + 1 :])[0])]
    blanks = list(islice(re.finditer(rb"[ \t]", text), _MAX_BLANKS + 1))
    if len(blanks) > _MAX_BLANKS:
        raise NameSyntax
    return [(text[: at.start()], text[at.end() :]) for at in blanks]


def agreed_name(text: bytes) -> bytes | None:
    """The one name that both sides of a `diff --git ` line give, if they do."""
    return next((old for old, new in pairs(text) if old == new), None)

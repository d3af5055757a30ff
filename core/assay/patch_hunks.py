"""Text hunks: parsed strictly, placed where every context line matches byte for byte.

There is no fuzz. A hunk whose context is elsewhere in the file is placed at the nearest
match, as `git apply` does, and lines that an earlier hunk wrote never match again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen

from assay.api.errors import CandidateMalformed

__all__ = ["Hunk", "WorkBudget", "is_hunk_header", "parse_hunk", "placed"]

MAX_STEPS = 20_000_000
"""Lines that all searches of one patch may look at, or the same in other work."""

_HEADER = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_SHORTEST_EOF_NOTE = 11


@frozen
class Hunk:
    """Lines before and after, newlines included; `trailing` counts context at the end."""

    old_start: int
    new_start: int
    before: tuple[bytes, ...]
    after: tuple[bytes, ...]
    trailing: int


class WorkBudget:
    """Bound on the work that one patch may cause; raises CandidateMalformed beyond it."""

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self._left = steps

    def spend(self, steps: int) -> None:
        """Account for work done on so many lines."""
        self._left -= steps
        if self._left < 0:
            raise CandidateMalformed("patch needs more work than is allowed")


def is_hunk_header(line: bytes) -> bool:
    """Whether the line opens a hunk."""
    return _HEADER.match(line) is not None


def parse_hunk(lines: Sequence[bytes], at: int) -> tuple[Hunk, int]:
    """The hunk that opens at `lines[at]` and the index behind it; lines lack newlines."""
    header = _HEADER.match(lines[at])
    if header is None:
        raise CandidateMalformed(f"patch line {at + 1}: hunk header is malformed")
    old_left, new_left = (1 if count is None else int(count) for count in header.group(2, 4))
    before: list[bytes] = []
    after: list[bytes] = []
    trailing, changed, at = 0, False, at + 1
    while old_left or new_left or (at < len(lines) and lines[at].startswith(b"\\ ")):
        if at == len(lines):
            raise CandidateMalformed("hunk is cut short")
        line, mark = lines[at], lines[at][:1]
        at += 1
        if mark == b"\\":
            _end_without_newline(lines, at - 1, before, after)
            continue
        if mark not in (b"", b" ", b"-", b"+"):
            raise CandidateMalformed(f"patch line {at}: hunk line is malformed")
        if mark != b"+":
            before.append(line[1:] + b"\n")
            old_left -= 1
        if mark != b"-":
            after.append(line[1:] + b"\n")
            new_left -= 1
        changed = changed or mark in (b"-", b"+")
        trailing = 0 if mark in (b"-", b"+") else trailing + 1
        if old_left < 0 or new_left < 0:
            raise CandidateMalformed(f"patch line {at}: hunk is longer than its header says")
    if not changed:
        raise CandidateMalformed(f"patch line {at}: hunk changes nothing")
    for side in (before, after):
        if not all(line.endswith(b"\n") for line in side[:-1]):
            raise CandidateMalformed(f"patch line {at}: end of file inside a hunk")
    return Hunk(int(header[1]), int(header[3]), tuple(before), tuple(after), trailing), at


def _end_without_newline(
    lines: Sequence[bytes], at: int, before: list[bytes], after: list[bytes]
) -> None:
    mark = lines[at - 1][:1]
    if len(lines[at]) < _SHORTEST_EOF_NOTE or lines[at][1:2] != b" " or mark not in b" -+":
        raise CandidateMalformed(f"patch line {at + 1}: end-of-file note is malformed")
    if mark == b"":
        raise CandidateMalformed(f"patch line {at + 1}: end-of-file note after an empty line")
    for side, marks in ((before, b" -"), (after, b" +")):
        if mark in marks:
            side[-1] = side[-1].removesuffix(b"\n")


def placed(content: bytes, hunks: Sequence[Hunk], budget: WorkBudget) -> bytes | None:
    """The content with all hunks applied, or None when one of them matches nowhere."""
    lines = [line + b"\n" for line in content.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    if not lines[-1]:
        del lines[-1]
    open_lines: list[bytes | None] = list(lines)
    for hunk in hunks:
        at = _position(open_lines, hunk, budget)
        if at is None:
            return None
        end = at + len(hunk.before)
        lines[at:end] = hunk.after
        open_lines[at:end] = [None] * len(hunk.after)
    return b"".join(lines)


def _position(lines: list[bytes | None], hunk: Hunk, budget: WorkBudget) -> int | None:
    before = hunk.before
    last = len(lines) - len(before)
    # Moving the tail of a list is cheap but not free, so that it counts a little.
    budget.spend(len(before) + len(lines) // 256 + 1)
    at_end = hunk.trailing == 0
    if hunk.old_start <= 1:
        places = range(0, 1 if last == 0 or not at_end else 0)
    elif at_end:
        places = range(last, last + 1)
    else:
        wanted = min(max(hunk.new_start - 1, 0), len(lines))
        if wanted <= last and lines[wanted : wanted + len(before)] == list(before):
            return wanted
        budget.spend(len(lines))
        return _nearest(lines, before, wanted)
    fits = (at for at in places if 0 <= at <= last)
    return next((at for at in fits if lines[at : at + len(before)] == list(before)), None)


def _nearest(lines: list[bytes | None], wanted: Sequence[bytes], start: int) -> int | None:
    """Index of the match nearest to `start`, the later one of two equally near."""
    borders = _borders(wanted)
    best: int | None = None
    matched = 0
    for index, line in enumerate(lines):
        while matched and line != wanted[matched]:
            matched = borders[matched - 1]
        if line == wanted[matched]:
            matched += 1
        if matched == len(wanted):
            at = index + 1 - matched
            if best is None or abs(at - start) <= abs(best - start):
                best = at
            matched = borders[matched - 1]
    return best


def _borders(wanted: Sequence[bytes]) -> list[int]:
    borders = [0] * len(wanted)
    length = 0
    for index in range(1, len(wanted)):
        while length and wanted[index] != wanted[length]:
            length = borders[length - 1]
        if wanted[index] == wanted[length]:
            length += 1
        borders[index] = length
    return borders

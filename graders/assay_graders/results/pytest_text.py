"""pytest's text report with `-rA`: the lines of its short summary.

Captured output stands before the summary and can hold anything, so only what follows the last
summary header counts. The totals of the last line must agree with what is listed.
"""

from __future__ import annotations

import re

from assay.api import TestOutcome
from assay_graders.results.model import (
    MAX_RESULT_ID_BYTES,
    Collected,
    ParsedResults,
    ResultsRefused,
)
from assay_graders.results.text import plain_lines

__all__ = ["parse_pytest_text"]

_HEADER = re.compile(r"=+ short test summary info =+")
_WORDS = {
    "PASSED": TestOutcome.PASSED,
    "FAILED": TestOutcome.FAILED,
    "ERROR": TestOutcome.ERROR,
    "XFAIL": TestOutcome.XFAILED,
    "XPASS": TestOutcome.XFAILED,
}
_COUNTED = {
    "passed": "PASSED",
    "failed": "FAILED",
    "error": "ERROR",
    "errors": "ERROR",
    "xfailed": "XFAIL",
    "xpassed": "XPASS",
    "skipped": "SKIPPED",
}
_SKIPPED = re.compile(r"SKIPPED \[([0-9]{1,6})\] (.+?)(?:: .*)?")
_TOTALS = re.compile(
    r"=*\s*((?:[0-9]{1,9} [a-z]+(?:, )?)+|no tests ran) in [0-9.]{1,20}s(?: \([0-9:]+\))?\s*=*"
)
_TOTAL = re.compile(r"([0-9]+) ([a-z]+)")


def parse_pytest_text(data: bytes, known: frozenset[str] = frozenset()) -> ParsedResults:
    """Read the text that `pytest -rA` prints; raises ResultsRefused.

    `known` ids decide where an id with ` - ` in it ends; otherwise it ends at the first one
    before which no bracket is open.
    """
    collected = Collected()
    lines = plain_lines(data, collected)
    headers = [index for index, line in enumerate(lines) if _HEADER.fullmatch(line.strip())]
    if headers:
        lines = lines[headers[-1] + 1 :]
    listed: dict[str, int] = {}
    totals: dict[str, int] | None = None
    for line in lines:
        word, _, rest = line.partition(" ")
        total = _TOTALS.fullmatch(line.strip())
        if total is not None:
            totals = _counts(total[1])
        elif line.startswith("SKIPPED ["):
            _skip(line, collected, listed)
        elif word in _WORDS:
            if not rest.strip():
                collected.warn("a line names an outcome, but no test")
                continue
            test_id, message = _divided(word, rest, known)
            listed[word] = listed.get(word, 0) + 1
            collected.add(test_id, _WORDS[word], message)
    if totals is not None and totals != listed:
        raise ResultsRefused("the summary counts other tests than are listed; pytest needs -rA")
    return collected.results()


def _skip(line: str, collected: Collected, listed: dict[str, int]) -> None:
    match = _SKIPPED.fullmatch(line)
    if match is None:
        collected.warn("a line names an outcome, but no test")
        return
    count = int(match[1])
    if count:
        listed["SKIPPED"] = listed.get("SKIPPED", 0) + count
        collected.add(match[2], TestOutcome.SKIPPED, count=count)


def _counts(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, word in _TOTAL.findall(text):
        if word in _COUNTED and int(number):
            found[_COUNTED[word]] = found.get(_COUNTED[word], 0) + int(number)
    return found


def _divided(word: str, rest: str, known: frozenset[str]) -> tuple[str, str]:
    """Id and message: a test that passed has none."""
    rest = rest.strip()
    if word == "PASSED":
        return rest, ""
    # No id is longer, and every place where one may end is tried.
    longest = rest[: MAX_RESULT_ID_BYTES + 3]
    ends = [match.start() for match in re.finditer(" - ", longest)]
    for end in [len(rest), *reversed(ends)]:
        if rest[:end] in known:
            return rest[:end], rest[end + 3 :]
    for end in ends:
        if "[" not in rest[:end] or rest[:end].endswith("]"):
            return rest[:end], rest[end + 3 :]
    return rest, ""

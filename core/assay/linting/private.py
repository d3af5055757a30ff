"""Rules about what a published suite should not tell: credentials, people, places of a host.

They look at each line of each text file. A comment on the line can keep what they find.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import ClassVar

from assay.api import API_VERSION, LintedSuite, LintRule, LintSeverity, RelPath, SuiteFinding
from assay.redaction import HOMES
from assay.token_shapes import find_tokens

__all__ = ["PRIVATE_RULES", "PrivateRules"]

_SECRET, _PERSONAL, _PATH = "secret", "personal-data", "absolute-path"

PRIVATE_RULES: tuple[LintRule, ...] = (
    LintRule(
        _SECRET,
        LintSeverity.HAZARD,
        "Whoever has the suite can use this credential, candidates included.",
        "Revoke it, and put a made-up value without an issuer's prefix in its place.",
    ),
    LintRule(
        _PERSONAL,
        LintSeverity.PUBLISHING,
        "This looks like a person's address, number or name.",
        "Use a reserved domain such as example.org, or made-up data.",
    ),
    LintRule(
        _PATH,
        LintSeverity.PUBLISHING,
        "This path is there on one machine only, and tells whose it is.",
        "Name files relative to the fixture.",
    ),
)
"""By severity, gravest first."""

_MAX_BYTES = 1024**2
_MAX_FINDINGS = 100
_ALLOWED = re.compile(
    r"\bassay:\s*allow\s+(?P<rules>[a-z-]+(?:\s*,\s*[a-z-]+)*)\s*:\s*(?P<why>\S.{0,199})"
)
_MAIL = re.compile(
    r"(?<![\w.+-])(?P<user>[A-Za-z0-9._%+-]{1,64})@(?P<domain>(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24})(?![\w-])"
)
_NOBODY = frozenset({"git", "no-reply", "noreply"})
_RESERVED = re.compile(
    r"(?:^|\.)(?:example\.(?:com|edu|net|org)|example|test|invalid|localhost|local"
    r"|noreply\.github\.com)$",
    re.IGNORECASE,
)
_TELEPHONE = re.compile(
    r"(?<![\w+])\+[1-9]\d{0,2}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{2,4}(?:[ .-]\d{2,4}){2,4}(?![\w.-])"
)
_FICTION = "555"
_GIT = re.compile(
    r"^\s*(?:Author|Committer|Signed-off-by|Co-authored-by):\s{1,8}\S[^<\n]{0,80}<", re.IGNORECASE
)
_GIT_USER = re.compile(r"^[ \t]*+\[user\][ \t]*+\r?$", re.MULTILINE)
_GIT_NAME = re.compile(r"^\s*(?:user\.)?name\s*=\s*\S+\s+\S")


class PrivateRules:
    """Implements `assay.api.SuiteLinter`."""

    api: ClassVar[str] = API_VERSION
    name: ClassVar[str] = "private"
    lint_rules: ClassVar[tuple[LintRule, ...]] = PRIVATE_RULES

    def lint_suite(self, suite: LintedSuite) -> Iterable[SuiteFinding]:
        """Findings line by line, a bounded number for each file."""
        for path in suite.paths():
            content = suite.read(path, _MAX_BYTES)
            if content is not None and b"\0" not in content:
                yield from _of_file(path, content.decode("utf-8", "replace"))


def _of_file(path: RelPath, text: str) -> Iterator[SuiteFinding]:
    lines = text.split("\n")
    ends = [match.start() for match in re.finditer("\n", text)]
    found = {
        (bisect_left(ends, start) + 1, _SECRET, "") for start, _ in find_tokens(text, wide=True)
    }
    is_git_config = _GIT_USER.search(text) is not None
    for number, line in enumerate(lines, 1):
        found |= {(number, rule, detail) for rule, detail in _of_line(line, is_git_config)}
    for number, rule, detail in sorted(found)[:_MAX_FINDINGS]:
        excuse = _excuse(rule, lines[number - 1])
        yield SuiteFinding(rule, file=path, line=number, detail=detail, excuse=excuse)


def _of_line(line: str, is_git_config: bool) -> Iterator[tuple[str, str]]:
    if any(map(_is_somebody, _MAIL.finditer(line))):
        yield _PERSONAL, "an e-mail address"
    if any(_FICTION not in match[0] for match in _TELEPHONE.finditer(line)):
        yield _PERSONAL, "a telephone number"
    if _GIT.match(line) or (is_git_config and _GIT_NAME.match(line)):
        yield _PERSONAL, "a name as git writes it"
    if HOMES.search(line):
        yield _PATH, ""


def _is_somebody(match: re.Match[str]) -> bool:
    return match["user"].lower() not in _NOBODY and not _RESERVED.search(match["domain"])


def _excuse(rule: str, line: str) -> str:
    match = _ALLOWED.search(line)
    if match is None or rule not in re.split(r"\s*,\s*", match["rules"]):
        return ""
    return match["why"].strip()

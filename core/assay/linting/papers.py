"""Rules about what a published suite needs beside its tasks: a licence, a README, small files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import ClassVar

from assay.api import API_VERSION, LintedSuite, LintRule, LintSeverity, RelPath, SuiteFinding

__all__ = ["LICENCES", "PAPER_RULES", "READMES", "PaperRules"]

LICENCES = tuple(
    RelPath(f"{stem}{suffix}")
    for stem in ("LICENSE", "LICENCE", "COPYING")
    for suffix in ("", ".md", ".txt")
)
READMES = tuple(RelPath(f"README{suffix}") for suffix in (".md", "", ".rst", ".txt"))
"""Names in the suite's folder; the first that is there counts."""

LARGE = 1024**2

_NO_LICENCE, _NO_README, _LACKS, _LARGE = (
    "no-licence",
    "no-readme",
    "readme-lacks-part",
    "large-file",
)
_PUBLISHING = LintSeverity.PUBLISHING

PAPER_RULES: tuple[LintRule, ...] = (
    LintRule(
        _NO_LICENCE,
        _PUBLISHING,
        "Nobody may use the suite: its folder has no LICENSE.",
        "Add the text of a licence that covers the fixtures too.",
    ),
    LintRule(
        _NO_README,
        _PUBLISHING,
        "Nobody knows where the tasks come from and what they expect: there is no README.",
        "Write one with the headings Origin and Expected behaviour.",
    ),
    LintRule(
        _LACKS,
        _PUBLISHING,
        "The README leaves out something that readers need to judge results.",
        "Add the heading that the message names, with a text below it.",
    ),
    LintRule(
        _LARGE,
        _PUBLISHING,
        "Everybody who gets the suite gets this file, and every workspace copies it.",
        "Make it smaller, or have the task make it.",
    ),
)

_MAX_BYTES = 4 * 1024**2
_PARTS = {
    "Origin": re.compile(r"\b(?:origin|provenance|source)", re.IGNORECASE),
    "Expected behaviour": re.compile(
        r"\bexpected (?:behaviou?r|results?|verdicts?)", re.IGNORECASE
    ),
}
_HEADING = re.compile(
    r"^(?:#{1,6}[ \t]+(?P<hashes>\S.*)|(?P<ruled>\S.*)\n(?:={3,}|-{3,})[ \t]*)$", re.M
)


class PaperRules:
    """Implements `assay.api.SuiteLinter`."""

    api: ClassVar[str] = API_VERSION
    name: ClassVar[str] = "papers"
    lint_rules: ClassVar[tuple[LintRule, ...]] = PAPER_RULES

    def lint_suite(self, suite: LintedSuite) -> Iterable[SuiteFinding]:
        """What is missing beside the tasks, and what is too large in them."""
        paths = suite.paths()
        if not any(name in paths for name in LICENCES):
            yield SuiteFinding(_NO_LICENCE)
        readme = next((name for name in READMES if name in paths), None)
        if readme is None:
            yield SuiteFinding(_NO_README)
        else:
            yield from _of_readme(readme, suite.read(readme, _MAX_BYTES) or b"")
        for path in paths:
            if suite.read(path, LARGE) is None:
                yield SuiteFinding(_LARGE, file=path, detail=f"more than {LARGE} bytes")


def _of_readme(path: RelPath, content: bytes) -> Iterator[SuiteFinding]:
    text = content.decode("utf-8", "replace").replace("\r\n", "\n")
    headings = [match["hashes"] or match["ruled"] for match in _HEADING.finditer(text)]
    for part, pattern in _PARTS.items():
        if not any(pattern.search(heading) for heading in headings):
            yield SuiteFinding(_LACKS, file=path, detail=part)

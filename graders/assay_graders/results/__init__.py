"""Result files of many test tools: read exactly, or refused with a reason.

Nothing here is trusted: a file was written by a process that may have run candidate code. What
can't be read with certainty is refused; nothing is ever repaired into a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay_graders.results.junit import parse_junit
from assay_graders.results.model import (
    MAX_FILE_BYTES,
    MAX_RESULTS,
    ParsedResults,
    ParsedTest,
    ResultsRefused,
)
from assay_graders.results.pytest_text import parse_pytest_text
from assay_graders.results.tap import parse_node_tap, parse_tap
from assay_graders.results.unittest_text import parse_unittest_text

__all__ = [
    "FORMATS",
    "MAX_FILE_BYTES",
    "MAX_RESULTS",
    "ParsedResults",
    "ParsedTest",
    "ResultsRefused",
    "parse_junit",
    "parse_node_tap",
    "parse_pytest_text",
    "parse_results",
    "parse_tap",
    "parse_unittest_text",
]

FORMATS: Mapping[str, Callable[[bytes, frozenset[str]], ParsedResults]] = {
    "junit": lambda data, _: parse_junit(data),
    "node-tap": lambda data, _: parse_node_tap(data),
    "pytest": parse_pytest_text,
    "tap": lambda data, _: parse_tap(data),
    "unittest": lambda data, _: parse_unittest_text(data),
}
"""Readers by the name of their format; the second argument holds ids that are known."""


def parse_results(
    data: bytes, format_name: str, known: frozenset[str] = frozenset()
) -> ParsedResults:
    """Read a result file; raises ResultsRefused, and for an unknown format KeyError.

    `known` are ids that may occur: they decide where an id ends, in a format that leaves
    that open, and nothing else.
    """
    return FORMATS[format_name](data, known)

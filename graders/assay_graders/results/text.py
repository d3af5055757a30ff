"""Lines of a text report: colours gone, other control characters made visible.

Only a line feed ends a line. A carriage return inside a line can make a terminal show
something else than what was written, so it ends nothing and is replaced like the rest.
"""

from __future__ import annotations

import re

from assay_graders.results.model import Collected, require_size

__all__ = ["plain_lines"]

# Both patterns take each character at most once: no input makes them slow.
_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_REPLACED = "\N{REPLACEMENT CHARACTER}"


def plain_lines(data: bytes, collected: Collected) -> list[str]:
    """The lines of a report in UTF-8, without line ends; raises ResultsRefused.

    What is not UTF-8, and what is a control character but no colour, is replaced with a
    warning.
    """
    require_size(data)
    text = data.decode("utf-8-sig", "replace")
    if _REPLACED in text:
        collected.warn("the file holds bytes that are not UTF-8; they are replaced")
    lines = [line.removesuffix("\r") for line in _COLOUR.sub("", text).split("\n")]
    plain = [_CONTROL.sub(_REPLACED, line) for line in lines]
    if plain != lines:
        collected.warn("the file holds control characters; they are replaced")
    return plain

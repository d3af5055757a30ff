"""The prompt: what a candidate is told, the same words on every machine."""

from __future__ import annotations

import re
import unicodedata

from assay.structuring import FieldError

__all__ = ["MAX_PROMPT_BYTES", "check_prompt"]

MAX_PROMPT_BYTES = 64 * 1024

_ROOTS = "home|root|Users|tmp|var/tmp|var/folders|private/tmp|workspaces?|mnt"
_MACHINE_PATH = re.compile(
    rf"(?:(?<![\w./~-])|(?<=file://))/(?:{_ROOTS})/[^\s/]|(?<!\w)[A-Za-z]:(?:\\+|/)\w"
)


def check_prompt(text: str) -> str:
    """The prompt itself; raises FieldError for an empty, huge or machine-bound one."""
    if not text.strip():
        raise FieldError("must not be empty")
    if len(text.encode("utf-8", "surrogatepass")) > MAX_PROMPT_BYTES:
        raise FieldError(f"must not be longer than {MAX_PROMPT_BYTES} bytes")
    if any(unicodedata.category(char) == "Cc" and char not in "\t\n\r" for char in text):
        raise FieldError("must not hold control characters")
    if _MACHINE_PATH.search(text):
        raise FieldError("must not name an absolute path of some machine")
    return text

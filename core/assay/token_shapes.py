"""Credentials by their shape: prefixes that issuers give them so that they can be found.

Our own table has the common ones and takes linear time on any text, so that hostile output can
be searched. Where detect-secrets is installed (`assay[secrets]`), its detectors with a fixed
prefix widen it, on pieces of lines. Those that guess by entropy or by words nearby are left out,
and nothing is ever verified with an issuer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

__all__ = ["detector", "find_tokens"]

_DETECTORS = {
    "azure_storage_key": "AzureStorageKeyDetector",
    "discord": "DiscordBotTokenDetector",
    "github_token": "GitHubTokenDetector",
    "gitlab_token": "GitLabTokenDetector",
    "mailchimp": "MailchimpDetector",
    "npm": "NpmDetector",
    "openai": "OpenAIDetector",
    "pypi_token": "PypiTokenDetector",
    "sendgrid": "SendGridDetector",
    "slack": "SlackDetector",
    "square_oauth": "SquareOAuthDetector",
    "stripe": "StripeDetector",
    "twilio": "TwilioKeyDetector",
}
_PIECE, _OVERLAP = 256, 128
_LONG_LINE = re.compile(rf"[^\n]{{{_PIECE},}}")

_WORDS = "|".join(
    (
        r"gh[opsur]_[A-Za-z0-9]{36,}+",
        r"github_pat_\w{22,}+",
        r"gl(?:pat|rt|ptt|dt|ft|soat)-[\w-]{20,}+",
        r"sk-ant-[\w-]{20,}+",
        r"sk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{32,}+",
        r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])",
        r"xox[abeoprs]-[\w-]{10,}+",
        r"AIza[\w-]{35}(?![\w-])",
        r"hf_[A-Za-z0-9]{30,}+",
        r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])",
        r"pypi-AgE[\w-]{50,}+",
        r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}+",
        r"SG\.[\w-]{16,}+\.[\w-]{16,}+",
        r"eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+\.[\w-]{8,}+",
    )
)
_OWN = re.compile(
    rf"(?<![\w-])(?<!<key>)(?<!<path>)(?:{_WORDS})"
    # Groups are never repeated possessively: Python before 3.11.5 gets that wrong.
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*+(?:-(?!----)[^-]*+)*"
    r"-----END [A-Z ]{0,40}PRIVATE KEY-----"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:\s{1,4}+[A-Za-z0-9+/=]{16,128}+){1,256}"
    r"|(?<=://)[^\s/:@?#'\"<>]{0,255}+:[^\s/:@?#'\"<>]{1,255}+(?=@)"
    r"|(?<=\b[Bb]earer )[\w.~+/-]{16,}+=*+"
)


def find_tokens(text: str, *, wide: bool) -> tuple[tuple[int, int], ...]:
    """Where credentials are, as (start, end) without overlaps; `wide` asks the detector too.

    Whole words are taken, so that taking one away brings no other one to light.
    """
    found = [match.span() for match in _OWN.finditer(text)]
    if wide and (patterns := _patterns()):
        found += _wide(text, patterns)
    merged: list[tuple[int, int]] = []
    for start, end in sorted(found):
        least = merged[-1][1] if merged else 0
        if end <= least:
            continue
        while start > least and _in_word(text[start - 1]):
            start -= 1
        while end < len(text) and _in_word(text[end]):
            end += 1
        if merged and start <= least:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return tuple(merged)


def _in_word(char: str) -> bool:
    return char.isalnum() or char in "_-"


def detector() -> str:
    """Name and version of the detector that is installed, empty for none."""
    try:
        return f"detect-secrets {version('detect-secrets')}"
    except PackageNotFoundError:
        return ""


def _wide(text: str, patterns: tuple[re.Pattern[str], ...]) -> Iterator[tuple[int, int]]:
    for at, piece in _pieces(text):
        for pattern in patterns:
            for match in pattern.finditer(piece):
                yield at + match.start(), at + match.end()


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """The text such that no line is long: some patterns take quadratic time on a line."""
    done = 0
    for match in _LONG_LINE.finditer(text):
        yield done, text[done : match.start()]
        for first in range(match.start(), match.end() - _OVERLAP, _PIECE - _OVERLAP):
            yield first, text[first : min(first + _PIECE, match.end())]
        done = match.end()
    yield done, text[done:]


@lru_cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    if not detector():
        return ()
    return tuple(
        pattern
        for module, name in sorted(_DETECTORS.items())
        for pattern in getattr(import_module(f"detect_secrets.plugins.{module}"), name).denylist
    )

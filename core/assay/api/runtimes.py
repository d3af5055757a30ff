"""What a task may ask of its runtime: exact requirements, and programs of the system by name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from attrs import frozen

from assay.api.errors import InvalidInput

__all__ = ["Requirement", "requirements", "tool_names"]

MAX_REQUIREMENTS = 100
MAX_TOOLS = 50

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"
_NUMBER = r"(?:0|[1-9][0-9]{0,17})"
_VERSION = (
    rf"(?:[1-9][0-9]{{0,8}}!)?{_NUMBER}(?:\.{_NUMBER}){{0,9}}(?:(?:a|b|rc){_NUMBER})?"
    rf"(?:\.post{_NUMBER})?(?:\.dev{_NUMBER})?(?:\+[a-z0-9]{{1,32}}(?:\.[a-z0-9]{{1,32}}){{0,4}})?"
)
REQUIREMENT_PATTERN = rf"{_NAME}=={_VERSION}"
TOOL_PATTERN = r"[a-z0-9][a-z0-9._+-]{0,63}"

_PIN = re.compile(rf"({_NAME})==({_VERSION})")
_TOOL = re.compile(TOOL_PATTERN)


@frozen(order=True)
class Requirement:
    """One exact version of one distribution; the name is in its normal form (PEP 503)."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"


def requirements(texts: Iterable[str]) -> tuple[Requirement, ...]:
    """Check a list of `name==version`, at most one for each distribution; sorted by name.

    No range, URL, option, extra or marker. A version must be in its normal form (PEP 440),
    since otherwise one requirement had several texts. Raises InvalidInput with the rule.
    """
    found = sorted(_requirement(text) for text in texts)
    if len(found) > MAX_REQUIREMENTS:
        raise InvalidInput(f"must hold at most {MAX_REQUIREMENTS} requirements")
    if len({requirement.name for requirement in found}) < len(found):
        raise InvalidInput("must not name a distribution twice")
    return tuple(found)


def _requirement(text: str) -> Requirement:
    match = _PIN.fullmatch(text)
    if match is None:
        raise InvalidInput("must hold only name==version, with the version in normal form")
    return Requirement(re.sub(r"[-_.]+", "-", match[1]).lower(), match[2])


def tool_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Check names of programs, sorted; raises InvalidInput with the rule."""
    found = sorted(texts)
    if len(found) > MAX_TOOLS:
        raise InvalidInput(f"must hold at most {MAX_TOOLS} names")
    if len(set(found)) < len(found):
        raise InvalidInput("must not name a program twice")
    if not all(_TOOL.fullmatch(name) for name in found):
        raise InvalidInput(
            "must hold only names of lower-case letters, digits and, after the first, . _ + -"
        )
    return tuple(found)

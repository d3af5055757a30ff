"""What text must lose before it leaves: secrets, credentials, host paths, control sequences.

A secret is found by its value (`known_values`) or its shape (`token_shapes`). Text that holds
none of all that stays as it is, and redacting twice changes nothing more. Names and ids lose
known secrets only, so that results don't depend on what a host has installed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen

from assay.api import Captured, TrialRecord
from assay.known_values import SHORTEST, KnownValues
from assay.token_shapes import detector, find_tokens

__all__ = ["HOMES", "PATH", "SECRET", "Redactor", "host_redactor"]

SECRET = "<key>"
PATH = "<path>"
"""What stands in the place of something; shorter than any known value."""

VERSION = "1"
NAMES_VARIABLE = "ASSAY_SECRETS"
SECRET_VARIABLES = (
    *("ANTHROPIC_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    *("AZURE_OPENAI_API_KEY", "COHERE_API_KEY", "DEEPSEEK_API_KEY", "GEMINI_API_KEY"),
    *("GH_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN", "GOOGLE_API_KEY", "GROQ_API_KEY", "HF_TOKEN"),
    *("MISTRAL_API_KEY", "NPM_TOKEN", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "TOGETHER_API_KEY"),
)

_JAIL = r"workspace|hidden|usr|bin|sbin|lib|lib64|dev|proc|sys|etc"
_CONTROL = re.compile(
    r"\x1b\[[0-?]*+[ -/]*+[@-~]"
    r"|\x1b\][^\x07\x1b\n]{0,4096}+(?:\x07|\x1b\\)"
    r"|\x1b[ -/]{0,8}+[0-Z\\^-~]"
    r"|\x9b[0-?]*+[ -/]*+[@-~]"
    r"|(?P<newline>\r\n)"
    r"|(?P<other>[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069])"
)
HOMES = re.compile(
    r"(?:(?<![\w.~/-])(?<!<path>)|(?<=file://)|(?<=-[A-Z]))"
    r"(?:/(?:home|Users)/[^\s/'\":;,()<>\[\]{}]{1,255}+|/root(?![\w.-])"
    r"|(?:/private)?/var/folders/[\w+-]{1,64}+/[\w+-]{1,64}+"
    r"|(?:/var)?/tmp/assay-[\w.-]{1,255}+)"
    r"|[A-Za-z]:\\{1,2}Users\\{1,2}[^\s\\/'\":;,<>]{1,255}+"
)
_ABSOLUTE = re.compile(rf"(?<![\w.~/<>-])/(?!(?:{_JAIL})\b)[\w.+~@-]++(?:/[\w.+~@-]++)+")
_MESSAGES = frozenset({"error", "detail"})
_TEXTS = frozenset({"message_public", "message_private", "summary"})


@frozen
class Redactor:
    """Takes away known secrets, known places of this host, and what looks like either."""

    secrets: KnownValues
    places: KnownValues
    wide: bool = True

    @classmethod
    def of(
        cls, secrets: Iterable[str] = (), places: Iterable[str] = (), *, wide: bool = True
    ) -> Redactor:
        """`wide` asks the installed detector too. Raises UsageError for a value too short."""
        return cls(KnownValues.of(secrets), KnownValues.of(places), wide)

    def text(self, text: str) -> str:
        """Text of many lines, such as the output of a jail."""
        text = self.secrets.replaced(_CONTROL.sub(_shown, text), SECRET)
        parts: list[str] = []
        done = 0
        for start, end in find_tokens(text, wide=self.wide):
            parts += text[done:start], SECRET
            done = end
        text = "".join((*parts, text[done:]))
        return HOMES.sub(PATH, self.places.replaced(text, PATH))

    def message(self, text: str) -> str:
        """A message of an error: no absolute path but of places inside a jail."""
        return _ABSOLUTE.sub(PATH, self.text(text))

    def name(self, text: str) -> str:
        """A name, an id or a path: only known secrets leave it.

        A relative path may look like a place of one host, and results must not depend on that.
        """
        return self.secrets.replaced(text, SECRET)

    def stream(self, stream: Captured) -> str:
        """What was kept of a stream, without the parts of a known secret beside the cut."""
        if not stream.truncated:
            return self.text(stream.text())
        head, tail = stream.head.decode("utf-8", "replace"), stream.tail.decode("utf-8", "replace")
        kept = self.secrets.without_end(head), self.secrets.without_start(tail)
        return "\n[cut]\n".join(map(self.text, kept))

    def data(self, value: Any) -> Any:
        """Plain JSON data with every text in it redacted, the keys of objects included."""
        return _mapped(value, self.text)

    def names(self, value: Any) -> Any:
        """Plain JSON data in which every text is treated as a name."""
        return _mapped(value, self.name)

    def content(self, content: bytes) -> bytes:
        """Bytes that are text: JSON keeps its form, and is not rewritten without need.

        Bytes that are no UTF-8 are given back as they are; who keeps them must not.
        """
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            return content
        if content[:1] in (b"{", b"["):
            try:
                data = json.loads(text)
                redacted = self.data(data)
                return content if redacted == data else json.dumps(redacted).encode()
            except (ValueError, RecursionError):
                pass
        return self.text(text).encode("utf-8", "replace")

    def record(self, record: TrialRecord) -> TrialRecord:
        """A trial's record: prose as text, everything else as names."""
        redacted: TrialRecord = _walked(record, self, "")
        return redacted

    def about(self) -> dict[str, str]:
        """How it redacts, for the run's folder."""
        return {"version": VERSION, "detector": detector() if self.wide else ""}


@lru_cache
def host_redactor(*, wide: bool = True) -> Redactor:
    """What this process must not tell: provider keys of its environment, its folders."""
    named = os.environ.get(NAMES_VARIABLE, "").split(",")
    values = (os.environ.get(name.strip(), "") for name in (*SECRET_VARIABLES, *named))
    return Redactor.of(
        (value.strip() for value in values if len(value.strip()) >= SHORTEST),
        _places(),
        wide=wide,
    )


def _places() -> set[str]:
    found = {os.path.expanduser("~"), tempfile.gettempdir(), os.environ.get("ASSAY_STORE", "")}
    with contextlib.suppress(OSError):
        found.add(str(Path.cwd()))
    return {place.rstrip("/") for place in found if _tells_of_this_host(place)}


def _tells_of_this_host(place: str) -> bool:
    """Whether a path is long enough to be found, and none that jails have too."""
    inside = re.match(rf"/(?:{_JAIL}|tmp)(?:/|$)|/var/tmp/?$", place)
    return place.startswith("/") and len(place.rstrip("/")) >= SHORTEST and not inside


def _shown(match: re.Match[str]) -> str:
    if match["newline"]:
        return match[0]
    other = match["other"]
    return other.encode("unicode_escape").decode("ascii") if other else ""


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(str(key)): _mapped(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(item, change) for item in value]
    return value


def _redacted(text: str, redactor: Redactor, field: str) -> str:
    if field in _MESSAGES:
        return redactor.message(text)
    return redactor.text(text) if field in _TEXTS else redactor.name(text)


def _walked(value: Any, redactor: Redactor, name: str) -> Any:
    """The same data with redacted texts; unchanged parts are the very same objects."""
    if type(value) is str:
        return _redacted(value, redactor, name)
    if type(value) is bytes:
        return redactor.content(value)
    if attrs.has(type(value)):
        fields = {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}
        changed = {key: _walked(item, redactor, key) for key, item in fields.items()}
        changed = {key: item for key, item in changed.items() if item is not fields[key]}
        return attrs.evolve(value, **changed) if changed else value
    if isinstance(value, tuple):
        items = tuple(_walked(item, redactor, name) for item in value)
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    if isinstance(value, Mapping):
        pairs = {redactor.name(key): _walked(item, redactor, name) for key, item in value.items()}
        return pairs if pairs != value else value
    return value

"""Writes nsjail's configuration: protobuf text format, one field a line.

A value is written exactly or refused; nothing is dropped, replaced or interpreted.
"""

from __future__ import annotations

import re

from assay.api import SandboxFailed

__all__ = ["Message", "quote"]

MAX_TEXT_BYTES = 4096
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
_NOT_PLAIN = frozenset(range(256)) - frozenset(range(0x20, 0x7F)) | frozenset(b'"')


def quote(value: bytes) -> str:
    """A byte string as a quoted literal: all but printable ASCII as three octal digits."""
    quoted = value.replace(b"\\", b"\\134")
    for byte in _NOT_PLAIN.intersection(value):
        quoted = quoted.replace(bytes((byte,)), b"\\%03o" % byte)
    return f'"{quoted.decode("ascii")}"'


class Message:
    """One message under construction; fields keep the order in which they were added."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def text(self, name: str, value: str) -> None:
        """A name, path or argument: UTF-8 without control characters, at most 4,096 bytes.

        nsjail prints such values unescaped into its log, so a line break would forge one.
        """
        try:
            encoded = value.encode("utf-8")
        except UnicodeEncodeError:
            raise SandboxFailed("configuration", f"{name} is not valid UTF-8") from None
        if _CONTROL.search(encoded):
            raise SandboxFailed("configuration", f"{name} holds a control character")
        if len(encoded) > MAX_TEXT_BYTES:
            raise SandboxFailed("configuration", f"{name} is longer than {MAX_TEXT_BYTES} bytes")
        self._lines.append(f"{name}: {quote(encoded)}")

    def blob(self, name: str, value: bytes) -> None:
        """Any bytes, exactly."""
        self._lines.append(f"{name}: {quote(value)}")

    def number(self, name: str, value: int) -> None:
        """A whole number."""
        self._lines.append(f"{name}: {value:d}")

    def flag(self, name: str, value: bool) -> None:
        """A truth value."""
        self._lines.append(f"{name}: {'true' if value else 'false'}")

    def word(self, name: str, value: str) -> None:
        """A member of an enumeration."""
        if not value.isidentifier():
            raise SandboxFailed("configuration", f"{name} is not a word")
        self._lines.append(f"{name}: {value}")

    def message(self, name: str, value: Message) -> None:
        """A nested message."""
        self._lines.append(f"{name} {{ {' '.join(value._lines)} }}")

    def encode(self) -> bytes:
        """The whole as ASCII bytes."""
        return ("\n".join(self._lines) + "\n").encode("ascii")

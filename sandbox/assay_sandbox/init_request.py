"""What the supervisor asks of a jail's init, as bytes that both inits read strictly.

    request = texts(argv) texts(environment, each NAME=VALUE) text(directory) limits
    texts   = count, and so many texts
    text    = length, so many bytes other than zero, and a zero
    limits  = count, and so many of: resource number, soft value, hard value

Counts, lengths and resource numbers are four bytes, values eight, all little-endian. Nothing
follows. So a compiled init can use the texts where they lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["MOST_REQUEST_BYTES", "encode_request"]

MOST_REQUEST_BYTES = 1 << 20


def encode_request(
    argv: Sequence[bytes],
    environment: Iterable[tuple[bytes, bytes]],
    cwd: bytes,
    limits: Sequence[tuple[int, tuple[int, int]]],
) -> bytes:
    """The request; the caller has checked that no text holds a zero.

    `limits`: resource number, soft and hard value of each.
    """
    parts = [*_texts(argv), *_texts([name + b"=" + value for name, value in environment])]
    parts += [_text(cwd), _number(len(limits))]
    for kind, values in limits:
        parts += [_number(kind), *(value.to_bytes(8, "little") for value in values)]
    return b"".join(parts)


def _texts(texts: Sequence[bytes]) -> list[bytes]:
    return [_number(len(texts)), *(_text(text) for text in texts)]


def _text(text: bytes) -> bytes:
    return _number(len(text)) + text + b"\0"


def _number(value: int) -> bytes:
    return value.to_bytes(4, "little")

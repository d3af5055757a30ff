"""Binary patches of git: base-85 text around deflated content or a delta against the old one.

Both object ids of the `index` line must be whole and must fit: a binary patch applies to
exactly one content and gives exactly one. Sizes are checked before anything is inflated.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Sequence

from attrs import field, frozen

from assay.api.errors import CandidateMalformed
from assay.patch_hunks import WorkBudget

__all__ = ["MAX_FILE_BYTES", "BinaryPatch", "object_id", "parse_binary", "patched"]

MAX_FILE_BYTES = 64 * 1024**2
"""Largest content or delta that a binary patch may declare."""

_METHOD = re.compile(rb"(literal|delta) (\d{1,12})\r?")
_SHORTEST_LINE = 6
_STEPS_OF_AN_OPERATION = 8


@frozen
class BinaryPatch:
    """Forward part of one binary patch; `size` is that of the inflated data."""

    delta: bool
    size: int
    deflated: bytes = field(repr=False)


def parse_binary(lines: Sequence[bytes], at: int) -> tuple[BinaryPatch, int]:
    """The binary patch whose method line is `lines[at]` and the index behind it."""
    forward, at = _part(lines, at)
    if forward is None:
        raise CandidateMalformed(f"patch line {at + 1}: binary patch is malformed")
    _, at = _part(lines, at)
    return forward, at


def _part(lines: Sequence[bytes], at: int) -> tuple[BinaryPatch | None, int]:
    method = _METHOD.fullmatch(lines[at]) if at < len(lines) else None
    if method is None:
        return None, at
    size = int(method[2])
    if size > MAX_FILE_BYTES:
        raise CandidateMalformed("binary patch is larger than is allowed")
    at += 1
    chunks = []
    while at < len(lines) and lines[at]:
        chunks.append(_decoded(lines[at], at))
        at += 1
    return BinaryPatch(method[1] == b"delta", size, b"".join(chunks)), at + 1


def _decoded(line: bytes, at: int) -> bytes:
    malformed = CandidateMalformed(f"patch line {at + 1}: binary data is malformed")
    count = line[0] - 64 if 65 <= line[0] <= 90 else line[0] - 70 if 97 <= line[0] <= 122 else 0
    groups, rest = divmod(len(line) - 1, 5)
    if rest or len(line) < _SHORTEST_LINE or not groups * 4 - 4 < count <= groups * 4:
        raise malformed
    try:
        return base64.b85decode(line[1:])[:count]
    except ValueError:
        raise malformed from None


def object_id(content: bytes, length: int) -> bytes:
    """The id that git gives to a file's content, as hexadecimal text of that length."""
    framed = b"blob %d\0" % len(content) + content
    if length == 64:
        return hashlib.sha256(framed).hexdigest().encode()
    return hashlib.sha1(framed, usedforsecurity=False).hexdigest().encode()


def patched(content: bytes, patch: BinaryPatch, budget: WorkBudget) -> bytes | None:
    """The new content, or None when the delta was made against another one."""
    data = _inflated(patch)
    return _undelta(content, data, budget) if patch.delta else data


def _inflated(patch: BinaryPatch) -> bytes:
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(patch.deflated, patch.size + 1)
    except zlib.error:
        raise CandidateMalformed("binary patch holds data that can't be inflated") from None
    if not inflater.eof or len(data) != patch.size or inflater.unused_data:
        raise CandidateMalformed("binary patch does not have the size that it declares")
    return data


def _undelta(source: bytes, delta: bytes, budget: WorkBudget) -> bytes | None:
    source_size, at = _varint(delta, 0)
    target_size, at = _varint(delta, at)
    if source_size != len(source):
        return None
    if target_size > MAX_FILE_BYTES:
        raise CandidateMalformed("binary patch is larger than is allowed")
    target = bytearray()
    while at < len(delta):
        budget.spend(_STEPS_OF_AN_OPERATION)
        chunk, at = _operation(source, delta, at)
        target += chunk
        if len(target) > target_size:
            raise CandidateMalformed("binary delta is malformed")
    if len(target) != target_size:
        raise CandidateMalformed("binary delta is malformed")
    return bytes(target)


def _operation(source: bytes, delta: bytes, at: int) -> tuple[bytes, int]:
    code = delta[at]
    at += 1
    if code < 0x80:
        if code == 0 or at + code > len(delta):
            raise CandidateMalformed("binary delta is malformed")
        return delta[at : at + code], at + code
    values = []
    for bit in range(7):
        byte = 0
        if code >> bit & 1:
            if at == len(delta):
                raise CandidateMalformed("binary delta is malformed")
            byte = delta[at]
            at += 1
        values.append(byte)
    offset = int.from_bytes(bytes(values[:4]), "little")
    size = int.from_bytes(bytes(values[4:]), "little") or 0x10000
    if offset + size > len(source):
        raise CandidateMalformed("binary delta is malformed")
    return source[offset : offset + size], at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 63, 7):
        if at == len(data):
            break
        value |= (data[at] & 0x7F) << shift
        at += 1
        if not data[at - 1] & 0x80:
            return value, at
    raise CandidateMalformed("binary delta is malformed")

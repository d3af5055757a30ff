"""Moves a copied interpreter's library search path to the place where it will be mounted."""

from __future__ import annotations

import struct

__all__ = ["library_path", "needs_library", "with_library_path"]

PT_LOAD, PT_DYNAMIC = 1, 2
DT_NULL, DT_NEEDED, DT_STRTAB, DT_RPATH, DT_RUNPATH = 0, 1, 5, 15, 29

_HEADER = struct.Struct("<4sBBBB8xHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_DYNAMIC = struct.Struct("<qQ")


def needs_library(image: bytes, name: str) -> bool:
    """Whether a 64-bit ELF image names a shared library as needed."""
    return any(
        image[start:end] == name.encode("ascii") for start, end in _strings(image, DT_NEEDED)
    )


def library_path(image: bytes) -> str | None:
    """The search path stored in a 64-bit ELF image, or None when it has none."""
    for start, end in _strings(image, DT_RPATH, DT_RUNPATH):
        return image[start:end].decode("utf-8", "replace")
    return None


def with_library_path(image: bytes, path: str) -> bytes | None:
    """The image with its search path overwritten; None when it has none or too short a one."""
    encoded = path.encode("ascii")
    for start, end in _strings(image, DT_RPATH, DT_RUNPATH):
        if end - start >= len(encoded):
            return image[:start] + encoded.ljust(end - start, b"\0") + image[end:]
    return None


def _strings(image: bytes, *tags: int) -> list[tuple[int, int]]:
    """Where the strings of some dynamic tags stand in the file: start and end of each."""
    if image[:6] != b"\x7fELF\x02\x01" or len(image) < _HEADER.size:
        return []
    header = _HEADER.unpack_from(image)
    offset, count = header[9], header[14]
    segments = [_SEGMENT.unpack_from(image, offset + at * _SEGMENT.size) for at in range(count)]
    table, found = None, []
    for kind, _, start, _, _, size, _, _ in segments:
        if kind != PT_DYNAMIC:
            continue
        for at in range(start, start + size, _DYNAMIC.size):
            tag, value = _DYNAMIC.unpack_from(image, at)
            if tag == DT_NULL:
                break
            if tag == DT_STRTAB:
                table = value
            elif tag in tags:
                found.append(value)
    for kind, _, start, address, _, size, _, _ in segments:
        if kind == PT_LOAD and table is not None and address <= table < address + size:
            begins = [start + table - address + inside for inside in found]
            return [(begin, image.index(b"\0", begin)) for begin in begins]
    return []

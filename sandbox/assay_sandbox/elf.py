"""Moves a copied interpreter's library search path to the place where it will be mounted."""

from __future__ import annotations

import struct

__all__ = ["library_path", "with_library_path"]

PT_LOAD, PT_DYNAMIC = 1, 2
DT_NULL, DT_STRTAB, DT_RPATH, DT_RUNPATH = 0, 5, 15, 29

_HEADER = struct.Struct("<4sBBBB8xHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_DYNAMIC = struct.Struct("<qQ")


def library_path(image: bytes) -> str | None:
    """The search path stored in a 64-bit ELF image, or None when it has none."""
    place = _place(image)
    return None if place is None else image[place[0] : place[1]].decode("utf-8", "replace")


def with_library_path(image: bytes, path: str) -> bytes | None:
    """The image with its search path overwritten; None when it has none or too short a one."""
    place = _place(image)
    encoded = path.encode("ascii")
    if place is None or place[1] - place[0] < len(encoded):
        return None
    start, end = place
    return image[:start] + encoded.ljust(end - start, b"\0") + image[end:]


def _place(image: bytes) -> tuple[int, int] | None:
    """Where the search path stands in the file: start and end."""
    if image[:6] != b"\x7fELF\x02\x01" or len(image) < _HEADER.size:
        return None
    header = _HEADER.unpack_from(image)
    offset, count = header[9], header[14]
    segments = [_SEGMENT.unpack_from(image, offset + at * _SEGMENT.size) for at in range(count)]
    strings = path = None
    for kind, _, start, _, _, size, _, _ in segments:
        if kind != PT_DYNAMIC:
            continue
        for at in range(start, start + size, _DYNAMIC.size):
            tag, value = _DYNAMIC.unpack_from(image, at)
            if tag == DT_NULL:
                break
            if tag == DT_STRTAB:
                strings = value
            elif tag in (DT_RPATH, DT_RUNPATH):
                path = value
    if strings is None or path is None:
        return None
    for kind, _, start, address, _, size, _, _ in segments:
        if kind == PT_LOAD and address <= strings < address + size:
            begin = start + strings - address + path
            return begin, image.index(b"\0", begin)
    return None

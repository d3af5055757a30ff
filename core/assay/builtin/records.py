"""The bytes that stand for entries in a digest of `assay-tree-v1`; docs/formats/tree.md."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from assay.api import Digest

__all__ = ["HEADER", "PREFIX", "digest_of", "directory_records", "file_records"]

PREFIX = "sha256:"
_SIZE = 32


def _field(content: bytes) -> bytes:
    return struct.pack(">Q", len(content)) + content


HEADER = _field(b"assay-tree-v1")
_DIRECTORY = _field(b"dir")
_NO_CONTENT = _field(b"") * 3


def file_records(
    paths: Iterable[str],
    executables: Iterable[bool],
    sizes: Iterable[int],
    digests: Sequence[str],
) -> list[bytes]:
    """A record for each file; `digests` are hexadecimal, of 64 characters."""
    contents = bytes.fromhex("".join(digests))
    records: list[bytes] = []
    start = 0
    for path, executable, size in zip(paths, executables, sizes, strict=True):
        name = path.encode("utf-8")
        length = len(name)
        digest = contents[start : start + _SIZE]
        bit = b"1" if executable else b"0"
        records.append(_packer(length)(4, b"file", length, name, 1, bit, 8, size, _SIZE, digest))
        start += _SIZE
    return records


def directory_records(paths: Iterable[str]) -> list[bytes]:
    """A record for each directory."""
    return [_DIRECTORY + _field(path.encode("utf-8")) + _NO_CONTENT for path in paths]


def digest_of(records: Iterable[bytes]) -> Digest:
    """Digest of the tree with these records, which are in the order of their paths."""
    hashed = hashlib.sha256(HEADER)
    hashed.update(b"".join(records))
    return Digest(PREFIX + hashed.hexdigest())


@lru_cache(maxsize=4096)
def _packer(length: int) -> Callable[..., bytes]:
    """Five fields of a file whose path has so many bytes."""
    return struct.Struct(f">Q4sQ{length}sQ1sQQQ{_SIZE}s").pack

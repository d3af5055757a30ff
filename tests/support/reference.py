"""A second implementation of `assay-tree-v1`, written from docs/formats/tree.md alone.

For trees without anything refused. It walks by path, recurses and reads whole files: slow,
short, and unlike the hasher in all of it, so that they can only agree on the contract.
"""

import hashlib
import os
import struct
from pathlib import Path

LEFT_OUT = {
    *(".git", ".hg", ".svn", "__pycache__", "node_modules"),
    *(".pytest_cache", ".mypy_cache", ".ruff_cache", ".venv", ".tox"),
}


def records(top: bytes) -> dict[bytes, bytes]:
    out = {}
    for here, dirs, files in os.walk(top):
        drop = {n for n in dirs + files if os.fsdecode(n) in LEFT_OUT}
        if here == top:
            drop |= {b"build", b"dist"}
        dirs[:] = [n for n in dirs if n not in drop]
        for name in set(dirs + files) - drop:
            full = os.path.join(here, name)
            path = os.path.relpath(full, top)
            parts = [b"dir", path, b"", b"", b""]
            if name in files:
                body = Path(os.fsdecode(full)).read_bytes()
                bit = b"1" if os.stat(full).st_mode & 0o100 else b"0"
                size = struct.pack(">Q", len(body))
                parts = [b"file", path, bit, size, hashlib.sha256(body).digest()]
            out[path] = framed(*parts)
    return out


def framed(*parts: bytes) -> bytes:
    return b"".join(struct.pack(">Q", len(part)) + part for part in parts)


def tree_digest(top: str) -> str:
    found = records(os.fsencode(top))
    stream = framed(b"assay-tree-v1") + b"".join(found[path] for path in sorted(found))
    return "sha256:" + hashlib.sha256(stream).hexdigest()

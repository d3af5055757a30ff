"""The git repository of a fixture: one commit, made of bytes, without git and without history.

Everything is a function of the fixture and the date, down to the last byte: objects are stored
and not compressed, so that no version of a library changes them. The host never runs git, and
nothing that a candidate wrote is read.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping

from attrs import frozen

from assay.api import Entry, EntryKind, RelPath, Task, TreeManifest
from assay.instants import epoch_seconds

__all__ = ["BRANCH", "REPOSITORY", "commit_date", "repository_files"]

REPOSITORY = "/.git"
"""Where jails have it: above the graded tree, where git looks, and outside of it."""

BRANCH = "main"
_EPOCH = "2000-01-01T00:00:00Z"
_WHO = "assay <assay@example.invalid>"
_CONFIG = b"""[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tworktree = /workspace
\tlogallrefupdates = false
\thooksPath = /dev/null
\tautocrlf = false
[user]
\tname = assay
\temail = assay@example.invalid
[commit]
\tgpgSign = false
[tag]
\tgpgSign = false
[gc]
\tauto = 0
[init]
\tdefaultBranch = main
"""
_ATTRIBUTES = b"* -text -filter -ident -working-tree-encoding\n"
"""Above the fixture's own attributes: files in the tree are what they are in the commit."""

_PACK_TYPES = {b"commit": 1, b"tree": 2, b"blob": 3}
_STORED_BLOCK = 0xFFFF
_LARGE_OFFSET = 0x80000000


@frozen
class _Object:
    kind: bytes
    content: bytes
    name: bytes


def commit_date(task: Task) -> int:
    """When the commit was made, in seconds since 1970: by the task's clock, or in 2000."""
    return epoch_seconds(task.clock or _EPOCH)


def repository_files(
    fixture: TreeManifest, read: Callable[[Entry], bytes], date: int
) -> dict[RelPath, bytes]:
    """Content of each file of the repository, by path; `read` gives that of a fixture's file.

    Folders without a file are not in the commit, as git can't hold them.
    """
    files = [entry for entry in fixture.entries if entry.kind is EntryKind.FILE]
    blobs = {entry.path: _object(b"blob", read(entry)) for entry in files}
    names = {entry.path: (_mode(entry), blobs[entry.path].name) for entry in files}
    trees = _trees({path: names[path] for path in names})
    commit = _commit(trees[-1].name, date)
    objects = {item.name: item for item in (*blobs.values(), *trees, commit)}
    pack, index = _pack(sorted(objects.values(), key=lambda item: item.name))
    at = f"objects/pack/pack-{hashlib.sha1(b''.join(sorted(objects))).hexdigest()}"
    content = {
        "HEAD": f"ref: refs/heads/{BRANCH}\n".encode(),
        "config": _CONFIG,
        "info/attributes": _ATTRIBUTES,
        "index": _index((entry, blobs[entry.path].name) for entry in files),
        f"refs/heads/{BRANCH}": commit.name.hex().encode() + b"\n",
        f"{at}.pack": pack,
        f"{at}.idx": index,
    }
    return {RelPath(path): text for path, text in content.items()}


def _object(kind: bytes, content: bytes) -> _Object:
    header = b"%s %d\0" % (kind, len(content))
    return _Object(kind, content, hashlib.sha1(header + content).digest())


def _mode(entry: Entry) -> int:
    return 0o100755 if entry.executable else 0o100644


def _commit(tree: bytes, date: int) -> _Object:
    when = f"{_WHO} {date} +0000"
    lines = f"tree {tree.hex()}\nauthor {when}\ncommitter {when}\n\nFixture\n"
    return _object(b"commit", lines.encode())


def _trees(names: Mapping[RelPath, tuple[int, bytes]]) -> list[_Object]:
    """One object for each folder that holds a file, the root last."""
    folders: dict[str, dict[bytes, tuple[int, bytes]]] = {"": {}}
    for path, entry in names.items():
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, {})[name.encode()] = entry
        while folder:
            folder = folder.rpartition("/")[0]
            folders.setdefault(folder, {})
    made = []
    for folder in sorted(folders, key=lambda path: (-path.count("/") if path else 1, path)):
        made.append(_object(b"tree", _tree(folders[folder])))
        above, _, name = folder.rpartition("/")
        if folder:
            folders[above][name.encode()] = (0o40000, made[-1].name)
    return made


def _tree(entries: Mapping[bytes, tuple[int, bytes]]) -> bytes:
    def order(name: bytes) -> bytes:
        return name + b"/" if entries[name][0] == 0o40000 else name

    return b"".join(
        b"%o %s\0%s" % (entries[name][0], name, entries[name][1])
        for name in sorted(entries, key=order)
    )


def _pack(objects: list[_Object]) -> tuple[bytes, bytes]:
    """A pack and its index, both of version 2; objects in the order of their names."""
    parts = [struct.pack(">4sII", b"PACK", 2, len(objects))]
    offsets, checks, at = [], [], len(parts[0])
    for item in objects:
        part = _pack_header(item) + _stored(item.content)
        offsets.append(at)
        checks.append(zlib.crc32(part))
        parts.append(part)
        at += len(part)
    body = b"".join(parts)
    pack = body + hashlib.sha1(body).digest()
    return pack, _pack_index([item.name for item in objects], offsets, checks, pack[-20:])


def _pack_header(item: _Object) -> bytes:
    size = len(item.content)
    first, size = _PACK_TYPES[item.kind] << 4 | size & 15, size >> 4
    header = bytearray()
    while size:
        header.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    header.append(first)
    return bytes(header)


def _stored(content: bytes) -> bytes:
    """A zlib stream of blocks that are not compressed."""
    blocks = [b"\x78\x01"]
    starts = range(0, len(content), _STORED_BLOCK) or range(1)
    for start in starts:
        block = content[start : start + _STORED_BLOCK]
        last = start + _STORED_BLOCK >= len(content)
        blocks.append(struct.pack("<BHH", last, len(block), len(block) ^ 0xFFFF) + block)
    return b"".join(blocks) + struct.pack(">I", zlib.adler32(content))


def _pack_index(names: list[bytes], offsets: list[int], checks: list[int], pack: bytes) -> bytes:
    fanout = [sum(name[0] <= first for name in names) for first in range(256)]
    large = [offset for offset in offsets if offset >= _LARGE_OFFSET]
    short = [
        offset if offset < _LARGE_OFFSET else _LARGE_OFFSET | large.index(offset)
        for offset in offsets
    ]
    body = b"".join(
        (
            b"\xfftOc" + struct.pack(">I256I", 2, *fanout),
            *names,
            struct.pack(f">{len(checks)}I", *checks),
            struct.pack(f">{len(short)}I", *short),
            struct.pack(f">{len(large)}Q", *large),
            pack,
        )
    )
    return body + hashlib.sha1(body).digest()


def _index(files: Iterable[tuple[Entry, bytes]]) -> bytes:
    """What is staged: every file, with no times or owners, so that git looks at contents."""
    entries = sorted((entry.path.encode(), entry, blob) for entry, blob in files)
    parts = [struct.pack(">4sII", b"DIRC", 2, len(entries))]
    for path, entry, blob in entries:
        flags = min(len(path), 0xFFF)
        record = struct.pack(">10I20sH", *(0,) * 6, _mode(entry), 0, 0, 0, blob, flags) + path
        parts.append(record + b"\0" * (8 - len(record) % 8))
    body = b"".join(parts)
    return body + hashlib.sha1(body).digest()

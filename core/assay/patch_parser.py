"""Git-style unified diffs as data: what each diff in a patch says, strictly read.

Text around the diffs (a mail, a log message) is skipped as `git apply` skips it. Headers
that contradict each other are malformed, even where git would take one side.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

from attrs import field, frozen

from assay.api.errors import CandidateMalformed
from assay.api.paths import printable
from assay.api.reasons import Reason
from assay.patch_binary import BinaryPatch, parse_binary
from assay.patch_hunks import Hunk, is_hunk_header, parse_hunk
from assay.patch_names import (
    NameSyntax,
    agreed_name,
    header_name,
    is_dev_null,
    is_epoch,
    pairs,
    stripped,
)

__all__ = ["MAX_PATCH_BYTES", "Action", "FilePatch", "parse"]

MAX_PATCH_BYTES = 64 * 1024**2
"""Largest patch that is read at all."""
MAX_HEADER_BYTES = 16 * 1024

_GIT = b"diff --git "
_EXTENDED = re.compile(
    rb"(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from"
    rb"|rename to|rename old|rename new|similarity index|dissimilarity index|index) (.*)",
    re.DOTALL,
)
_SYNONYMS = {b"rename old": b"rename from", b"rename new": b"rename to"}
_MODE = re.compile(rb"([0-7]{1,7})(?:\s|\Z)")
_INDEX = re.compile(rb"([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})(?: ([0-7]{1,7}))?\s*")
_WITHOUT_DATA = re.compile(rb"(?:Binary files|Files) .* differ\r?", re.DOTALL)


class Action(Enum):
    """What one diff does to its file."""

    MODIFY = "modify"
    MODIFY_OR_CREATE = "modify or create"
    """A header without git's words, and only added lines: the tree decides."""
    CREATE = "create"
    DELETE = "delete"
    RENAME = "rename"
    COPY = "copy"


@frozen
class FilePatch:
    """One diff: raw names without their prefix (None: the file is absent on that side).

    `ids` are the object ids of the `index` line, where there is one.
    """

    action: Action
    old: bytes | None
    new: bytes | None
    old_mode: int | None = None
    new_mode: int | None = None
    ids: tuple[bytes, bytes] | None = None
    hunks: tuple[Hunk, ...] = field(default=(), repr=False)
    binary: BinaryPatch | None = None

    @property
    def name(self) -> bytes:
        """The name to show: that of the result, if there is one."""
        name = self.new if self.new is not None else self.old
        assert name is not None
        return name


@frozen
class _Header:
    action: Action
    old: bytes | None
    new: bytes | None
    old_mode: int | None = None
    new_mode: int | None = None
    ids: tuple[bytes, bytes] | None = None
    prefixed: bool = True


def parse(patch: bytes) -> tuple[FilePatch, ...]:
    """All diffs of a patch in order; none for blank text. Raises CandidateMalformed.

    A missing newline at the end of the patch is read as present.
    """
    if len(patch) > MAX_PATCH_BYTES:
        raise CandidateMalformed("patch is larger than is allowed")
    lines = patch.removesuffix(b"\n").split(b"\n")
    found: list[FilePatch] = []
    prefixes = set()
    at = 0
    while at < len(lines):
        header, after = _header(lines, at)
        if header is None:
            if is_hunk_header(lines[at]):
                raise _malformed(at, "hunk without a file header")
            at += 1
            continue
        prefixes.add(header.prefixed)
        file_patch, at = _body(lines, after, header)
        found.append(file_patch)
    if not found and patch.strip():
        raise CandidateMalformed("patch holds no diff")
    if len(prefixes) > 1:
        raise CandidateMalformed("patch mixes names with and without a prefix")
    return tuple(found)


def _malformed(at: int, rule: str) -> CandidateMalformed:
    return CandidateMalformed(f"patch line {at + 1}: {rule}")


def _header(lines: Sequence[bytes], at: int) -> tuple[_Header | None, int]:
    try:
        if lines[at].startswith(_GIT):
            return _git_header(lines, at)
        if _opens_hunks(lines, at):
            return _plain_header(lines, at), at + 2
    except NameSyntax:
        raise _malformed(at, "file name is malformed") from None
    return None, at


def _opens_hunks(lines: Sequence[bytes], at: int) -> bool:
    marks = (b"--- ", b"+++ ", b"@@ -")
    return len(lines) >= at + 3 and all(
        line.startswith(mark) for line, mark in zip(lines[at : at + 3], marks, strict=True)
    )


def _plain_header(lines: Sequence[bytes], at: int) -> _Header:
    old_text, new_text = lines[at][4:], lines[at + 1][4:]
    if len(old_text) + len(new_text) > MAX_HEADER_BYTES:
        raise _malformed(at, "header is too long")
    names = [
        header_name(text, tab_ends=True) for text in (old_text, new_text) if not is_dev_null(text)
    ]
    prefixed = any(b"/" in name for name in names)
    short = {stripped(name) if prefixed else name for name in names}
    name = short.pop() if len(short) == 1 else None
    if not name:
        raise _malformed(at, "file names are missing or contradict each other")
    if is_dev_null(old_text) or is_epoch(old_text):
        return _Header(Action.CREATE, None, name, prefixed=prefixed)
    if is_dev_null(new_text) or is_epoch(new_text):
        return _Header(Action.DELETE, name, None, prefixed=prefixed)
    return _Header(Action.MODIFY_OR_CREATE, name, name, prefixed=prefixed)


def _git_header(lines: Sequence[bytes], start: int) -> tuple[_Header, int]:
    said: dict[bytes, bytes] = {}
    at = start + 1
    while at < len(lines) and (match := _EXTENDED.fullmatch(lines[at])):
        key = _SYNONYMS.get(match[1], match[1])
        if key in said:
            raise _malformed(at, "header line is repeated")
        said[key] = match[2]
        at += 1
    if at < len(lines) and lines[at].startswith((b"--- ", b"+++ ")):
        if not _opens_hunks(lines, at):
            raise _malformed(at, "file names are incomplete or without a hunk")
        said[b"---"], said[b"+++"] = lines[at][4:], lines[at + 1][4:]
        at += 2
    if b"---" not in said and at < len(lines) and is_hunk_header(lines[at]):
        raise _malformed(at, "hunk without file names")
    if not said:
        raise _malformed(start, "diff changes nothing")
    if sum(len(lines[index]) for index in range(start, at)) > MAX_HEADER_BYTES:
        raise _malformed(start, "header is too long")
    return _git_meaning(lines[start][len(_GIT) :], said, start), at


def _git_meaning(names: bytes, said: dict[bytes, bytes], at: int) -> _Header:
    action, old, new = _git_names(agreed_name(names), said, at)
    if not (old or new) or not _consistent(old, new, names, said):
        raise _malformed(at, "file names are missing or contradict each other")
    old_mode = new_mode = None
    ids = None
    if (index := _INDEX.fullmatch(said.get(b"index", b""))) is not None:
        ids = index[1], index[2]
        old_mode = int(index[3], 8) if index[3] else None
    if (b"old mode" in said) != (b"new mode" in said):
        raise _malformed(at, "only one of two modes is given")
    for key in (b"old mode", b"deleted file mode"):
        old_mode = _mode(said[key], at) if key in said else old_mode
    for key in (b"new mode", b"new file mode"):
        new_mode = _mode(said[key], at) if key in said else new_mode
    return _Header(action, old, new, old_mode, new_mode, ids)


def _git_names(
    agreed: bytes | None, said: dict[bytes, bytes], at: int
) -> tuple[Action, bytes | None, bytes | None]:
    actions = {
        Action.CREATE: b"new file mode" in said,
        Action.DELETE: b"deleted file mode" in said,
        Action.RENAME: b"rename from" in said or b"rename to" in said,
        Action.COPY: b"copy from" in said or b"copy to" in said,
    }
    chosen = [action for action, is_said in actions.items() if is_said]
    if len(chosen) > 1:
        raise _malformed(at, "header lines contradict each other")
    action = chosen[0] if chosen else Action.MODIFY
    if action in (Action.RENAME, Action.COPY):
        word = action.value.encode()
        if word + b" from" not in said or word + b" to" not in said:
            raise _malformed(at, "only one of two names is given")
        source = header_name(said[word + b" from"], tab_ends=False)
        target = header_name(said[word + b" to"], tab_ends=False)
        if source == target:
            raise _malformed(at, "file names are equal")
        return action, source, target
    old = _side(said.get(b"---"), agreed)
    new = _side(said.get(b"+++"), agreed)
    if action is Action.CREATE:
        return action, None, new
    return (action, old, None) if action is Action.DELETE else (action, old, new)


def _side(text: bytes | None, agreed: bytes | None) -> bytes | None:
    return agreed if text is None else stripped(header_name(text, tab_ends=True))


def _consistent(
    old: bytes | None, new: bytes | None, names: bytes, said: dict[bytes, bytes]
) -> bool:
    for key, name in ((b"---", old), (b"+++", new)):
        text = said.get(key)
        if text is not None:
            if is_dev_null(text) != (name is None):
                return False
            if name is not None and stripped(header_name(text, tab_ends=True)) != name:
                return False
    renamed = any(key in said for key in (b"rename from", b"copy from"))
    if old is not None and new is not None and old != new and not renamed:
        return False
    return (old or new, new or old) in pairs(names)


def _mode(text: bytes, at: int) -> int:
    match = _MODE.match(text)
    if match is None:
        raise _malformed(at, "file mode is malformed")
    return int(match[1], 8)


def _body(lines: Sequence[bytes], at: int, header: _Header) -> tuple[FilePatch, int]:
    hunks: list[Hunk] = []
    binary = None
    while at < len(lines) and lines[at].startswith(b"@@ -"):
        hunk, at = parse_hunk(lines, at)
        hunks.append(hunk)
    if not hunks and at < len(lines):
        if lines[at] in (b"GIT binary patch", b"GIT binary patch\r"):
            binary, at = parse_binary(lines, at + 1)
        elif _WITHOUT_DATA.fullmatch(lines[at]):
            name = header.new if header.new is not None else header.old
            raise CandidateMalformed(
                f"binary change without data: {printable(name or b'')}",
                Reason.PATCH_BINARY_WITHOUT_DATA,
            )
    action = header.action
    adds_only = len(hunks) == 1 and not hunks[0].before
    if action is Action.MODIFY_OR_CREATE and not adds_only:
        action = Action.MODIFY
    if action is Action.CREATE and any(hunk.before for hunk in hunks):
        raise _malformed(at - 1, "new file depends on old content")
    if action is Action.DELETE and any(hunk.after for hunk in hunks):
        raise _malformed(at - 1, "deleted file still has content")
    is_bare = not hunks and binary is None and header.new_mode in (None, header.old_mode)
    if action is Action.MODIFY and is_bare:
        raise _malformed(at - 1, "diff changes nothing")
    return FilePatch(
        action=action,
        old=header.old,
        new=header.new,
        old_mode=header.old_mode,
        new_mode=header.new_mode,
        ids=header.ids,
        hunks=tuple(hunks),
        binary=binary,
    ), at

"""The applier against `git apply`: the same verdict and the same bytes, or stricter."""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.patches import (
    GIT,
    git,
    git_applied,
    patched,
    reader,
    result,
    tree_of,
    write_tree,
)

from assay.api.errors import CandidateMalformed
from assay.api.tasks import Candidate, CandidateKind
from assay.api.trees import Digest
from assay.candidates import edits as read_edits

needs_git = pytest.mark.skipif(GIT is None, reason="git is not installed here")

LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"", b" ", b"x\r", b"\t-", b"@@ -1 +1 @@"]))
ENDS = st.sampled_from([b"", b"\n"])


def _content(lines: list[bytes], end: bytes) -> bytes:
    return b"\n".join(lines) + end if lines else b""


CONTENTS = st.builds(_content, LINES, ENDS)
BLOBS = CONTENTS | st.binary(max_size=400) | st.just(bytes(range(256)) * 4)
NAMES = st.sampled_from(
    [
        "f",
        "d/f",
        "d/g",
        "d/e/h",
        "my file",
        "tab\u00e9",
        'quo"te',
        "caf\u00e9/\u20ac",
        "a b/c d",
        "e",
    ]
)
TREES = st.dictionaries(NAMES, BLOBS, max_size=5).filter(
    lambda files: not any(f"{name}/" in other for name in files for other in files if name != other)
)


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="assay-test-")


def _empty(root: Path) -> None:
    for path in sorted(root.rglob("*"), reverse=True):
        if ".git" not in path.relative_to(root).parts:
            path.rmdir() if path.is_dir() else path.unlink()


def _diff(root: Path, old: dict[str, bytes], new: dict[str, bytes], options: list[str]) -> bytes:
    git(root, "init", "-q")
    write_tree(root, old)
    git(root, "add", "-A", "-f")
    tree = git(root, "write-tree").stdout.decode().strip()
    _empty(root)
    write_tree(root, new)
    git(root, "add", "-A", "-f")
    return git(root, "diff", "--cached", "--binary", "--full-index", *options, tree).stdout


@needs_git
@settings(max_examples=50, deadline=None)
@given(
    TREES,
    TREES,
    st.sampled_from(["", "-M10%", "-C10% --find-copies-harder", "-U1", "-B10% -M10%"]),
)
def test_what_git_diff_writes_applies_to_the_same_tree(
    old: dict[str, bytes], new: dict[str, bytes], options: str
) -> None:
    with _folder() as folder:
        patch = _diff(Path(folder), old, new, options.split())
    candidate = Candidate("c", "t", CandidateKind.PATCH, Digest(""), patch=patch)
    if patch and "-B" in options:
        # With broken pairs git may write a rename onto a file that is still there, which it
        # then refuses to apply itself.
        with _folder() as folder:
            applied = git_applied(Path(folder), old, patch)
        if applied is None:
            with pytest.raises(CandidateMalformed):
                read_edits(candidate, tree_of(old), reader(old))
            return
    found = read_edits(candidate, tree_of(old), reader(old))
    assert not found.violations
    assert result(old, found) == new
    without_end = Candidate("c", "t", CandidateKind.PATCH, Digest(""), patch=patch[:-1])
    assert read_edits(without_end, tree_of(old), reader(old)) == found


def _hunks(old: bytes, new: bytes, context: int, shift: int) -> Iterator[bytes]:
    before = old.split(b"\n")[:-1] if old.endswith(b"\n") else old.split(b"\n") if old else []
    after = new.split(b"\n")[:-1] if new.endswith(b"\n") else new.split(b"\n") if new else []
    matcher = difflib.SequenceMatcher(a=before, b=after, autojunk=False)
    for group in matcher.get_grouped_opcodes(context):
        first, last = group[0], group[-1]
        counts = last[2] - first[1], last[4] - first[3]
        old_at = max(first[1] + (counts[0] > 0) + shift, 0)
        new_at = max(first[3] + (counts[1] > 0) + shift, 0)
        yield b"@@ -%d,%d +%d,%d @@" % (old_at, counts[0], new_at, counts[1])
        for tag, i1, i2, j1, j2 in group:
            sides = [(b" ", before[i1:i2])]
            if tag != "equal":
                sides = [(b"-", before[i1:i2]), (b"+", after[j1:j2])]
            for mark, lines in sides:
                yield from (mark + line for line in lines)


def _git_accepts_the_like(files: dict[str, bytes], patch: bytes) -> None:
    try:
        found = patched(files, patch)
        ours = None if found.violations else result(files, found)
    except CandidateMalformed:
        ours = None
    with _folder() as folder:
        assert git_applied(Path(folder), files, patch) == ours


@needs_git
@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from([b"a", b"b", b"c", b""]), min_size=1, max_size=14),
    st.lists(st.sampled_from([b"a", b"b", b"c", b""]), min_size=1, max_size=14),
    st.lists(st.sampled_from([b"a", b"b", b"c", b""]), max_size=4),
    st.lists(st.sampled_from([b"a", b"b", b"c", b""]), max_size=4),
    st.integers(0, 4),
    st.integers(-4, 4),
)
def test_hunks_land_where_git_puts_them(
    old: list[bytes],
    new: list[bytes],
    above: list[bytes],
    below: list[bytes],
    context: int,
    shift: int,
) -> None:
    before, after = _content(old, b"\n"), _content(new, b"\n")
    hunks = list(_hunks(before, after, context, shift))
    if not hunks:
        return
    patch = b"\n".join([b"--- a/f", b"+++ b/f", *hunks]) + b"\n"
    _git_accepts_the_like({"f": _content([*above, *old, *below], b"\n")}, patch)


PIECES = [
    b"diff --git a/f b/f",
    b"diff --git a/f b/g",
    b"diff --git a/n b/n",
    b"--- a/f",
    b"+++ b/f",
    b"--- /dev/null",
    b"+++ /dev/null",
    b"+++ b/n",
    b"new file mode 100644",
    b"new file mode 120000",
    b"deleted file mode 100644",
    b"old mode 100644",
    b"new mode 100755",
    b"rename from f",
    b"rename to g",
    b"copy from f",
    b"copy to g",
    b"index 1111111..2222222 100644",
    b"@@ -1 +1 @@",
    b"@@ -1,2 +1,2 @@",
    b"@@ -0,0 +1 @@",
    b"@@ -1 +0,0 @@",
    b"-a",
    b"+b",
    b" b",
    b"",
    b"\\ No newline at end of file",
    b"GIT binary patch",
    b"literal 0",
    b"HcmV?d00001",
    b"Binary files a/f and b/f differ",
    b"prose",
    b'diff --git "a/\\146" "b/\\146"',
    b'diff --git a/f "b/\\146"',
    b'--- "a/f"',
    b'+++ "b/\\146"\t',
    b'rename to "g\\011"',
    b'--- "a/f',
    b"--- a/f\t1970-01-01 00:00:00 +0000",
    b"+++ b/f\t1969-12-31 23:00:00.000 -0100",
    b"--- f",
    b"+++ f",
]
SHAPES = [
    [3, 4, 18, 22, 23],
    [0, 3, 4, 19, 22, 23, 24],
    [2, 8, 5, 7, 20, 23],
    [0, 10, 3, 6, 19, 22, 22],
    [1, 13, 14],
    [1, 15, 16, 3, 7, 18, 22, 23],
    [0, 11, 12],
    [2, 8, 2, 8],
    [32, 34, 35, 18, 22, 23],
    [33, 11, 12],
    [1, 13, 36],
    [38, 4, 20, 23],
    [3, 39, 21, 22],
    [40, 41, 18, 22, 23],
]
ANY_PATCH = st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3).flatmap(
    lambda shapes: st.lists(
        st.tuples(st.integers(0, 40), st.integers(0, len(PIECES) - 1), st.booleans()), max_size=3
    ).map(lambda changes: _altered([piece for shape in shapes for piece in shape], changes))
)


def _altered(pieces: list[int], changes: list[tuple[int, int, bool]]) -> bytes:
    for place, piece, is_insert in changes:
        at = place % (len(pieces) + 1)
        pieces = [*pieces[:at], piece, *pieces[at + (0 if is_insert else 1) :]]
    return b"".join(PIECES[piece] + b"\n" for piece in pieces)


@needs_git
@settings(max_examples=200, deadline=None)
@given(ANY_PATCH, st.sampled_from([b"a\nb\n", b"a\n", b"a", b"", b"a\na\n", b"c\na\nb\n"]))
def test_what_we_accept_git_accepts_with_the_same_bytes(patch: bytes, content: bytes) -> None:
    files = {"f": content}
    try:
        found = patched(files, patch)
    except CandidateMalformed:
        return
    if found.violations or not patch.strip():
        return
    with _folder() as folder:
        assert git_applied(Path(folder), files, patch) == result(files, found)


@settings(max_examples=200, deadline=None)
@given(ANY_PATCH | st.binary(max_size=200), TREES)
def test_nothing_but_a_malformed_candidate_is_raised(patch: bytes, files: dict[str, bytes]) -> None:
    candidate = Candidate("c", "t", CandidateKind.PATCH, Digest(""), patch=patch)
    try:
        found = read_edits(candidate, tree_of(files), reader(files))
    except CandidateMalformed:
        return
    assert list(found.writes) == sorted(found.writes, key=str.encode)
    assert not {violation.path for violation in found.violations} & found.writes.keys()

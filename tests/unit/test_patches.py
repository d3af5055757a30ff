"""Patches: every form that users send, applied bytewise or refused with its reason."""

from __future__ import annotations

import base64
import zlib

import pytest
from support.patches import patched, result

from assay import patches
from assay.api.errors import CandidateMalformed
from assay.api.reasons import Reason
from assay.api.trees import FileWrite, Violation
from assay.patch_binary import BinaryPatch, object_id
from assay.patch_binary import patched as undelta
from assay.patch_hunks import WorkBudget, parse_hunk, placed


def lines(*parts: str) -> bytes:
    return "".join(f"{part}\n" for part in parts).encode()


CHANGE = lines("--- a/f", "+++ b/f", "@@ -1,3 +1,3 @@", " a", "-b", "+B", " c")


def refused(files: dict[str, bytes], patch: bytes) -> Reason:
    with pytest.raises(CandidateMalformed) as caught:
        patched(files, patch)
    return caught.value.reason


def test_missing_newline_at_the_end_of_the_patch_is_read_as_present() -> None:
    files = {"f": b"a\nb\nc\n"}
    assert result(files, patched(files, CHANGE[:-1])) == {"f": b"a\nB\nc\n"}


def test_blank_context_lines_apply_with_and_without_their_space() -> None:
    files = {"f": b"a\nb\n\n\n"}
    head = lines("--- a/f", "+++ b/f", "@@ -1,4 +1,4 @@", " a", "-b", "+B")
    for tail in (b" \n \n", b"\n\n", b" \n "):
        assert result(files, patched(files, head + tail)) == {"f": b"a\nB\n\n\n"}


def test_patch_that_lost_its_last_lines_is_malformed() -> None:
    head = lines("--- a/f", "+++ b/f", "@@ -1,4 +1,4 @@", " a", "-b", "+B")
    assert refused({"f": b"a\nb\n\n\n"}, head) is Reason.CANDIDATE_MALFORMED


def test_carriage_return_inside_a_line_is_content() -> None:
    files = {"f": b"a\nb\rc\n"}
    patch = lines("--- a/f", "+++ b/f", "@@ -1,2 +1,2 @@", " a", "-b\rc", "+b\rd")
    assert result(files, patched(files, patch)) == {"f": b"a\nb\rd\n"}


def test_carriage_returns_at_line_ends_must_match() -> None:
    assert refused({"f": b"a\r\nb\r\nc\r\n"}, CHANGE) is Reason.PATCH_DOES_NOT_APPLY
    windows = lines("--- a/f", "+++ b/f", "@@ -1,2 +1,2 @@", " a\r", "-b\r", "+B\r")
    files = {"f": b"a\r\nb\r\n"}
    assert result(files, patched(files, windows)) == {"f": b"a\r\nB\r\n"}


def test_binary_change_without_data_is_its_own_reason_and_names_the_file() -> None:
    patch = lines("--- a/f", "+++ b/f", "@@ -1 +1 @@", "-x", "+y") + lines(
        "diff --git a/logo.png b/logo.png",
        "new file mode 100644",
        "index 0000000..1111111",
        "Binary files /dev/null and b/logo.png differ",
    )
    with pytest.raises(CandidateMalformed, match=r"logo\.png") as caught:
        patched({"f": b"x\n"}, patch)
    assert caught.value.reason is Reason.PATCH_BINARY_WITHOUT_DATA


def test_empty_new_file_and_pure_rename_are_changes() -> None:
    patch = lines(
        "diff --git a/empty.txt b/empty.txt",
        "new file mode 100644",
        "index 0000000..e69de29",
        "diff --git a/old.txt b/new name.txt",
        "similarity index 100%",
        "rename from old.txt",
        "rename to new name.txt",
    )
    files = {"old.txt": b"k\n"}
    assert result(files, patched(files, patch)) == {"empty.txt": b"", "new name.txt": b"k\n"}


def test_trailing_blanks_are_content() -> None:
    files = {"f": b"a\n"}
    patch = lines("--- a/f", "+++ b/f", "@@ -1 +1,2 @@", " a", "+b   ")
    assert result(files, patched(files, patch)) == {"f": b"a\nb   \n"}
    assert refused({"f": b"a \n"}, patch) is Reason.PATCH_DOES_NOT_APPLY


def test_paths_with_spaces_and_quoted_paths() -> None:
    files = {"my file.py": b"a\n", "café.py": b"a\n"}
    hunk = ("@@ -1 +1 @@", "-a", "+b")
    patch = lines(
        "diff --git a/my file.py b/my file.py",
        "--- a/my file.py\t",
        "+++ b/my file.py\t",
        *hunk,
        'diff --git "a/caf\\303\\251.py" "b/caf\\303\\251.py"',
        '--- "a/caf\\303\\251.py"',
        '+++ "b/caf\\303\\251.py"',
        *hunk,
    )
    assert result(files, patched(files, patch)) == {"my file.py": b"b\n", "café.py": b"b\n"}


def test_mail_around_diffs_is_skipped() -> None:
    patch = b"From 1234\nSubject: fix\n\n---\n f | 2 +-\n\n" + CHANGE + b"-- \n2.39.5\n\n"
    assert patched({"f": b"a\nb\nc\n"}, patch).writes["f"].content == b"a\nB\nc\n"  # type: ignore[index]


def test_blank_text_asks_for_nothing_and_other_text_is_malformed() -> None:
    for patch in (b"", b"\n", b" \n\t\n"):
        assert not patched({}, patch).writes
    assert refused({}, b"no diff here\n") is Reason.CANDIDATE_MALFORMED
    assert refused({}, b"\x00\xff") is Reason.CANDIDATE_MALFORMED
    assert refused({"f": b"a\n"}, b"@@ -1 +1 @@\n-a\n+b\n") is Reason.CANDIDATE_MALFORMED


def test_file_ends_with_and_without_newline() -> None:
    note = "\\ No newline at end of file"
    head = ("--- a/f", "+++ b/f", "@@ -1 +1 @@")
    for before, after, body in (
        (b"a", b"b", ("-a", note, "+b", note)),
        (b"a", b"b\n", ("-a", note, "+b")),
        (b"a\n", b"b", ("-a", "+b", note)),
    ):
        patch = lines(*head, *body)
        assert result({"f": before}, patched({"f": before}, patch)) == {"f": after}
    assert refused({"f": b"a\n"}, lines(*head, "-a", note, "+b")) is Reason.PATCH_DOES_NOT_APPLY


def test_end_of_file_note_inside_a_hunk_is_malformed() -> None:
    note = "\\ No newline at end of file"
    patch = lines("--- a/f", "+++ b/f", "@@ -1,2 +1,2 @@", "-a", "+b", note, " c")
    assert refused({"f": b"a\nc\n"}, patch) is Reason.CANDIDATE_MALFORMED


def test_hunk_is_placed_at_the_nearest_exact_match() -> None:
    files = {"f": b"0\n0\na\nb\nc\n0\na\nb\nc\n0\n"}
    at = lines("--- a/f", "+++ b/f", "@@ -6,3 +6,3 @@", " a", "-b", "+B", " c")
    assert result(files, patched(files, at)) == {"f": b"0\n0\na\nb\nc\n0\na\nB\nc\n0\n"}
    between = at.replace(b"-6,3 +6,3", b"-5,3 +5,3")
    assert result(files, patched(files, between)) == {"f": b"0\n0\na\nb\nc\n0\na\nB\nc\n0\n"}


def test_hunks_never_overlap() -> None:
    files = {"f": b"0\na\nb\n0\n"}
    again = ("@@ -2,3 +2,3 @@", " A", "-b", "+B", " 0")
    patch = lines("--- a/f", "+++ b/f", "@@ -1,3 +1,3 @@", " 0", "-a", "+A", " b", *again)
    assert refused(files, patch) is Reason.PATCH_DOES_NOT_APPLY


def test_modes_become_the_execute_bit() -> None:
    head = "diff --git a/f b/f"
    patch = lines(head, "old mode 100644", "new mode 100755")
    assert patched({"f": b"x"}, patch).writes == {"f": FileWrite(b"x", True)}
    patch = lines("diff --git a/n b/n", "new file mode 100755")
    assert patched({}, patch).writes == {"n": FileWrite(b"", True)}


@pytest.mark.parametrize("mode", ["120000", "160000", "104755", "102755", "101644", "040000"])
def test_links_submodules_and_special_modes_are_refused_kinds(mode: str) -> None:
    patch = lines(
        "diff --git a/x b/x",
        f"new file mode {mode}",
        "--- /dev/null",
        "+++ b/x",
        "@@ -0,0 +1 @@",
        "+f",
    )
    edits = patched({"f": b"x"}, patch)
    assert edits.violations == (Violation("x", Reason.FORBIDDEN_FILE_KIND),)
    assert not edits.writes


def test_file_replaced_by_a_link_stays_what_it_was() -> None:
    patch = lines(
        "diff --git a/f b/f",
        "deleted file mode 100644",
        "--- a/f",
        "+++ /dev/null",
        "@@ -1 +0,0 @@",
        "-x",
        "diff --git a/f b/f",
        "new file mode 120000",
        "--- /dev/null",
        "+++ b/f",
        "@@ -0,0 +1 @@",
        "+../hidden/answer",
        "\\ No newline at end of file",
    )
    edits = patched({"f": b"x\n"}, patch)
    assert edits.violations == (Violation("f", Reason.FORBIDDEN_FILE_KIND),)
    assert not edits.writes
    assert not edits.deletes


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("src/../conftest.py", Reason.UNSAFE_PATH),
        ("/etc/passwd", Reason.UNSAFE_PATH),
        ("src//x", Reason.UNSAFE_PATH),
        (".git/hooks/pre-commit", Reason.IGNORED_PATH_CHANGED),
        ("sub/.GIT/config", Reason.UNSAFE_PATH),
        ("a/__pycache__/x.pyc", Reason.IGNORED_PATH_CHANGED),
    ],
)
def test_paths_that_no_tree_holds(name: str, reason: Reason) -> None:
    patch = lines(f"diff --git a/{name} b/{name}", "new file mode 100644")
    edits = patched({}, patch)
    assert edits.violations == (Violation(name, reason),)
    assert not edits.writes


def test_name_that_is_not_utf8_is_unsafe() -> None:
    patch = lines('diff --git "a/\\377" "b/\\377"', "new file mode 100644")
    assert patched({}, patch).violations == (Violation("\\xff", Reason.UNSAFE_PATH),)


@pytest.mark.parametrize(
    "patch",
    [
        lines("diff --git a/x b/x", "rename from x", "rename to y"),
        lines("diff --git a/x b/y", "rename from x"),
        lines("diff --git a/x b/y", "rename from x", "rename to y", "new file mode 100644"),
        lines("diff --git a/x b/x", "--- a/y", "+++ b/y", "@@ -1 +1 @@", "-a", "+b"),
        lines("diff --git a/x b/y", "--- a/x", "+++ b/y", "@@ -1 +1 @@", "-a", "+b"),
        lines("diff --git a/x b/x", "new file mode 100644", "--- a/x", "+++ b/x"),
        lines("diff --git a/x b/x", "old mode 100644"),
        lines("diff --git a/x b/x", "old mode 100644", "new mode 100644"),
        lines("diff --git a/x b/x", "new file mode 10x644"),
        lines("diff --git a/x b/x", "index 1111111..2222222 100644"),
        lines("diff --git a/x b/x", "old mode 1", "old mode 1"),
        lines('--- "a/\\q"', '+++ "b/\\q"', "@@ -1 +1 @@", "-a", "+b"),
        lines("--- /dev/null", "+++ /dev/null", "@@ -1 +1 @@", "-a", "+b"),
        lines("--- a/x", "+++ b/x", "@@ -1,x +1 @@", "-a", "+b"),
        lines("--- a/x", "+++ b/x", "@@ -1 +1 @@", " a"),
        lines("--- a/x", "+++ b/x", "@@ -1,2 +1 @@", "-a", "+b"),
        lines("--- /dev/null", "+++ b/n", "@@ -1 +1 @@", "-a", "+b"),
        lines("--- a/x", "+++ /dev/null", "@@ -1 +1 @@", "-a", "+b"),
        CHANGE + lines("--- f", "+++ f", "@@ -1 +1 @@", "-a", "+b"),
    ],
)
def test_contradictions_are_malformed(patch: bytes) -> None:
    files = {"x": b"a\n", "y": b"a\n", "f": b"a\nb\nc\n"}
    assert refused(files, patch) is Reason.CANDIDATE_MALFORMED


def test_several_diffs_of_one_file_apply_in_sequence() -> None:
    files = {"f": b"a\n"}
    head = ("--- a/f", "+++ b/f", "@@ -1 +1 @@")
    patch = lines(*head, "-a", "+b", *head, "-b", "+c")
    assert result(files, patched(files, patch)) == {"f": b"c\n"}
    assert (
        refused(files, lines(*head, "-a", "+b", *head, "-a", "+c")) is Reason.PATCH_DOES_NOT_APPLY
    )


def test_two_files_swap_their_names() -> None:
    files = {"x": b"1\n", "y": b"2\n"}
    patch = lines(
        "diff --git a/x b/y",
        "rename from x",
        "rename to y",
        "diff --git a/y b/x",
        "rename from y",
        "rename to x",
    )
    assert result(files, patched(files, patch)) == {"x": b"2\n", "y": b"1\n"}


@pytest.mark.parametrize(
    "patch",
    [
        lines("diff --git a/n b/n", "new file mode 100644") * 2,
        lines("diff --git a/x b/x", "new file mode 100644"),
        lines("diff --git a/n b/n", "deleted file mode 100644"),
        lines("diff --git a/x b/x", "deleted file mode 100644"),
        lines("diff --git a/x b/y", "copy from x", "copy to y"),
        lines("diff --git a/n b/m", "rename from n", "rename to m"),
        lines("diff --git a/x b/m", "rename from x", "rename to m")
        + lines("diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "-a", "+b"),
        lines("--- a/x", "+++ b/x", "@@ -1 +1 @@", "-a", "+b")
        + lines("diff --git a/x b/m", "rename from x", "rename to m"),
        lines("--- a/n", "+++ b/n", "@@ -1 +1 @@", "-a", "+b"),
    ],
)
def test_diffs_that_do_not_fit_the_tree(patch: bytes) -> None:
    assert refused({"x": b"a\n", "y": b"a\n"}, patch) is Reason.PATCH_DOES_NOT_APPLY


def test_bad_hunk_spoils_the_whole_patch() -> None:
    patch = CHANGE + lines("--- a/g", "+++ b/g", "@@ -1 +1 @@", "-no", "+yes")
    assert refused({"f": b"a\nb\nc\n", "g": b"other\n"}, patch) is Reason.PATCH_DOES_NOT_APPLY


def test_epoch_dates_stand_for_absent_files() -> None:
    epoch = "1970-01-01 01:00:00.000000000 +0100"
    new = lines(f"--- a/n\t{epoch}", "+++ b/n\t2024-02-02 00:00:00 +0000", "@@ -0,0 +1 @@", "+a")
    assert result({}, patched({}, new)) == {"n": b"a\n"}
    gone = lines("--- a/n\t2024-02-02 00:00:00 +0000", f"+++ b/n\t{epoch}", "@@ -1 +0,0 @@", "-a")
    assert result({"n": b"a\n"}, patched({"n": b"a\n"}, gone)) == {}


def binary(old: bytes, new: bytes, method: str, data: bytes, size: int | None = None) -> bytes:
    deflated = zlib.compress(data)
    rows = []
    for at in range(0, len(deflated), 52):
        row = deflated[at : at + 52]
        length = chr(len(row) + 64) if len(row) <= 26 else chr(len(row) + 70)
        rows.append(length + base64.b85encode(row + b"\0" * (-len(row) % 4)).decode())
    ids = f"{object_id(old, 40).decode()}..{object_id(new, 40).decode()}"
    declared = len(data) if size is None else size
    return lines(
        "diff --git a/f b/f",
        f"index {ids} 100644",
        "GIT binary patch",
        f"{method} {declared}",
        *rows,
        "",
    )


def test_binary_literal_and_delta() -> None:
    old, new = bytes(range(256)) * 3, b"\0new"
    assert result({"f": old}, patched({"f": old}, binary(old, new, "literal", new))) == {"f": new}
    delta = b"\x80\x06" + b"\x0c" + b"\x90\x08" + b"\x04\0new"
    patch = binary(old, old[:8] + new, "delta", delta)
    assert result({"f": old}, patched({"f": old}, patch)) == {"f": old[:8] + new}
    assert refused({"f": b"other"}, patch) is Reason.PATCH_DOES_NOT_APPLY


@pytest.mark.parametrize(
    ("method", "data", "size"),
    [
        ("literal", b"x" * 1000, 999),
        ("literal", b"x" * 1000, 1001),
        ("literal", b"x" * 1000, 10**11),
        ("delta", b"\x02\x05\x00", None),
        ("delta", b"\x02\x05\x90\x09", None),
        ("delta", b"\x02\x05\x90", None),
        ("delta", b"\x02\x05\x05ab", None),
        ("delta", b"\x02\x05\x01a", None),
        ("delta", b"\x02\x01\x02ab", None),
        ("delta", b"\x02\xff\xff\xff\xff\xff\xff\x7f\x01a", None),
        ("delta", b"\x02", None),
    ],
)
def test_binary_data_must_be_what_it_declares(method: str, data: bytes, size: int | None) -> None:
    patch = binary(b"ab", b"cd", method, data, size)
    assert refused({"f": b"ab"}, patch) is Reason.CANDIDATE_MALFORMED


def test_inflating_stops_at_the_declared_size() -> None:
    bomb = binary(b"ab", b"cd", "literal", b"\0" * 50_000_000, 10)
    assert len(bomb) < 100_000
    assert refused({"f": b"ab"}, bomb) is Reason.CANDIDATE_MALFORMED


def test_copies_hit_the_size_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patches, "MAX_RESULT_BYTES", 1_000)
    files = {"x": b"x" * 300}
    copies = [lines(f"diff --git a/x b/{n}", "copy from x", f"copy to {n}") for n in range(4)]
    assert len(patched(files, b"".join(copies[:3])).writes) == 3
    assert refused(files, b"".join(copies)) is Reason.CANDIDATE_MALFORMED


def test_delta_of_tiny_steps_is_bounded() -> None:
    delta = BinaryPatch(True, 2 + 2 * 1_000, zlib.compress(b"\x01\x7f" + b"\x90\x01" * 1_000))
    with pytest.raises(CandidateMalformed, match="work"):
        undelta(b"x", delta, WorkBudget(100))


def test_names_that_could_end_anywhere_are_malformed() -> None:
    name = "a " * 200
    patch = lines(f"diff --git a/{name} b/{name}", "new file mode 100644")
    assert refused({}, patch) is Reason.CANDIDATE_MALFORMED
    git_header = "diff --git a/{0} b/{0}\nnew file mode 100644"
    plain_header = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@"
    for header in (git_header, plain_header):
        assert refused({}, lines(header.format("x" * 20_000))) is Reason.CANDIDATE_MALFORMED


def test_hostile_search_is_bounded() -> None:
    hunk, _ = parse_hunk([b"@@ -5,3 +5,3 @@", b" a", b"-b", b"+c", b" a"], 0)
    content = b"a\n" * 1000
    assert placed(content, [hunk], WorkBudget(2_000)) is None
    with pytest.raises(CandidateMalformed):
        placed(content, [hunk], WorkBudget(900))

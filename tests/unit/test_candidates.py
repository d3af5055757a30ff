"""Candidates of kind files and patch: every path is checked, nothing is guessed."""

from __future__ import annotations

import pytest
from support.decisions import candidate
from support.patches import reader, tree_of

from assay import candidates
from assay.api.errors import CandidateMalformed
from assay.api.reasons import Reason
from assay.api.tasks import CandidateKind
from assay.api.trees import Edits, FileWrite, TreeLimits, Violation
from assay.candidates import edits

FILES = {"src/m.py": b"m\n", "src/run": b"#!", "d/e/f": b"f", "Caf\u00e9": b"c"}
BASE = tree_of(FILES, executables=frozenset({"src/run"}), folders=("empty",))


def asked(files: dict[str, bytes] | None = None, **changes: object) -> Edits:
    return edits(candidate(files=files or {}, **changes), BASE, reader(FILES))


def patch(text: bytes) -> Edits:
    given = candidate(kind=CandidateKind.PATCH, patch=text)
    return edits(given, BASE, reader(FILES))


def malformed(**changes: object) -> CandidateMalformed:
    with pytest.raises(CandidateMalformed) as caught:
        asked(**changes)  # type: ignore[arg-type]
    return caught.value


def test_files_and_deletions() -> None:
    found = asked({"src/m.py": b"new", "a": b""}, deletes=("d/e/f",))
    assert found == Edits({"a": FileWrite(b""), "src/m.py": FileWrite(b"new")}, ("d/e/f",))
    assert list(found.writes) == ["a", "src/m.py"]


def test_files_equal_to_the_base_are_no_change() -> None:
    assert asked({"src/m.py": b"m\n", "src/run": b"#!"}) == Edits()
    same = asked({"src/run": b"#!"}, executables=frozenset({"src/run"}))
    assert same == Edits()
    found = asked({"src/m.py": b"m\n"}, executables=frozenset({"src/m.py"}))
    assert found.writes == {"src/m.py": FileWrite(b"m\n", True)}


@pytest.mark.parametrize(
    ("path", "shown", "reason"),
    [
        ("../x", "../x", Reason.UNSAFE_PATH),
        ("src/../../x", "src/../../x", Reason.UNSAFE_PATH),
        ("/etc/passwd", "/etc/passwd", Reason.UNSAFE_PATH),
        ("", "", Reason.UNSAFE_PATH),
        (".", ".", Reason.UNSAFE_PATH),
        ("./x", "./x", Reason.UNSAFE_PATH),
        ("x/", "x/", Reason.UNSAFE_PATH),
        ("a//b", "a//b", Reason.UNSAFE_PATH),
        ("a\\b", "a\\\\b", Reason.UNSAFE_PATH),
        ("a\nb", "a\\nb", Reason.UNSAFE_PATH),
        ("a\0b", "a\\x00b", Reason.UNSAFE_PATH),
        ("a\u202eb", "a\\u202eb", Reason.UNSAFE_PATH),
        ("cafe\u0301", "cafe\u0301", Reason.UNSAFE_PATH),
        ("\udcff", "\\xff", Reason.UNSAFE_PATH),
        ("x. ", "x. ", Reason.UNSAFE_PATH),
        ("x" * 256, "x" * 256, Reason.UNSAFE_PATH),
        ("SRC/m.py", "SRC/m.py", Reason.UNSAFE_PATH),
        ("src/M.py", "src/M.py", Reason.UNSAFE_PATH),
        ("cAFÉ", "cAFÉ", Reason.UNSAFE_PATH),
        ("EMPTY/x", "EMPTY/x", Reason.UNSAFE_PATH),
        (".GIT/config", ".GIT/config", Reason.UNSAFE_PATH),
        (".git/hooks/x", ".git/hooks/x", Reason.IGNORED_PATH_CHANGED),
        ("a/node_modules/x", "a/node_modules/x", Reason.IGNORED_PATH_CHANGED),
        ("build/x", "build/x", Reason.IGNORED_PATH_CHANGED),
    ],
)
def test_paths_that_are_refused(path: str, shown: str, reason: Reason) -> None:
    found = asked({path: b"x", "ok": b"x"})
    assert found.violations == (Violation(shown, reason),)
    assert found.writes == {"ok": FileWrite(b"x")}


def test_deleted_paths_are_checked_too() -> None:
    assert asked(deletes=("../x",)).violations == (Violation("../x", Reason.UNSAFE_PATH),)


def test_two_new_files_that_differ_in_case_only() -> None:
    found = asked({"new/a": b"1", "NEW/b": b"2"})
    assert found.violations == (Violation("new/a", Reason.UNSAFE_PATH),)
    assert found.writes == {"NEW/b": FileWrite(b"2")}


def test_case_of_a_name_cannot_be_changed_even_with_a_deletion() -> None:
    found = asked({"src/M.py": b"m\n"}, deletes=("src/m.py",))
    assert found.violations == (Violation("src/M.py", Reason.UNSAFE_PATH),)


def test_deletion_of_a_directory_names_what_is_in_it() -> None:
    assert asked(deletes=("d",)).deletes == ("d/e/f",)
    assert asked(deletes=("empty",)).deletes == ("empty",)
    assert asked(deletes=("src",)).deletes == ("src/m.py", "src/run")


def test_file_in_place_of_a_directory_and_the_reverse_need_the_deletion() -> None:
    found = asked({"d": b"x"}, deletes=("d",))
    assert found == Edits({"d": FileWrite(b"x")}, ("d/e/f",))
    found = asked({"src/m.py/x": b"x"}, deletes=("src/m.py",))
    assert found == Edits({"src/m.py/x": FileWrite(b"x")}, ("src/m.py",))
    for files in ({"d": b"x"}, {"src/m.py/x": b"x"}, {"empty": b"x"}, {"n": b"", "n/x": b""}):
        assert malformed(files=files).reason is Reason.CANDIDATE_MALFORMED


def test_contradictions_are_malformed() -> None:
    malformed(files={"src/m.py": b"x"}, deletes=("src/m.py",))
    malformed(deletes=("src/m.py", "src/m.py"))
    malformed(deletes=("absent",))
    malformed(files={"a": b""}, executables=frozenset({"b"}))
    malformed(kind=CandidateKind.PATCH)
    malformed(kind=CandidateKind.AGENT)
    assert malformed(malformed="not a folder").rule == "not a folder"


def test_sizes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "MAX_EDITS", 3)
    assert len(asked({str(n): b"x" for n in range(3)}).writes) == 3
    malformed(files={str(n): b"x" for n in range(4)})
    monkeypatch.setattr(candidates, "MAX_RESULT_BYTES", 10)
    assert asked({"a": b"x" * 10}).writes
    malformed(files={"a": b"x" * 6, "b": b"x" * 5})


def test_folders_that_writes_make_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "MAX_EDITS", 6)
    assert len(asked({"a/b/c": b"x", "a/b/d": b"x", "d/e/g": b"x"}).writes) == 3
    malformed(files={"a/b/c": b"x", "a/b/d": b"x", "d/e/g": b"x", "d/h/i": b"x"})


def test_no_candidate_makes_a_tree_that_is_too_large_to_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = len(BASE.entries)
    monkeypatch.setattr(candidates, "TREE_LIMITS", TreeLimits(files=held + 2, bytes=BASE.bytes + 3))
    assert asked({"a/b": b"xyz"}).writes
    assert asked({"a/b": b"xyz", "c": b""}, deletes=("d/e/f",)).writes
    assert malformed(files={"a/b": b"", "c": b""}).reason is Reason.CANDIDATE_MALFORMED
    assert malformed(files={"a/b": b"wxyz"}).reason is Reason.CANDIDATE_MALFORMED
    assert malformed(files={"src/m.py": b"m\nwxyz"}).reason is Reason.CANDIDATE_MALFORMED


def test_patch_keeps_the_execute_bit_and_drops_what_changes_nothing() -> None:
    found = patch(b"diff --git a/src/run b/bin\nrename from src/run\nrename to bin\n")
    assert found == Edits({"bin": FileWrite(b"#!", True)}, ("src/run",))
    same = patch(b"diff --git a/src/run b/src/run\nold mode 100644\nnew mode 100755\n")
    assert same == Edits()
    assert patch(b"") == Edits()


def test_patch_that_needs_a_file_to_be_a_directory_does_not_apply() -> None:
    for name in ("src/m.py/x", "d"):
        text = f"diff --git a/{name} b/{name}\nnew file mode 100644\n".encode()
        with pytest.raises(CandidateMalformed) as caught:
            patch(text)
        assert caught.value.reason is Reason.PATCH_DOES_NOT_APPLY


def test_patch_is_applied_as_the_bytes_that_it_is() -> None:
    text = b"--- a/src/m.py\n+++ b/src/m.py\n@@ -1 +1,2 @@\n m\n+x \t\r\n"
    given = candidate(kind=CandidateKind.PATCH, patch=text)
    found = edits(given, BASE, reader(FILES))
    assert found.writes == {"src/m.py": FileWrite(b"m\nx \t\r\n")}
    assert given.patch == text

"""The boundary: patterns, grants, protection, and what is left to grade."""

from __future__ import annotations

import pytest
from support.decisions import task
from support.patches import tree_of

from assay.api.changes import compare, edited_manifest
from assay.api.errors import InvalidInput
from assay.api.reasons import Reason
from assay.api.records import BoundaryFacts
from assay.api.tasks import AllowRule, Task
from assay.api.trees import (
    ChangeSet,
    Edits,
    FileWrite,
    Op,
    Refused,
    RefusedKind,
    RelPath,
    Violation,
)
from assay.boundary import PathPattern, judge, permitted_edits
from assay.builtin.hasher import TreeHasher

FILES = {"src/m.py": b"m\n", "src/n.py": b"n\n", "pyproject.toml": b"p\n", "d/a": b"a", "d/b": b"b"}
EVERY = frozenset(Op)


def write(content: bytes = b"new\n", executable: bool | None = None) -> FileWrite:
    return FileWrite(content, executable)


def judged(
    of: Task,
    writes: dict[str, FileWrite],
    deletes: tuple[str, ...] = (),
    violations: tuple[Violation, ...] = (),
) -> BoundaryFacts:
    """Judge edits of FILES; what is permitted must be a tree by itself."""
    edits = Edits(
        {RelPath(path): found for path, found in writes.items()},
        tuple(RelPath(path) for path in deletes),
        violations,
    )
    base, hasher = tree_of(FILES), TreeHasher()
    change_set = compare(
        base,
        edited_manifest(base, edits, hasher),
        binary=lambda path: b"\0" in edits.writes[path].content,
    )
    facts = judge(of, change_set, edits)
    permitted = permitted_edits(edits, facts)
    assert not permitted.violations
    changed = compare(base, edited_manifest(base, permitted, hasher), binary=lambda path: False)
    assert {change.path for change in changed.changes} == set(facts.permitted)
    return facts


def rule(path: str, *ops: Op, binary: bool = False) -> AllowRule:
    return AllowRule(path, frozenset(ops or {Op.MODIFIED}), binary)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("src/m.py", "src/m.py", True),
        ("src/m.py", "src/m.pyc", False),
        ("src/m.py", "x/src/m.py", False),
        ("src/m.py", "src", False),
        ("src", "src/m.py", False),
        ("m.py", "src/m.py", False),
        ("*", "m.py", True),
        ("*", "src/m.py", False),
        ("src/*", "src/m.py", True),
        ("src/*", "src/a/m.py", False),
        ("src/*.py", "src/m.py", True),
        ("src/*.py", "src/.py", True),
        ("src/?.py", "src/m.py", True),
        ("src/?.py", "src/mm.py", False),
        ("src/?.py", "src/é.py", True),
        ("**", "a", True),
        ("**", "a/b/c", True),
        ("src/**", "src", True),
        ("src/**", "src/a/b", True),
        ("src/**", "srcs/a", False),
        ("**/m.py", "m.py", True),
        ("**/m.py", "a/b/m.py", True),
        ("**/m.py", "a/b/xm.py", False),
        ("a/**/b/**/c", "a/b/c", True),
        ("a/**/b/**/c", "a/x/b/y/z/c", True),
        ("a/**/b/**/c", "a/x/y/c", False),
        ("a*b*c", "aXbXc", True),
        ("a*b*c", "abcd", False),
        ("[ab]", "a", False),
        ("[ab]", "[ab]", True),
        ("SRC/*", "src/m.py", False),
    ],
)
def test_patterns_match_by_component(pattern: str, path: str, matches: bool) -> None:
    assert PathPattern(pattern).matches(RelPath(path)) is matches


@pytest.mark.parametrize("pattern", ["", "/a", "a/", "a//b", "a**", "**a/b", "a/b**c"])
def test_patterns_that_mean_nothing_are_refused(pattern: str) -> None:
    with pytest.raises(InvalidInput):
        PathPattern(pattern)


def test_hostile_path_does_not_slow_a_pattern_down() -> None:
    path = RelPath("/".join(["a" * 250] * 200))
    assert not PathPattern("/".join(["**", "*a*a*a*a*a*b"] * 20)).matches(path)


def test_allowed_modification_is_permitted() -> None:
    found = judged(task(allow=(rule("src/m.py"),)), {"src/m.py": write()})
    assert found == BoundaryFacts((), (RelPath("src/m.py"),), non_empty=True)


def test_protection_wins_over_a_grant() -> None:
    of = task(allow=(rule("**", *EVERY),), protect=("src/n.py", "*.toml"))
    found = judged(of, {"src/n.py": write(), "pyproject.toml": write(), "src/m.py": write()})
    assert found.violations == (
        Violation("pyproject.toml", Reason.PROTECTED_PATH_CHANGED),
        Violation("src/n.py", Reason.PROTECTED_PATH_CHANGED),
    )
    assert found.permitted == ("src/m.py",)
    assert found.non_empty


def test_path_or_operation_without_a_grant_is_not_allowed() -> None:
    of = task(allow=(rule("src/*.py"),))
    found = judged(of, {"src/x.py": write(), "e/f": write()}, deletes=("src/m.py",))
    assert found.violations == tuple(
        Violation(path, Reason.PATH_NOT_ALLOWED) for path in ("e/f", "src/m.py", "src/x.py")
    )
    assert found.permitted == ()


def test_grants_of_all_matching_rules_count_together() -> None:
    of = task(allow=(rule("src/**", Op.ADDED), rule("src/*.py", Op.DELETED)))
    found = judged(of, {"src/x/y.py": write()}, deletes=("src/m.py",))
    assert found.kept
    assert found.permitted == ("src/m.py", "src/x/y.py")


def test_execute_bit_needs_its_own_grant() -> None:
    both = {"src/m.py": write(executable=True)}
    assert not judged(task(allow=(rule("src/m.py"),)), both).kept
    assert judged(task(allow=(rule("src/m.py", Op.MODIFIED, Op.MODE),)), both).kept


def test_change_of_mode_alone_is_no_work_unless_granted() -> None:
    mode = {"src/m.py": write(b"m\n", executable=True)}
    found = judged(task(allow=(rule("src/m.py"),)), mode)
    assert found == BoundaryFacts((Violation("src/m.py", Reason.PATH_NOT_ALLOWED),), (), False)
    assert judged(task(allow=(rule("src/m.py", Op.MODE),)), mode) == BoundaryFacts(
        (), (RelPath("src/m.py"),), True
    )


def test_binary_content_needs_its_own_grant() -> None:
    binary = {"src/m.py": write(b"a\0b")}
    assert not judged(task(allow=(rule("src/m.py"),)), binary).kept
    assert judged(task(allow=(rule("src/m.py", binary=True),)), binary).kept


def test_no_edits_are_no_changes() -> None:
    assert judged(task(allow=(rule("**", *EVERY),)), {}) == BoundaryFacts()


def test_parts_refused_before_are_violations_and_not_empty() -> None:
    refused = Violation("../x", Reason.UNSAFE_PATH)
    found = judged(task(), {}, violations=(refused, refused))
    assert found == BoundaryFacts((refused,), (), True)


def test_whole_directory_goes_only_as_far_as_it_may() -> None:
    of = task(allow=(rule("d/*", Op.DELETED),), protect=("d/b",))
    found = judged(of, {}, deletes=("d/a", "d/b"))
    assert found.violations == (Violation("d/b", Reason.PROTECTED_PATH_CHANGED),)
    assert found.permitted == ("d/a",)


def test_file_becomes_a_directory_only_with_both_grants() -> None:
    change = {"src/m.py/x": write(), "src/m.py/y": write()}
    gone = ("src/m.py",)
    found = judged(task(allow=(rule("src/m.py/*", Op.ADDED),)), change, gone)
    assert found.violations == (Violation("src/m.py", Reason.PATH_NOT_ALLOWED),)
    assert found.permitted == ()
    found = judged(task(allow=(rule("src/m.py", Op.KIND),)), change, gone)
    assert [violation.path for violation in found.violations] == ["src/m.py/x", "src/m.py/y"]
    assert found.permitted == ()
    of = task(allow=(rule("src/m.py", Op.KIND), rule("src/m.py/x", Op.ADDED)))
    assert judged(of, change, gone).permitted == ("src/m.py", "src/m.py/x")


def test_directory_becomes_a_file_only_when_all_in_it_may_go() -> None:
    of = task(allow=(rule("d", Op.KIND), rule("d/a", Op.DELETED)))
    found = judged(of, {"d": write()}, ("d/a", "d/b"))
    assert found.violations == (Violation("d/b", Reason.PATH_NOT_ALLOWED),)
    assert found.permitted == ("d/a",)
    of = task(allow=(rule("d", Op.KIND), rule("d/*", Op.DELETED)))
    assert judged(of, {"d": write()}, ("d/a", "d/b")).permitted == ("d", "d/a", "d/b")


def test_what_a_scan_refused_has_its_reason() -> None:
    refused = (Refused("l", RefusedKind.SYMLINK), Refused("A", RefusedKind.COLLISION))
    found = judge(task(), ChangeSet(tree_of(FILES).ref, None, refused=refused), Edits())
    assert found.violations == (
        Violation("A", Reason.UNSAFE_PATH),
        Violation("l", Reason.FORBIDDEN_FILE_KIND),
    )
    assert found.non_empty


def test_what_an_agent_left_at_ignored_paths_is_no_violation() -> None:
    base = tree_of(FILES).ref
    assert judge(task(), ChangeSet(base, base, ignored=("__pycache__",)), Edits()).kept

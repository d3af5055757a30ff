"""How a grading tree is split between the jail of the tests and that of the candidate."""

from __future__ import annotations

from assay.api import (
    Change,
    ChangeSet,
    Digest,
    Entry,
    EntryKind,
    GraderRole,
    GraderSpec,
    Op,
    RelPath,
    Task,
    TreeManifest,
    TreeRef,
)
from assay_graders.layout import SplitTree, fixture_paths, import_roots, split_tree

REF = TreeRef("assay-tree-v1", Digest("sha256:" + "0" * 64))


def split(
    *files: str,
    roots: tuple[str, ...] = ("src",),
    tests: tuple[str, ...] = (),
    changed: dict[str, Op] | None = None,
    graders: tuple[GraderSpec, ...] = (),
) -> SplitTree:
    task = Task(
        id="t", category="c", prompt="p", fixture=RelPath("f"), hidden=None, graders=graders
    )
    entries = tuple(
        Entry(RelPath(path), EntryKind.FILE, False, 1, Digest("sha256:" + "1" * 64))
        for path in files
    )
    changes = tuple(Change(RelPath(path), op) for path, op in (changed or {}).items())
    return split_tree(
        TreeManifest(REF, entries, len(entries), len(entries)),
        ChangeSet(base=REF, result=REF, changes=changes),
        task,
        roots,
        tests,
    )


def test_modules_and_packages_below_a_root_are_the_candidates():
    found = split("src/a.py", "src/p/__init__.py", "src/p/q/r.py", "src/p/data.txt", "b.py")

    assert found.modules == {"a": False, "p": True, "p.q": True, "p.q.r": False}
    assert found.tops == ("a", "p")
    assert found.driver_lacks == ("src/a.py", "src/p/__init__.py", "src/p/q/r.py")
    assert found.worker_lacks == ()


def test_what_can_not_be_imported_is_no_module_but_stays_out_of_the_driver():
    found = split("src/not-a-name.py", "src/x.so", "src/p-q/m.py", "src/m.pyc", "src/a.pth")

    assert found.modules == {}
    assert len(found.driver_lacks) == 5


def test_tests_and_their_helpers_are_not_the_candidates():
    found = split(
        *("calc.py", "tests/test_a.py", "tests/helper.py", "tests/deep/data.py"),
        roots=(".",),
        tests=("tests/test_a.py",),
    )

    assert found.modules == {"calc": False}
    assert found.driver_lacks == ("calc.py",)
    assert found.worker_lacks == ("tests/test_a.py",)


def test_a_test_beside_the_code_is_told_from_it():
    found = split("calc.py", "test_calc.py", roots=(".",), tests=("test_calc.py",))

    assert found.modules == {"calc": False}
    assert found.worker_lacks == ("test_calc.py",)


def test_whatever_the_candidate_changed_is_not_in_the_driver():
    found = split(
        *("src/a.py", "src/new.py", "tests/test_a.py", "tests/helper.py", "notes.txt"),
        tests=("tests/test_a.py",),
        changed={
            "src/new.py": Op.ADDED,
            "tests/helper.py": Op.MODIFIED,
            "notes.txt": Op.MODE,
            "gone.py": Op.DELETED,
        },
    )

    assert found.driver_lacks == ("notes.txt", "src/a.py", "src/new.py", "tests/helper.py")
    assert found.modules == {"a": False, "new": False}
    assert found.tops == ("a",)


def test_the_candidate_sees_no_visible_test_of_any_grader():
    graders = (
        GraderSpec(id="v", use="pytest", role=GraderRole.VISIBLE, options={"tests": ["t/a.py"]}),
        GraderSpec(
            id="h",
            use="pytest",
            role=GraderRole.HIDDEN,
            options={"tests": ["t/b.py"], "hidden": True},
        ),
    )

    found = split("src/a.py", "t/a.py", "t/b.py", graders=graders)

    assert found.worker_lacks == ("t/a.py",)


def test_code_is_where_the_grader_or_the_task_says_or_in_src_and_at_the_top():
    def roots(named: tuple[str, ...], of_task: tuple[str, ...], *paths: str) -> tuple[str, ...]:
        task = Task(id="t", category="c", prompt="p", fixture=RelPath("f"), roots=of_task)
        return import_roots(named, task, paths)

    assert roots(("lib",), ("code",), "src/a.py") == ("lib",)
    assert roots((), ("code",), "src/a.py") == ("code",)
    assert roots((), (), "src/a.py", "b.py") == ("src", ".")
    assert roots((), (), "source/a.py", "src.py") == (".",)


def test_a_candidate_has_no_say_in_where_code_is():
    entries = tuple(
        Entry(RelPath(path), EntryKind.FILE, False, 1, Digest("sha256:" + "1" * 64))
        for path in ("a.py", "src/new.py")
    )
    changes = (Change(RelPath("src/new.py"), Op.ADDED), Change(RelPath("lib/old.py"), Op.DELETED))
    found = fixture_paths(TreeManifest(REF, entries, 2, 2), ChangeSet(REF, REF, changes))
    assert found == {"a.py", "lib/old.py"}

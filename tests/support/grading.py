"""Grades small trees in real jails, without the trial that normally surrounds a grader."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import field, frozen
from support.jail import runtime, sandbox, store
from support.programs import write_tree

from assay.api import (
    BlobRef,
    Change,
    ChangeSet,
    Facts,
    Grader,
    GraderRole,
    GraderSpec,
    GraderUnfit,
    JailSpec,
    Limits,
    Mount,
    MountKind,
    Op,
    Profile,
    RelPath,
    Runtime,
    Session,
    Task,
    TestOutcome,
    TreeManifest,
    TreeRef,
    TrustedFiles,
)
from assay.api.changes import compare
from assay.api.files import open_root, opened
from assay.builtin.hasher import TreeHasher
from assay_graders.call import CallGrader
from assay_graders.command import CommandGrader
from assay_graders.node_test import NodeTestGrader
from assay_graders.pytest_grader import PytestGrader
from assay_graders.result_file import ResultFileGrader
from assay_graders.stdio import StdioGrader
from assay_graders.unittest_grader import UnittestGrader

SUITES = Path(__file__).parents[2] / "fixtures"
GRADERS: Mapping[str, Grader] = {
    grader.name: grader
    for grader in (
        CallGrader(),
        CommandGrader(),
        PytestGrader(),
        NodeTestGrader(),
        ResultFileGrader(),
        StdioGrader(),
        UnittestGrader(),
    )
}
GENEROUS = Limits(wall=20.0)
"""Limits of tests that are not about limits: this machine may be busy."""


class Kept:
    """Artifacts in memory."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}

    def put(self, name: str, content: bytes) -> BlobRef:
        self.content[name] = content
        return store().add_blob(content)


@frozen
class Context:
    """A GradeContext over stored trees."""

    task: Task
    spec: GraderSpec
    options: Any
    tree: TreeManifest
    hidden: TreeManifest | None
    change_set: ChangeSet
    runtime: Runtime
    limits: Limits = GENEROUS
    seed: int = 0
    artifacts: Kept = field(factory=Kept)
    fixture: TreeManifest | None = None

    def hidden_file(self, path: str, cap: int) -> bytes:
        assert self.hidden is not None
        return _file(self.hidden, path, cap)

    def fixture_file(self, path: str, cap: int) -> bytes:
        return _file(self.fixture or self.tree, path, cap)

    def changed_file(self, path: str, cap: int) -> bytes:
        return _file(self.tree, path, cap)

    def jail(
        self,
        profile: Profile,
        *,
        hidden: bool = False,
        extra: tuple[Mount, ...] = (),
        leave_out: tuple[RelPath, ...] = (),
        restore: tuple[RelPath, ...] = (),
        put: Mapping[RelPath, bytes] | None = None,
        trusted: TrustedFiles | None = None,
    ) -> Session:
        fixture = self.fixture or self.tree
        tree = _with(self.tree, {path: _content(fixture, path) for path in restore})
        tree = _with(tree, put or {})
        mounts = [_mount("/workspace", _without(tree, leave_out).ref), *extra]
        if trusted is not None:
            base = self.hidden if trusted.hidden else fixture
            assert base is not None
            less = _without(base, trusted.leave_out)
            mounts.append(_mount(trusted.place, _with(less, trusted.put).ref))
        if hidden:
            assert self.hidden is not None
            mounts.append(_mount("/hidden", self.hidden.ref))
        return sandbox().open(
            JailSpec(profile, self.runtime, tuple(mounts), self.limits, cwd="/workspace")
        )

    def cancelled(self) -> bool:
        return False


def _file(tree: TreeManifest, path: str, cap: int) -> bytes:
    content = _content(tree, path)
    if content is None or len(content) > cap:
        raise GraderUnfit("no such hidden file, or it is too large")
    return content


def _content(tree: TreeManifest, path: str) -> bytes | None:
    source = store().tree(tree.ref)
    assert source is not None
    file = Path(source, path)
    return file.read_bytes() if file.is_file() else None


def _with(tree: TreeManifest, put: Mapping[RelPath, bytes | None]) -> TreeManifest:
    """A stored tree with other content of files, None for none."""
    if not put:
        return tree
    source = store().tree(tree.ref)
    assert source is not None
    files: dict[str, str | bytes | None] = {**read_files(Path(source)), **put}
    return tree_of({path: content for path, content in files.items() if content is not None})


def _without(tree: TreeManifest, paths: tuple[RelPath, ...]) -> TreeManifest:
    """A stored tree that lacks these paths and what is beneath them."""
    if not paths:
        return tree
    source = store().tree(tree.ref)
    assert source is not None
    kept = {
        path: text
        for path, text in read_files(Path(source)).items()
        if not any(f"{path}/".startswith(f"{gone}/") for gone in paths)
    }
    return tree_of(kept)


def _mount(dst: str, ref: TreeRef) -> Mount:
    source = store().tree(ref)
    assert source is not None
    return Mount(dst, MountKind.TREE, source=source)


def stored(folder: Path) -> TreeManifest:
    """Put a folder into the store."""
    with opened(open_root(folder)) as root:
        manifest = TreeHasher().scan(root).manifest
        assert manifest is not None
        store().add_tree(root, manifest)
    return manifest


@contextmanager
def folder(content: Mapping[str, str | bytes]) -> Iterator[Path]:
    """A folder with these files."""
    with tempfile.TemporaryDirectory(prefix="assay-test-tree-") as root:
        write_tree(Path(root), content)
        yield Path(root)


def tree_of(content: Mapping[str, str | bytes]) -> TreeManifest:
    """A stored tree with these files."""
    with folder(content) as root:
        return stored(root)


def grade(
    grader: Grader,
    options: Any,
    tree: Mapping[str, str | bytes],
    *,
    hidden: Mapping[str, str] | None = None,
    role: GraderRole = GraderRole.VISIBLE,
    removed: tuple[str, ...] = (),
    modified: tuple[str, ...] = (),
    added: tuple[str, ...] = (),
    limits: Limits = GENEROUS,
    seed: int = 0,
    runtime_changes: Runtime | None = None,
    artifacts: Kept | None = None,
    requirements: tuple[str, ...] = (),
    fixture: Mapping[str, str | bytes] | None = None,
) -> Facts:
    """Facts of one grader over a small tree.

    `removed`, `modified` and `added` is what a candidate did; with `fixture`, it is the
    difference of the trees. `artifacts` takes what is kept.
    """
    manifest = tree_of(tree)
    base = manifest if fixture is None else tree_of(fixture)
    changes = tuple(
        Change(RelPath(path), op)
        for op, paths in ((Op.DELETED, removed), (Op.MODIFIED, modified), (Op.ADDED, added))
        for path in paths
    )
    if fixture is not None:
        changes = compare(base, manifest, binary=lambda path: False).changes
    context = Context(
        task=Task(
            id="small",
            category="c",
            prompt="p",
            fixture=RelPath("fixture"),
            hidden=None if hidden is None else RelPath("hidden"),
            runtime={"requirements": requirements} if requirements else {},
        ),
        spec=GraderSpec(id="tests", use=grader.name, role=role),
        options=options,
        tree=manifest,
        hidden=None if hidden is None else tree_of(hidden),
        change_set=ChangeSet(base=base.ref, result=manifest.ref, changes=changes),
        runtime=runtime_changes or runtime(),
        limits=limits,
        seed=seed,
        artifacts=artifacts or Kept(),
        fixture=base,
    )
    return grader.grade(context)


def outcomes(facts: Facts) -> dict[str, TestOutcome]:
    """Outcome by id; an id occurs once."""
    found = {test.id: test.outcome for test in facts.tests}
    assert len(found) == len(facts.tests)
    return found


def read_files(root: Path) -> dict[str, str]:
    """All text files of a folder."""
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def shipped_task(suite: str, task: str) -> dict[str, Any]:
    """The manifest of a shipped task, as JSON."""
    return _json(SUITES / suite / task / "task.json")


def shipped_candidate(suite: str, task: str, candidate: str) -> dict[str, Any]:
    """The manifest of a shipped candidate, as JSON."""
    return _json(SUITES / suite / task / "candidates" / candidate / "candidate.json")


def _json(path: Path) -> dict[str, Any]:
    value = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(value, dict)
    return value


def grade_shipped(suite: str, task: str, candidate: str | None) -> dict[str, Facts]:
    """Facts by grader of a shipped candidate's permitted files, or of the untouched fixture."""
    root = SUITES / suite / task
    manifest = shipped_task(suite, task)
    tree = read_files(root / "fixture")
    if candidate is not None:
        files = read_files(root / "candidates" / candidate / "files")
        tree |= {path: text for path, text in files.items() if path in manifest["allow"]}
    facts = {}
    for spec in manifest["graders"]:
        grader = GRADERS[spec["use"]]
        options = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in spec["options"].items()
        }
        hidden = read_files(root / "hidden") if options.get("hidden") else None
        facts[spec["id"]] = grade(
            grader, grader.Options(**options), tree, hidden=hidden, role=GraderRole(spec["role"])
        )
    return facts

"""Interleaved workspaces: whatever happens to them, the source stays and nothing is left."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from support.trees import HASHER, IN_MEMORY, File, descriptors, make, manifest_of, rel

from assay.api import CopyFailed, CopyMismatch, Edits, FileWrite, Prepared, UsageError
from assay.api.changes import edited_manifest
from assay.api.files import open_root, opened, remove_tree
from assay.builtin.copier import CopyCopier
from assay.builtin.workspace import CopyWorkspace, WorkspaceLease
from assay.store import Store

SOURCE = {"a.py": File(b"1"), "d": {"b.py": File(b"2"), "e": {}}, "run": File(b"#!", True)}
PATHS = st.sampled_from(["a.py", "d", "d/b.py", "d/new", "run", "n/m", "run/x"]).map(rel)
EDITS = st.builds(
    Edits,
    st.dictionaries(PATHS, st.builds(FileWrite, st.binary(max_size=3)), max_size=2),
    st.lists(PATHS, max_size=2).map(tuple),
)


class Workspaces(RuleBasedStateMachine):
    workspaces = Bundle("workspaces")
    leases = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.before = len(descriptors())
        self.top = Path(tempfile.mkdtemp(prefix="assay-test-", dir=IN_MEMORY))
        self.source = make(self.top / "source", SOURCE)
        self.scratch = self.top / "scratch"
        self.scratch.mkdir()
        self.manifest = manifest_of(self.source)
        self.store = Store(self.top / "store", HASHER)
        self.live: dict[CopyWorkspace, int] = {}

    def teardown(self) -> None:
        for workspace in self.live:
            workspace.close()
        assert os.listdir(self.scratch) == []
        self.store.close()
        assert len(descriptors()) == self.before
        with opened(open_root(self.top.parent)) as parent:
            remove_tree(parent, self.top.name)

    def opened(self, prepared: Prepared) -> CopyWorkspace:
        return CopyCopier().open(prepared, str(self.scratch), hasher=HASHER)

    @rule(target=workspaces, stored=st.booleans())
    def open(self, stored: bool) -> CopyWorkspace:
        store = self.store if stored else None
        workspace = self.opened(CopyCopier().prepare(str(self.source), self.manifest, store))
        assert manifest_of(Path(workspace.host_path)) == self.manifest
        self.live[workspace] = 0
        return workspace

    @rule(what=st.sampled_from(["gone", "other"]))
    def fail_to_open(self, what: str) -> None:
        spoiled = make(self.top / "spoiled", {} if what == "gone" else {"a.py": File(b"9")})
        try:
            self.opened(Prepared(self.manifest, str(spoiled)))
        except (CopyMismatch, CopyFailed):
            shutil.rmtree(spoiled)
        else:
            raise AssertionError("a spoiled source was copied")

    @rule(workspace=workspaces, edits=EDITS)
    def put(self, workspace: CopyWorkspace, edits: Edits) -> None:
        if workspace not in self.live or self.live[workspace]:
            self.refused(lambda: workspace.put(edits))
            return
        tree = Path(workspace.host_path)
        try:
            expected = edited_manifest(manifest_of(tree), edits, HASHER)
        except Exception as error:
            expected = manifest_of(tree)
            try:
                workspace.put(edits)
            except type(error):
                pass
        else:
            workspace.put(edits)
        assert manifest_of(tree) == expected

    @rule(workspace=workspaces, name=st.sampled_from(["a.py", "d/x", "__pycache__"]))
    def write_behind_its_back(self, workspace: CopyWorkspace, name: str) -> None:
        if self.live.get(workspace):
            path = Path(workspace.host_path) / name
            if path.parent.is_dir() and not path.is_dir():
                path.write_bytes(b"from the jail")

    @rule(workspace=workspaces)
    def freeze(self, workspace: CopyWorkspace) -> None:
        if workspace not in self.live or self.live[workspace]:
            self.refused(lambda: workspace.freeze(HASHER))
            return
        found = workspace.freeze(HASHER).change_set
        assert found.result == manifest_of(Path(workspace.host_path)).ref
        assert (found.changes == ()) == (found.result == self.manifest.ref)

    @rule(target=leases, workspace=workspaces)
    def lease(self, workspace: CopyWorkspace) -> tuple[CopyWorkspace, WorkspaceLease | None]:
        if workspace not in self.live:
            self.refused(workspace.lease)
            return workspace, None
        self.live[workspace] += 1
        return workspace, workspace.lease()

    @rule(held=consumes(leases))
    def release(self, held: tuple[CopyWorkspace, WorkspaceLease | None]) -> None:
        workspace, lease = held
        if lease is not None:
            lease.release()
            lease.release()
            if workspace in self.live:
                self.live[workspace] -= 1

    @rule(workspace=workspaces)
    def close(self, workspace: CopyWorkspace) -> None:
        workspace.close()
        self.live.pop(workspace, None)
        assert not Path(workspace.host_path).exists()

    def refused(self, use: object) -> None:
        try:
            use()  # type: ignore[operator]
        except UsageError:
            return
        raise AssertionError("used while leased or closed")

    @invariant()
    def the_source_stays(self) -> None:
        assert manifest_of(self.source) == self.manifest

    @invariant()
    def only_live_workspaces_are_there(self) -> None:
        there = {str(self.scratch / name / "tree") for name in os.listdir(self.scratch)}
        assert there == {workspace.host_path for workspace in self.live}


TestWorkspaces = Workspaces.TestCase
TestWorkspaces.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)

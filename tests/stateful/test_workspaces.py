"""Interleaved workspaces: whatever happens to them, the source stays and nothing is left."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from support.trees import HASHER, IN_MEMORY, File, descriptors, make, manifest_of, rel

from assay.api import (
    Copier,
    CopyFailed,
    CopyMismatch,
    Edits,
    FileWrite,
    Prepared,
    TreeManifest,
    UsageError,
    Workspace,
)
from assay.api.changes import edited_manifest
from assay.api.detached import supported
from assay.api.files import open_root, opened, remove_tree
from assay.builtin.copier import CopyCopier
from assay.builtin.overlay import OverlayCopier
from assay.builtin.resting import WorkspaceLease
from assay.store import Store

SOURCE = {"a.py": File(b"1"), "d": {"b.py": File(b"2"), "e": {}}, "run": File(b"#!", True)}
PATHS = st.sampled_from(["a.py", "d", "d/b.py", "d/new", "run", "n/m", "run/x"]).map(rel)
EDITS = st.builds(
    Edits,
    st.dictionaries(PATHS, st.builds(FileWrite, st.binary(max_size=3)), max_size=2),
    st.lists(PATHS, max_size=2).map(tuple),
)


@contextmanager
def tree_of(workspace: Workspace) -> Iterator[int]:
    """Descriptor of the tree as a jail sees it."""
    if workspace.host_path is not None:
        with opened(open_root(workspace.host_path)) as root:
            yield root
    else:
        (mount,) = workspace.mounts("/workspace", writable=True)
        yield mount.descriptor


def seen(workspace: Workspace) -> TreeManifest:
    with tree_of(workspace) as root:
        manifest = HASHER.scan(root).manifest
    assert manifest is not None
    return manifest


class Workspaces(RuleBasedStateMachine):
    workspaces = Bundle("workspaces")
    leases = Bundle("leases")
    stores = (False, True)

    def copier(self) -> Copier:
        return CopyCopier()

    def __init__(self) -> None:
        super().__init__()
        self.before = len(descriptors())
        self.top = Path(tempfile.mkdtemp(prefix="assay-test-", dir=IN_MEMORY))
        self.source = make(self.top / "source", SOURCE)
        self.scratch = self.top / "scratch"
        self.scratch.mkdir()
        self.manifest = manifest_of(self.source)
        self.store = Store(self.top / "store", HASHER)
        self.live: dict[Workspace, int] = {}

    def teardown(self) -> None:
        for workspace in self.live:
            workspace.close()
        assert os.listdir(self.scratch) == []
        self.store.close()
        assert len(descriptors()) == self.before
        with opened(open_root(self.top.parent)) as parent:
            remove_tree(parent, self.top.name)

    def opened(self, prepared: Prepared) -> Workspace:
        return self.copier().open(prepared, str(self.scratch), hasher=HASHER)

    @rule(target=workspaces, stored=st.booleans())
    def open(self, stored: bool) -> Workspace:
        store = self.store if stored or False not in self.stores else None
        workspace = self.opened(self.copier().prepare(str(self.source), self.manifest, store))
        assert seen(workspace) == self.manifest
        self.live[workspace] = 0
        return workspace

    @rule(what=st.sampled_from(["gone", "other"]))
    def fail_to_open(self, what: str) -> None:
        if what == "other" and not self.copier().host_visible:
            # What is in the store was verified there.
            return
        spoiled = self.top / "spoiled"
        if what == "other":
            make(spoiled, {"a.py": File(b"9")})
        try:
            self.opened(Prepared(self.manifest, str(spoiled)))
        except (CopyMismatch, CopyFailed):
            shutil.rmtree(spoiled, ignore_errors=True)
        else:
            raise AssertionError("a spoiled source was copied")

    @rule(workspace=workspaces, edits=EDITS)
    def put(self, workspace: Workspace, edits: Edits) -> None:
        if workspace not in self.live or self.live[workspace]:
            self.refused(lambda: workspace.put(edits))
            return
        try:
            expected = edited_manifest(seen(workspace), edits, HASHER)
        except Exception as error:
            expected = seen(workspace)
            try:
                workspace.put(edits)
            except type(error):
                pass
        else:
            workspace.put(edits)
        assert seen(workspace) == expected

    @rule(workspace=workspaces, name=st.sampled_from(["a.py", "d/x", "__pycache__"]))
    def write_behind_its_back(self, workspace: Workspace, name: str) -> None:
        if self.live.get(workspace):
            with tree_of(workspace) as root:
                try:
                    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
                    descriptor = os.open(name, flags, 0o644, dir_fd=root)
                except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                    return
                with opened(descriptor):
                    os.write(descriptor, b"from the jail")

    @rule(workspace=workspaces, name=st.sampled_from(["a.py", "d/b.py", "d/e", "d/new"]))
    def delete_behind_its_back(self, workspace: Workspace, name: str) -> None:
        if self.live.get(workspace):
            with tree_of(workspace) as root:
                try:
                    os.unlink(name, dir_fd=root)
                except IsADirectoryError:
                    os.rmdir(name, dir_fd=root)
                except (FileNotFoundError, NotADirectoryError):
                    return

    @rule(workspace=workspaces)
    def freeze(self, workspace: Workspace) -> None:
        if workspace not in self.live or self.live[workspace]:
            self.refused(lambda: workspace.freeze(HASHER))
            return
        found = workspace.freeze(HASHER).change_set
        assert found.result == seen(workspace).ref
        assert (found.changes == ()) == (found.result == self.manifest.ref)

    @rule(target=leases, workspace=workspaces)
    def lease(self, workspace: Workspace) -> tuple[Workspace, WorkspaceLease | None]:
        if workspace not in self.live:
            self.refused(workspace.lease)
            return workspace, None
        self.live[workspace] += 1
        return workspace, workspace.lease()

    @rule(held=consumes(leases))
    def release(self, held: tuple[Workspace, WorkspaceLease | None]) -> None:
        workspace, lease = held
        if lease is not None:
            lease.release()
            lease.release()
            if workspace in self.live:
                self.live[workspace] -= 1

    @rule(workspace=workspaces)
    def close(self, workspace: Workspace) -> None:
        workspace.close()
        self.live.pop(workspace, None)
        assert workspace.host_path is None or not Path(workspace.host_path).exists()

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
        assert there == {workspace.host_path for workspace in self.live if workspace.host_path}


class OverlayWorkspaces(Workspaces):
    stores = (True,)

    def __init__(self) -> None:
        super().__init__()
        self.copier().prepare(str(self.source), self.manifest, self.store)

    def copier(self) -> Copier:
        return OverlayCopier()

    @invariant()
    def the_lower_tree_stays(self) -> None:
        assert manifest_of(Path(self.store.lower(self.manifest))) == self.manifest


TestWorkspaces = Workspaces.TestCase
TestWorkspaces.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


@pytest.mark.skipif(not supported(), reason="only root can make file systems that nobody mounts")
class TestOverlayWorkspaces(OverlayWorkspaces.TestCase):  # type: ignore[misc]
    settings = settings(max_examples=40, stateful_step_count=25, deadline=None)

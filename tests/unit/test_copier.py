"""Workspaces by copy: equal or not there, edited as a set, removed for good."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support.trees import (
    HASHER,
    File,
    digest_of,
    make,
    manifest_of,
    mode_of,
    nothing_leaks,
    ordinary_folder,
    rel,
    run_ordinary,
    small_disk,
)

from assay.api import (
    CandidateMalformed,
    CleanupFailed,
    CopyFailed,
    CopyMismatch,
    Edits,
    FileWrite,
    HostIds,
    MountKind,
    NoSpace,
    Op,
    Prepared,
    Reason,
    RefusedKind,
    TreeLimit,
    TreeRefused,
    UsageError,
)
from assay.builtin.copier import CopyCopier
from assay.builtin.workspace import CopyWorkspace
from assay.store import Store

TREE = {
    "pkg": {"m.py": File(b"1\n"), "run": File(b"#!", executable=True)},
    "empty": {},
    "big": File(b"x" * 2_500_000),
    "é": {"😀": File()},
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make(tmp_path / "source", TREE)


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


def open_copy(source: Path, scratch: Path, **options: HostIds) -> CopyWorkspace:
    copier = CopyCopier()
    prepared = copier.prepare(str(source), manifest_of(source), None)
    return copier.open(prepared, str(scratch), hasher=HASHER, **options)


def edits(writes: dict[str, bytes], *deletes: str) -> Edits:
    return Edits({rel(p): FileWrite(c) for p, c in writes.items()}, tuple(map(rel, deletes)))


def test_a_workspace_is_equal_and_leaves_nothing(source: Path, scratch: Path) -> None:
    before = digest_of(source)
    umask = os.umask(0o077)
    try:
        with nothing_leaks(scratch), open_copy(source, scratch) as workspace:
            tree = Path(workspace.host_path)
            assert digest_of(tree) == before == workspace.base.ref.digest
            assert mode_of(tree.parent) == mode_of(tree) == 0o700
            assert mode_of(tree / "pkg/run") == mode_of(tree / "pkg") == 0o755
            assert mode_of(tree / "pkg/m.py") == 0o644
            assert tree.parent.name.startswith("assay-ws-")
            (mount,) = workspace.mounts("/workspace", writable=True)
            assert (mount.dst, mount.kind, mount.writable) == ("/workspace", MountKind.TREE, True)
            assert mount.source == workspace.host_path
            assert str(scratch) not in repr(mount)
            (tree / "pkg/m.py").write_text("changed")
    finally:
        os.umask(umask)
    assert digest_of(source) == before


def test_the_source_may_be_the_store(source: Path, scratch: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "store", HASHER)
    copier = CopyCopier()
    manifest = manifest_of(source)
    first = copier.prepare(str(source), manifest, store)
    make(source, {"pkg": {"m.py": File(b"changed later")}})
    assert copier.prepare(str(source), manifest, store) == first
    with copier.open(first, str(scratch), hasher=HASHER) as workspace:
        assert digest_of(Path(workspace.host_path)) == manifest.ref.digest
        assert mode_of(Path(workspace.host_path) / "pkg/m.py") == 0o644


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_gives_the_workspace_to_the_user_of_the_jail(source: Path, scratch: Path) -> None:
    with open_copy(source, scratch, ids=HostIds(200001, 200001)) as workspace:
        workspace.put(edits({"new/f": b"x"}))
        tree = Path(workspace.host_path)
        owned = [tree, *tree.rglob("*")]
        assert {(path.stat().st_uid, path.stat().st_gid) for path in owned} == {(200001, 200001)}
        assert mode_of(tree.parent) == 0o711
        assert mode_of(tree) == 0o700
        assert mode_of(tree.parent / "staged") == 0o700


@pytest.mark.parametrize("how", ["content", "size", "gone", "bit", "link", "directory", "fifo"])
def test_a_source_that_differs_is_never_copied(source: Path, scratch: Path, how: str) -> None:
    prepared = Prepared(manifest_of(source), str(source))
    victim = source / "pkg/m.py"
    if how in ("content", "size"):
        victim.write_bytes(b"2\n" if how == "content" else b"1\n2\n")
    elif how == "bit":
        victim.chmod(0o755)
    else:
        victim.unlink()
    if how == "link":
        victim.symlink_to("/etc/passwd")
    elif how == "directory":
        victim.mkdir()
    elif how == "fifo":
        os.mkfifo(victim)
    with nothing_leaks(scratch), pytest.raises(CopyMismatch, match=r"^pkg/m\.py: "):
        CopyCopier().open(prepared, str(scratch), hasher=HASHER)


def test_a_source_or_scratch_that_is_absent_is_a_failed_copy(source: Path, scratch: Path) -> None:
    manifest = manifest_of(source)
    with nothing_leaks(scratch), pytest.raises(CopyFailed) as error:
        CopyCopier().open(Prepared(manifest, "/nonexistent"), str(scratch), hasher=HASHER)
    assert "nonexistent" not in str(error.value)
    with nothing_leaks(), pytest.raises(CopyFailed):
        CopyCopier().open(Prepared(manifest, str(source)), "/nonexistent", hasher=HASHER)
    assert not CopyCopier().supports("/nonexistent").ok
    assert CopyCopier().supports(str(scratch)).ok


@pytest.mark.parametrize("options", ["size=1m", "size=1m,nr_inodes=3", "nr_inodes=6"])
def test_b54_a_full_disk_is_no_space_and_nothing_is_left(
    source: Path, tmp_path: Path, options: str
) -> None:
    with (
        small_disk(tmp_path / "disk", options) as disk,
        nothing_leaks(disk),
        pytest.raises(NoSpace) as error,
    ):
        open_copy(source, disk)
    assert error.value.reason is Reason.NO_SPACE


def test_edits_that_do_not_fit_leave_the_workspace_as_it_was(tmp_path: Path) -> None:
    source = make(tmp_path / "source", {"f": File(b"1")})
    with small_disk(tmp_path / "disk", "size=1m") as disk, open_copy(source, disk) as workspace:
        with nothing_leaks(), pytest.raises(NoSpace):
            workspace.put(edits({"a": b"x", "b": b"x" * 2_000_000}, "f"))
        assert workspace.freeze(HASHER).change_set.changes == ()
        workspace.put(edits({"a": b"x"}))
        assert len(workspace.freeze(HASHER).change_set.changes) == 1


def test_put_replaces_files_by_directories_and_back(source: Path, scratch: Path) -> None:
    with open_copy(source, scratch) as workspace:
        workspace.put(edits({"pkg": b"file now", "big/f": b"1"}, "é/😀"))
        found = workspace.freeze(HASHER).change_set
        assert [(change.path, change.op) for change in found.changes] == [
            ("big", Op.KIND),
            ("big/f", Op.ADDED),
            ("pkg", Op.KIND),
            ("pkg/m.py", Op.DELETED),
            ("pkg/run", Op.DELETED),
            ("é/😀", Op.DELETED),
        ]
        assert not (Path(workspace.host_path) / "é").exists()
        workspace.put(edits({"pkg/m.py": b"1\n", "big": b"x" * 2_500_000, "é/😀": b""}))
        workspace.put(Edits({rel("pkg/run"): FileWrite(b"#!", executable=True)}))
        assert workspace.freeze(HASHER).change_set.changes == ()


def test_edits_that_break_a_rule_change_nothing(source: Path, scratch: Path) -> None:
    with open_copy(source, scratch) as workspace:
        for bad in (edits({"ok": b"", "build/x": b""}), edits({"ok": b"", "ok/x": b""})):
            with pytest.raises(CandidateMalformed):
                workspace.put(bad)
        with pytest.raises(CandidateMalformed):
            workspace.put(edits({"ok": b"", "PKG": b""}))
        assert workspace.freeze(HASHER).change_set.changes == ()


def test_edits_cut_short_make_the_workspace_unusable(
    source: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = open_copy(source, scratch)

    def rename(*args: object, **options: object) -> None:
        raise OSError(5, "I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", rename)
        with pytest.raises(CopyFailed, match="EIO"):
            workspace.put(edits({"a": b"", "b": b""}))
    for use in (
        lambda: workspace.freeze(HASHER),
        workspace.lease,
        lambda: workspace.put(edits({})),
    ):
        with pytest.raises(CopyFailed, match="unusable"):
            use()
    workspace.close()
    assert os.listdir(scratch) == []


def test_leases_forbid_put_and_freeze(source: Path, scratch: Path) -> None:
    with open_copy(source, scratch) as workspace:
        first, second = workspace.lease(), workspace.lease()
        first.release()
        first.release()
        for use in (lambda: workspace.freeze(HASHER), lambda: workspace.put(edits({}))):
            with pytest.raises(UsageError, match="leased"):
                use()
        second.release()
        frozen = workspace.freeze(HASHER)
    with pytest.raises(UsageError, match="closed"):
        frozen.read(rel("big"), 1)


def test_what_a_jail_left_is_seen_and_never_followed(source: Path, scratch: Path) -> None:
    with open_copy(source, scratch) as workspace:
        lease = workspace.lease()
        tree = Path(workspace.host_path)
        (tree / "pkg/m.py").write_bytes(b"a\0b")
        make(tree, {"__pycache__": {"x.pyc": File()}, "empty": {"new": File(b"n")}})
        lease.release()
        frozen = workspace.freeze(HASHER)
        assert [(c.path, c.op, c.binary) for c in frozen.change_set.changes] == [
            ("empty/new", Op.ADDED, False),
            ("pkg/m.py", Op.MODIFIED, True),
        ]
        assert frozen.change_set.ignored == ("__pycache__",)
        assert frozen.read(rel("pkg/m.py"), 3) == b"a\0b"
        with pytest.raises(TreeLimit):
            frozen.read(rel("pkg/m.py"), 2)
        workspace.put(edits({"empty/more": b"1"}))
        assert (tree / "empty/new").exists()
        (tree / "secret").symlink_to("/etc/passwd")
        workspace.lease().release()
        refused = workspace.freeze(HASHER).change_set
        assert refused.result is None
        assert [(r.path, r.kind) for r in refused.refused] == [("secret", RefusedKind.SYMLINK)]
        with pytest.raises(TreeRefused):
            workspace.put(edits({"empty/more": b"2"}))


ROOT_LOCKED = """
    from assay.builtin.copier import CopyCopier
    from assay.builtin.hasher import TreeHasher
    from assay.tree import tree_manifest
    (folder / "source").mkdir()
    (folder / "source" / "f").write_text("1")
    (folder / "scratch").mkdir()
    copier, hasher = CopyCopier(), TreeHasher()
    prepared = copier.prepare(
        str(folder / "source"), tree_manifest(folder / "source", hasher), None)
    workspace = copier.open(prepared, str(folder / "scratch"), hasher=hasher)
    tree = Path(workspace.host_path)
    (tree / "d").mkdir()
    (tree / "d").chmod(0)
    tree.chmod(0)
    print([(r.path, r.kind.name) for r in workspace.freeze(hasher).change_set.refused])
    workspace.close()
    print(list((folder / "scratch").iterdir()))
    import shutil
    shutil.rmtree(folder / "source"); (folder / "scratch").rmdir()
"""


def test_a_workspace_whose_root_was_locked_is_a_fact_and_is_removed() -> None:
    with ordinary_folder() as folder:
        assert run_ordinary(ROOT_LOCKED, folder) == "[('.', 'UNREADABLE')]\n[]\n"


def test_closing_twice_is_fine_and_a_stranger_is_left_alone(source: Path, scratch: Path) -> None:
    with nothing_leaks(scratch):
        workspace = open_copy(source, scratch)
        home = Path(workspace.host_path).parent
        home.rename(scratch / "elsewhere")
        home.mkdir()
        with pytest.raises(CleanupFailed, match=home.name):
            workspace.close()
        assert manifest_of(scratch / "elsewhere/tree") == workspace.base
        home.rmdir()
        (scratch / "elsewhere").rename(home)
        workspace.close()
        workspace.close()


def test_a_failed_removal_keeps_the_marker_and_can_be_tried_again(
    source: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = open_copy(source, scratch)
    home = Path(workspace.host_path).parent
    real = os.rmdir

    def rmdir(path: str | bytes, *, dir_fd: int | None = None) -> None:
        if path == b"tree":
            raise OSError(16, "busy")
        real(path, dir_fd=dir_fd)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rmdir", rmdir)
        with pytest.raises(CleanupFailed) as error:
            workspace.close()
    assert error.value.temp_id == home.name
    assert (home / "assay-folder.json").exists()
    workspace.close()
    assert os.listdir(scratch) == []


def test_a_workspace_removed_by_somebody_else_is_closed(source: Path, scratch: Path) -> None:
    workspace = open_copy(source, scratch)
    shutil.rmtree(Path(workspace.host_path).parent)
    workspace.close()
    assert os.listdir(scratch) == []

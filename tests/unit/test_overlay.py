"""Overlay workspaces without jails: what they refuse and keep, and what hostile layers do."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.trees import (
    HASHER,
    File,
    deep,
    descriptors,
    make,
    manifest_from,
    manifest_of,
    nothing_leaks,
    rel,
    small_disk,
    trees,
)

from assay.api import (
    CopierUnsupported,
    CopyFailed,
    Edits,
    FileWrite,
    HostIds,
    MountKind,
    NoSpace,
    Op,
    Prepared,
    RefusedKind,
    TreeLimit,
    TreeLimits,
    TreeManifest,
    TreeRefused,
    UsageError,
    detached,
)
from assay.api.files import opened
from assay.builtin.base_index import BaseIndex
from assay.builtin.overlay import OverlayCopier
from assay.builtin.overlay_workspace import OverlayWorkspace
from assay.builtin.upper_place import FolderPlace
from assay.store import Store

TREE = {
    "pkg": {"m.py": File(b"1\n"), "run": File(b"#!", executable=True), "sub": {"x": File(b"x")}},
    "empty": {},
    "f": File(b"f"),
}
as_root = pytest.mark.skipif(not detached.supported(), reason="only root can make such mounts")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    source = make(tmp_path / "source", TREE)
    store = Store(tmp_path / "store", HASHER)
    return OverlayCopier().prepare(str(source), manifest_of(source), store)


@pytest.fixture
def in_folder(prepared: Prepared, scratch: Path) -> Iterator[OverlayWorkspace]:
    """A workspace whose upper layer is an ordinary folder, with nobody to mount it."""
    with (
        patch("assay.builtin.overlay.supported", lambda: False),
        nothing_leaks(scratch),
        OverlayCopier().open(prepared, str(scratch), hasher=HASHER) as workspace,
    ):
        yield workspace


def upper(workspace: OverlayWorkspace) -> Path:
    (mount,) = workspace.mounts("/w", writable=True)
    assert mount.kind is MountKind.OVERLAY
    return Path(mount.upper)


def ops(workspace: OverlayWorkspace) -> list[tuple[str, Op]]:
    changes = workspace.freeze(HASHER).change_set.changes
    return [(change.path, change.op) for change in changes]


def whiteout(path: Path) -> None:
    os.mknod(path, stat.S_IFCHR, os.makedev(0, 0))


def edits(writes: dict[str, bytes], *deletes: str) -> Edits:
    return Edits({rel(p): FileWrite(c) for p, c in writes.items()}, tuple(map(rel, deletes)))


def test_a_store_is_needed_and_a_folder_is_not_given(tmp_path: Path) -> None:
    source = make(tmp_path / "source", TREE)
    assert not OverlayCopier.host_visible
    with pytest.raises(CopierUnsupported, match="store"):
        OverlayCopier().prepare(str(source), manifest_of(source), None)


def test_what_a_file_system_can_not_hold_is_a_reason(scratch: Path) -> None:
    assert not OverlayCopier().supports("/nonexistent").ok
    with patch("assay.builtin.overlay.supported", lambda: False), nothing_leaks(scratch):
        assert OverlayCopier().supports(str(scratch)).ok

        def setxattr(*arguments: object) -> None:
            raise OSError(95, "Operation not supported")

        with patch.object(os, "setxattr", setxattr):
            found = OverlayCopier().supports(str(scratch))
        assert (found.ok, "file system" in found.reason) == (False, True)


def test_the_lower_tree_has_the_modes_of_a_workspace(prepared: Prepared) -> None:
    lower = Path(prepared.handle)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (lower, *lower.rglob("*"))}
    assert modes == {
        lower.name: 0o755,
        **dict.fromkeys(("pkg", "sub", "empty", "run"), 0o755),
        **dict.fromkeys(("m.py", "x", "f"), 0o644),
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_gives_the_lower_tree_to_the_user_of_the_jail(tmp_path: Path) -> None:
    source = make(tmp_path / "source", TREE)
    store = Store(tmp_path / "store", HASHER, HostIds(200001, 200002))
    lower = Path(OverlayCopier().prepare(str(source), manifest_of(source), store).handle)
    assert {(p.stat().st_uid, p.stat().st_gid) for p in (lower, *lower.rglob("*"))} == {
        (200001, 200002)
    }
    assert lower.parent.name == "lowers-200001"
    (lower / "f").write_bytes(b"spoiled")
    manifest = manifest_of(source)
    again = Store(tmp_path / "store", HASHER, HostIds(200001, 200002))
    assert manifest_of(Path(again.lower(manifest))) == manifest


def test_a_lower_tree_needs_its_stored_tree(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", HASHER)
    with pytest.raises(CopyFailed, match="not in the store"):
        store.lower(manifest_from(TREE))


def test_a_tree_that_is_gone_leaves_nothing(scratch: Path) -> None:
    gone = Prepared(manifest_from(TREE), "/nonexistent")
    for layer in {False, detached.supported()}:
        with (
            patch("assay.builtin.overlay.supported", lambda layer=layer: layer),
            nothing_leaks(scratch),
            pytest.raises(CopyFailed) as error,
        ):
            OverlayCopier().open(gone, str(scratch), hasher=HASHER)
        assert "nonexistent" not in str(error.value)


def test_b54_a_full_disk_is_no_space_and_nothing_is_left(
    prepared: Prepared, tmp_path: Path
) -> None:
    with (
        small_disk(tmp_path / "disk", "nr_inodes=5") as disk,
        patch("assay.builtin.overlay.supported", lambda: False),
        nothing_leaks(disk),
        pytest.raises(NoSpace),
    ):
        OverlayCopier().open(prepared, str(disk), hasher=HASHER)


@as_root
def test_changes_in_memory_have_a_size_and_end_with_their_descriptor(
    prepared: Prepared, scratch: Path
) -> None:
    mounts = Path("/proc/self/mountinfo").read_text()
    with (
        patch("assay.builtin.upper_place._CAPACITY", 1024**2),
        nothing_leaks(scratch),
        OverlayCopier().open(prepared, str(scratch), hasher=HASHER) as workspace,
    ):
        assert os.listdir(scratch) == []
        with nothing_leaks(), pytest.raises(NoSpace):
            workspace.put(edits({"a": b"x", "b": b"x" * 2_000_000}, "f"))
        assert ops(workspace) == []
        workspace.put(edits({"a": b"x"}))
        (mount,) = workspace.mounts("/w", writable=False)
        assert (mount.kind, mount.source, mount.writable) == (MountKind.TREE, "", False)
        with opened(os.open(".", os.O_RDONLY, dir_fd=mount.descriptor)) as merged:
            assert sorted(os.listdir(merged)) == ["a", "empty", "f", "pkg"]
        assert Path("/proc/self/mountinfo").read_text() == mounts
    assert Path("/proc/self/mountinfo").read_text() == mounts


def test_a_jail_that_writes_is_alone_where_each_mounts_for_itself(
    in_folder: OverlayWorkspace,
) -> None:
    in_folder.mounts("/w", writable=False)
    lease = in_folder.lease()
    in_folder.mounts("/w", writable=False)
    with pytest.raises(UsageError, match="alone"):
        in_folder.mounts("/w", writable=True)
    lease.release()
    in_folder.mounts("/w", writable=True)
    lease = in_folder.lease()
    for writable in (False, True):
        with pytest.raises(UsageError, match="alone"):
            in_folder.mounts("/w", writable=writable)
    lease.release()
    in_folder.mounts("/w", writable=True)


def test_what_the_kernel_leaves_is_understood(in_folder: OverlayWorkspace) -> None:
    layer = upper(in_folder)
    assert ops(in_folder) == []
    whiteout(layer / "f")
    (layer / "pkg").mkdir()
    (layer / "pkg/m.py").write_bytes(b"1\n")
    (layer / "pkg/run").write_bytes(b"#!")
    make(layer / "pkg/sub", {"new": File(b"a\0")})
    os.setxattr(layer / "pkg/sub", "user.overlay.opaque", b"y")
    assert ops(in_folder) == [
        ("f", Op.DELETED),
        ("pkg/run", Op.MODE),
        ("pkg/sub/new", Op.ADDED),
        ("pkg/sub/x", Op.DELETED),
    ]
    frozen = in_folder.freeze(HASHER)
    assert frozen.change_set.changes[2].binary
    assert frozen.read(rel("pkg/sub/new"), 2) == b"a\0"
    for path in ("f", "pkg/sub/x", "absent", "pkg/sub/absent", "f/x"):
        with pytest.raises(FileNotFoundError):
            frozen.read(rel(path), 9)
    with pytest.raises(TreeLimit):
        frozen.read(rel("pkg/m.py"), 1)
    expected = {
        "empty": {},
        "pkg": {"m.py": File(b"1\n"), "run": File(b"#!"), "sub": {"new": File(b"a\0")}},
    }
    assert frozen.change_set.result == manifest_from(expected).ref


def test_an_edited_layer_is_what_the_kernel_would_have_made(in_folder: OverlayWorkspace) -> None:
    layer = upper(in_folder)
    in_folder.put(edits({"pkg": b"file", "f/g": b"1"}, "empty"))
    assert ops(in_folder) == [
        ("empty", Op.DELETED),
        ("f", Op.KIND),
        ("f/g", Op.ADDED),
        ("pkg", Op.KIND),
        ("pkg/m.py", Op.DELETED),
        ("pkg/run", Op.DELETED),
        ("pkg/sub/x", Op.DELETED),
    ]
    assert stat.S_ISCHR((layer / "empty").lstat().st_mode)
    in_folder.put(edits({"pkg/new": b"", "empty/x": b""}, "f"))
    assert os.getxattr(layer / "pkg", "user.overlay.opaque") == b"y"
    assert stat.S_ISCHR((layer / "f").lstat().st_mode)
    in_folder.put(edits({"pkg/m.py": b"1\n", "pkg/sub/x": b"x", "f": b"f"}, "pkg/new", "empty/x"))
    in_folder.put(Edits({rel("pkg/run"): FileWrite(b"#!", executable=True)}))
    assert ops(in_folder) == [("empty", Op.DELETED)]


def test_markers_that_no_mount_of_ours_makes_are_a_failed_copy(
    in_folder: OverlayWorkspace,
) -> None:
    layer = upper(in_folder)
    (layer / "pkg").mkdir()
    for name, value in (("opaque", b"x"), ("redirect", b"/empty"), ("metacopy", b"y")):
        os.setxattr(layer / "pkg", f"user.overlay.{name}", value)
        with pytest.raises(CopyFailed, match="marker"):
            in_folder.freeze(HASHER)
        os.removexattr(layer / "pkg", f"user.overlay.{name}")
    os.setxattr(layer / "pkg", "user.overlay.overlay.opaque", b"y")
    assert ops(in_folder) == []


def test_everything_refused_is_refused_by_kind(in_folder: OverlayWorkspace) -> None:
    layer = upper(in_folder)
    (layer / "pkg").mkdir()
    (layer / "pkg/M.PY").write_bytes(b"")
    (layer / "pkg/link").symlink_to("/etc/passwd")
    os.mkfifo(layer / "pkg/fifo")
    (layer / "bad\nname").write_bytes(b"")
    Path(os.fsdecode(os.fsencode(layer) + b"/\xff")).write_bytes(b"")
    (layer / "twice").write_bytes(b"")
    (layer / "twin").hardlink_to(layer / "twice")
    (layer / "locked").mkdir(mode=0)
    found = in_folder.freeze(HASHER).change_set
    assert found.result is None
    assert found.changes == ()
    assert [(item.path, item.kind) for item in found.refused] == [
        ("bad\\nname", RefusedKind.UNSAFE_NAME),
        ("locked", RefusedKind.UNREADABLE),
        ("pkg/M.PY", RefusedKind.COLLISION),
        ("pkg/fifo", RefusedKind.FIFO),
        ("pkg/link", RefusedKind.SYMLINK),
        ("pkg/m.py", RefusedKind.COLLISION),
        ("twice", RefusedKind.HARD_LINK),
        ("twin", RefusedKind.HARD_LINK),
        ("\\xff", RefusedKind.UNSAFE_NAME),
    ]
    in_folder.lease().release()
    with pytest.raises(TreeRefused):
        in_folder.put(edits({"x": b""}))


def test_limits_count_what_the_lower_tree_still_shows(in_folder: OverlayWorkspace) -> None:
    layer = upper(in_folder)
    whiteout(layer / "f")
    (layer / "new").write_bytes(b"123")
    # empty, new, pkg, m.py, run, sub, x; 3 bytes and 2 + 2 + 1 of the lower tree.
    fits = TreeLimits(files=7, bytes=8, depth=3)
    assert in_folder.freeze(HASHER, fits).change_set.result is not None
    for limits in (
        TreeLimits(files=6),
        TreeLimits(bytes=7),
        TreeLimits(depth=2),
    ):
        with pytest.raises(TreeLimit):
            in_folder.freeze(HASHER, limits)
    (layer / "pkg").mkdir()
    whiteout(layer / "pkg/sub")
    assert in_folder.freeze(HASHER, TreeLimits(depth=2)).change_set.result is not None


def test_a_tree_that_is_too_deep_is_a_limit_and_is_removed(in_folder: OverlayWorkspace) -> None:
    deep(upper(in_folder) / "d", 1200)
    before = len(descriptors())
    with pytest.raises(TreeLimit):
        in_folder.freeze(HASHER)
    assert len(descriptors()) == before


def test_many_files_are_read_once_each(in_folder: OverlayWorkspace) -> None:
    layer = upper(in_folder)
    for number in range(3000):
        (layer / f"n{number:04}").touch()
    assert len(in_folder.freeze(HASHER).change_set.changes) == 3000
    (layer / "__pycache__").mkdir()
    (layer / "__pycache__/x").touch()
    assert in_folder.freeze(HASHER).change_set.ignored == ("__pycache__",)


def test_a_hasher_that_keeps_nothing_is_asked_for_whole_manifests(
    prepared: Prepared, scratch: Path
) -> None:
    class Plain:
        api = "1.0"
        contract = HASHER.contract
        scan = staticmethod(HASHER.scan)
        manifest = staticmethod(HASHER.manifest)

    with OverlayCopier().open(prepared, str(scratch), hasher=Plain()) as workspace:
        workspace.put(edits({"pkg/new": b"1"}, "f"))
        found = workspace.freeze(Plain()).change_set
        assert found == workspace.freeze(HASHER).change_set


def test_the_root_of_a_layer_may_be_locked(prepared: Prepared, scratch: Path) -> None:
    place = FolderPlace.create(prepared.handle, str(scratch), None)
    place.remove()
    place.remove()
    assert os.listdir(scratch) == []


@given(base=trees, changed=trees, data=st.data())
def test_a_spliced_digest_is_that_of_the_whole_manifest(
    base: dict[str, object], changed: dict[str, object], data: st.DataObject
) -> None:
    before, after = manifest_from(base), manifest_from(changed)
    index = BaseIndex(before)
    fresh = [entry for entry in after.entries if entry != index.entry(entry.path)]
    wanted = {entry.path: entry for entry in after.entries}
    gone = [at for at, entry in enumerate(before.entries) if wanted.get(entry.path) != entry]
    with patch("assay.builtin.spliced._BLOCK", data.draw(st.integers(1, 4))):
        kept = HASHER.index(before)
        assert kept.spliced([range(at, at + 1) for at in gone], fresh) == after.ref
        assert kept.spliced([], []) == before.ref


@given(tree=trees)
def test_an_index_finds_what_is_beneath_a_directory(tree: dict[str, object]) -> None:
    manifest: TreeManifest = manifest_from(tree)
    index = BaseIndex(manifest)
    for entry in manifest.entries:
        inside = [other for other in manifest.entries if other.path.startswith(f"{entry.path}/")]
        beneath = index.within(f"{entry.path}/")
        assert [manifest.entries[at] for at in beneath] == inside
        assert index.size(beneath) == sum(other.size for other in inside)
        direct = [other.path for other in inside if "/" not in other.path[len(entry.path) + 1 :]]
        assert [f"{entry.path}/{name}" for name in index.names(entry.path)] == direct

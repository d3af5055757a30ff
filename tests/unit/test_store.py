"""The store: under its digest or not at all, for many processes, read-only."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
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
    run_ordinary,
    small_disk,
)

from assay.api import (
    BlobRef,
    CopyMismatch,
    Digest,
    HostIds,
    InvalidInput,
    NoSpace,
    TreeManifest,
    TreeRef,
    Unavailable,
)
from assay.api.files import open_root, opened
from assay.store import Store, default_store_root

TREE = {
    "d": {"f": File(b"1"), "x": File(b"2", executable=True)},
    "e": {},
    "big": File(b"3" * 10**6),
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make(tmp_path / "source", TREE)


def add(store: Store, source: Path, manifest: TreeManifest | None = None) -> TreeRef:
    with opened(open_root(source)) as root, nothing_leaks():
        return store.add_tree(root, manifest or manifest_of(source))


def test_trees_are_kept_read_only_under_their_digest(source: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "store", HASHER)
    ref = manifest_of(source).ref
    assert store.tree(ref) is None
    assert add(store, source) == add(store, source) == ref
    kept = Path(store.tree(ref) or "")
    assert kept == tmp_path / "store/trees" / ref.digest.removeprefix("sha256:")
    assert digest_of(kept) == ref.digest
    assert {mode_of(path) for path in (kept, kept / "d", kept / "e", kept / "d/x")} == {0o550}
    assert mode_of(kept / "d/f") == 0o440
    assert os.listdir(kept.parent) == [kept.name]
    assert Store(tmp_path / "store", HASHER).tree(ref) == str(kept)


def test_an_ordinary_user_keeps_trees_too() -> None:
    code = """
        from assay.builtin.hasher import TreeHasher
        from assay.store import Store
        from assay.tree import tree_manifest
        from assay.api.files import open_root, remove_tree
        source = folder / "source"
        (source / "d" / "e").mkdir(parents=True)
        (source / "d" / "f").write_text("1")
        hasher = TreeHasher()
        manifest = tree_manifest(source, hasher)
        store = Store(folder / "store", hasher)
        store.add_tree(open_root(source), manifest)
        print(Store(folder / "store", hasher).tree(manifest.ref) is not None)
        for name in ("store", "source"):
            remove_tree(open_root(folder), name)
    """
    with ordinary_folder() as folder:
        assert run_ordinary(code, folder) == "True\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to a group")
def test_the_group_of_the_jails_can_read_and_only_pass_through(
    source: Path, tmp_path: Path
) -> None:
    own = Store(tmp_path / "store", HASHER)
    add(own, source)
    store = Store(tmp_path / "store", HASHER, HostIds(200001, 200001))
    ref = manifest_of(source).ref
    assert store.tree(ref) is None
    add(store, source)
    kept = Path(store.tree(ref) or "")
    assert {path.stat().st_gid for path in (kept, *kept.rglob("*"))} == {200001}
    assert {path.stat().st_uid for path in (kept, *kept.rglob("*"))} == {0}
    assert mode_of(tmp_path / "store") == mode_of(kept.parent) == 0o711


@pytest.mark.parametrize("how", ["content", "extra", "gone", "bit", "directory"])
def test_a_spoiled_tree_is_never_used_and_can_be_added_again(
    source: Path, tmp_path: Path, how: str
) -> None:
    ref = add(Store(tmp_path / "store", HASHER), source)
    kept = Path(Store(tmp_path / "store", HASHER).tree(ref) or "")
    (kept / "d").chmod(0o755)
    victim = kept / "d/f"
    victim.chmod(0o755 if how == "bit" else 0o644)
    if how == "content":
        victim.write_bytes(b"")
    elif how == "extra":
        (kept / "d/g").symlink_to("/etc/passwd")
    elif how == "gone":
        victim.unlink()
    elif how == "directory":
        (kept / "d").chmod(0)
    store = Store(tmp_path / "store", HASHER)
    with nothing_leaks():
        assert store.tree(ref) is None
    assert os.listdir(kept.parent) == []
    assert add(store, source) == ref
    assert store.tree(ref) == str(kept)


def test_a_tree_that_was_removed_is_gone(source: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "store", HASHER)
    kept = Path(store.tree(add(store, source)) or "")
    kept.rename(kept.with_name("elsewhere"))
    assert store.tree(manifest_of(source).ref) is None


def test_a_source_that_differs_is_not_stored(source: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "store", HASHER)
    manifest = manifest_of(source)
    (source / "d/f").write_bytes(b"9")
    with nothing_leaks(tmp_path / "store/trees"), pytest.raises(CopyMismatch):
        add(store, source, manifest)
    lying = TreeManifest(
        TreeRef("assay-tree-v1", Digest("sha256:" + "0" * 64)),
        manifest_of(source).entries,
        manifest.files,
        manifest.bytes,
    )
    with nothing_leaks(tmp_path / "store/trees"), pytest.raises(CopyMismatch):
        add(store, source, lying)


def test_a_full_disk_leaves_no_half_tree(tmp_path: Path) -> None:
    source = make(tmp_path / "source", {"a": File(b"1"), "big": File(b"x" * 2_000_000)})
    with small_disk(tmp_path / "disk", "size=1m") as disk:
        store = Store(disk / "store", HASHER)
        with nothing_leaks(disk / "store/trees"), pytest.raises(NoSpace):
            add(store, source)
        with nothing_leaks(disk / "store/blobs"), pytest.raises(NoSpace):
            store.add_blob(b"x" * 2_000_000)
        assert store.tree(manifest_of(source).ref) is None
        store.close()


def test_many_writers_of_one_tree_agree(source: Path, tmp_path: Path) -> None:
    gate = threading.Barrier(8)

    def work(_: int) -> str | None:
        store = Store(tmp_path / "store", HASHER)
        gate.wait()
        with opened(open_root(source)) as root:
            return store.tree(store.add_tree(root, manifest_of(source)))

    with ThreadPoolExecutor(8) as pool:
        kept = set(pool.map(work, range(8)))
    assert len(kept) == 1
    assert os.listdir(tmp_path / "store/trees") == [Path(kept.pop() or "").name]


def test_many_processes_may_add_one_tree_at_once(source: Path, tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from assay.api.files import open_root
from assay.builtin.hasher import TreeHasher
from assay.store import Store
from assay.tree import tree_manifest
sys.stdin.read()
hasher = TreeHasher()
manifest = tree_manifest(sys.argv[2], hasher)
store = Store(Path(sys.argv[1]), hasher)
print(store.tree(store.add_tree(open_root(sys.argv[2]), manifest)))
"""
    arguments = [sys.executable, "-c", code, str(tmp_path / "store"), str(source)]
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen(
                    arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
                )
            )
            for _ in range(4)
        ]
        for process in started:
            assert process.stdin is not None
            process.stdin.close()
        outputs = {process.stdout.read() for process in started if process.stdout is not None}
    name = manifest_of(source).ref.digest.removeprefix("sha256:")
    assert outputs == {f"{tmp_path}/store/trees/{name}\n".encode()}
    assert os.listdir(tmp_path / "store/trees") == [name]


@pytest.mark.parametrize("digest", ["", "sha256:", "../" * 20, "sha256:" + "G" * 64])
def test_nothing_but_a_digest_names_something(tmp_path: Path, digest: str) -> None:
    store = Store(tmp_path / "store", HASHER)
    with pytest.raises(InvalidInput):
        store.tree(TreeRef("assay-tree-v1", Digest(digest)))
    with pytest.raises(InvalidInput):
        store.blob(BlobRef(Digest(digest), 1))


def test_a_tree_of_another_contract_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="contract"):
        Store(tmp_path / "store", HASHER).tree(TreeRef("other", Digest("sha256:" + "0" * 64)))


def test_blobs_are_kept_and_checked(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", HASHER)
    with nothing_leaks():
        ref = store.add_blob(b"hello")
        assert store.add_blob(b"hello") == ref
        assert store.blob(ref) == b"hello"
        assert store.blob(BlobRef(ref.digest, 4)) is None
        assert store.blob(BlobRef(Digest("sha256:" + "0" * 64), 5)) is None
    kept = tmp_path / "store/blobs" / ref.digest.removeprefix("sha256:")
    kept.chmod(0o600)
    kept.write_bytes(b"HELLO")
    assert store.blob(ref) is None
    assert store.add_blob(b"hello") == ref
    assert store.blob(ref) == b"hello"
    assert mode_of(kept) == 0o400
    kept.unlink()
    kept.symlink_to("/etc/passwd")
    assert store.blob(ref) is None
    assert os.listdir(kept.parent) == [kept.name]


def test_a_folder_that_others_can_write_to_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(Unavailable, match="open to other users"):
        Store(tmp_path / "open", HASHER)
    assert mode_of(tmp_path / "open") == 0o777
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(Unavailable) as error:
        Store(tmp_path / "link", HASHER)
    assert str(tmp_path) not in str(error.value)


def test_where_the_store_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_STORE", "/chosen")
    assert default_store_root() == Path("/chosen")
    monkeypatch.delenv("ASSAY_STORE")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_store_root() == Path("/var/cache/assay")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert default_store_root() == Path("/cache/assay")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert default_store_root() == Path("/home/somebody/.cache/assay")

"""What a store evicts: the old, then the least recently used, never what is in use."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.trees import HASHER, File, descriptors, make, manifest_of

from assay.api import CopyFailed, Digest, TreeRef, UsageError
from assay.api.files import open_root, opened
from assay.eviction import StoreLimits, evict, store_limits
from assay.leases import Lease, locked
from assay.leftovers import DAY, Fate
from assay.store import Store

NOW = 2_000_000_000.0
PLENTY = StoreLimits()


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    before = len(descriptors())
    yield tmp_path / "store"
    assert len(descriptors()) == before


def filled(root: Path, count: int = 3) -> list[TreeRef]:
    """A store that nobody uses, with trees of about 100 kB, used a day after one another."""
    store = Store(root, HASHER)
    refs = []
    for number in range(count):
        source = make(root.parent / f"source-{number}", {"f": File(b"%d" % number * 100_000)})
        manifest = manifest_of(source)
        with opened(open_root(source)) as fd:
            refs.append(store.add_tree(fd, manifest))
        moment = NOW - (count - number) * DAY
        os.utime(used(root, refs[-1]), (moment, moment))
    store.close()
    return refs


def name(ref: TreeRef) -> str:
    return ref.digest.removeprefix("sha256:")


def used(root: Path, ref: TreeRef) -> Path:
    return root / "used" / f"trees.{name(ref)}"


def there(root: Path) -> set[str]:
    return set(os.listdir(root / "trees"))


def removed(root: Path, limits: StoreLimits, **options: bool) -> set[str]:
    kept = evict(root, limits, now=NOW, **options)
    return {item.name.rpartition("/")[2] for item in kept if item.fate is Fate.REMOVED}


def test_what_nobody_used_for_long_goes(root: Path) -> None:
    refs = filled(root)
    assert removed(root, PLENTY) == set()
    assert removed(root, StoreLimits(age=1.5 * DAY)) == {name(ref) for ref in refs[:2]}
    assert there(root) == {name(refs[2])}
    assert os.listdir(root / "used") == [used(root, refs[2]).name]
    assert Store(root, HASHER).tree(refs[0]) is None


def test_above_the_size_the_least_recently_used_go(root: Path) -> None:
    refs = filled(root)
    sizes = [item.size for item in evict(root, PLENTY, now=NOW, dry_run=True)]
    assert len(sizes) == 3
    assert all(100_000 <= size <= 120_000 for size in sizes)
    limit = StoreLimits(size=sum(sizes) - 1)
    told = evict(root, limit, now=NOW, dry_run=True)
    assert [item.fate for item in told if item.name.endswith(name(refs[0]))] == [Fate.REMOVABLE]
    assert len(there(root)) == 3
    assert removed(root, limit) == {name(refs[0])}
    assert removed(root, StoreLimits(size=0)) == {name(refs[1]), name(refs[2])}


def test_use_is_noted_and_makes_a_tree_recent(root: Path) -> None:
    refs = filled(root)
    store = Store(root, HASHER)
    before = used(root, refs[0]).stat().st_mtime
    assert store.tree(refs[0])
    assert used(root, refs[0]).stat().st_mtime != before
    store.close()
    os.utime(used(root, refs[0]), (NOW, NOW))
    assert removed(root, StoreLimits(age=1.5 * DAY)) == {name(refs[1])}


def test_what_a_live_store_uses_stays_until_it_is_closed(root: Path) -> None:
    refs = filled(root)
    store = Store(root, HASHER)
    path = store.tree(refs[0])
    assert path
    assert removed(root, StoreLimits(0, 0)) == {name(refs[1]), name(refs[2])}
    assert manifest_of(Path(path)).ref == refs[0]
    store.close()
    assert removed(root, StoreLimits(0, 0)) == {name(refs[0])}


def test_a_store_that_nobody_holds_any_more_is_closed(root: Path) -> None:
    refs = filled(root, 1)
    store = Store(root, HASHER)
    assert store.tree(refs[0])
    assert len(os.listdir(root / "leases")) == 1
    del store
    assert os.listdir(root / "leases") == []


USER = """
import os, signal, sys
from pathlib import Path
from assay.api import Digest, TreeRef
from assay.builtin.hasher import TreeHasher
from assay.store import Store
store = Store(Path(sys.argv[1]), TreeHasher())
print(bool(store.tree(TreeRef("assay-tree-v1", Digest(sys.argv[2])))), flush=True)
input()
"""


def test_a_tree_is_in_use_until_its_process_is_dead(root: Path) -> None:
    refs = filled(root, 1)
    with subprocess.Popen(
        [sys.executable, "-c", USER, str(root), refs[0].digest],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"True\n"
        assert removed(root, StoreLimits(0, 0)) == set()
        process.kill()
    assert len(os.listdir(root / "leases")) == 1
    assert removed(root, StoreLimits(0, 0)) == {name(refs[0])}
    assert os.listdir(root / "leases") == []


def test_what_was_left_unfinished_goes_and_is_never_used(root: Path) -> None:
    (ref,) = filled(root, 1)
    lease = Lease(root)
    half = root / "trees" / lease.unfinished()
    half.mkdir()
    (half / "f").write_text("half")
    (root / "blobs" / lease.unfinished()).write_text("half")
    (root / "used" / lease.unfinished()).write_text("half")
    # Of an older version, whose names tell no maker: by its age alone.
    old = root / "trees/.unfinished-1234"
    old.mkdir()
    os.utime(old, (NOW - 60, NOW - 60))
    assert removed(root, PLENTY) == set()
    lease.close()
    assert len(removed(root, PLENTY)) == 3
    assert there(root) == {name(ref), old.name}
    os.utime(old, (NOW - 2 * DAY, NOW - 2 * DAY))
    assert removed(root, PLENTY) == {old.name}


def test_other_things_in_the_store_are_left_alone(root: Path) -> None:
    filled(root, 1)
    for path in ("trees/mine", "blobs/mine", "mine", "trees-x/" + "a" * 64):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text("kept")
    outside = root.parent / "outside"
    outside.mkdir()
    (root / "trees" / ("b" * 64)).symlink_to(outside)
    removed(root, StoreLimits(0, 0))
    assert {"mine", "b" * 64} == there(root)
    assert (root / "blobs/mine").exists()
    assert (root / "mine").exists()
    assert (root / "trees-x" / ("a" * 64)).exists()
    assert outside.exists()


def test_blobs_and_notes_are_evicted_when_nobody_used_them(root: Path) -> None:
    store = Store(root, HASHER)
    ref = store.add_blob(b"x" * 50_000)
    key = Digest("sha256:" + "a" * 64)
    store.note(key, TreeRef("assay-tree-v1", Digest("sha256:" + "b" * 64)))
    for kept in (*(root / "blobs").iterdir(), *(root / "notes").iterdir()):
        os.utime(kept, (NOW - 31 * DAY, NOW - 31 * DAY))
    assert store.blob(ref) is not None
    os.utime(root / "blobs" / ref.digest.removeprefix("sha256:"), (NOW, NOW))
    assert removed(root, PLENTY) == {"a" * 64}
    assert store.noted(key) is None
    assert store.blob(ref) is not None
    assert removed(root, StoreLimits(size=1000)) == {ref.digest.removeprefix("sha256:")}
    assert store.blob(ref) is None
    store.close()


def test_a_folder_that_is_no_store_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "trees").mkdir()
    (tmp_path / "trees" / ("a" * 64)).mkdir()
    assert evict(tmp_path, StoreLimits(0, 0)) == ()
    assert evict(tmp_path / "absent", StoreLimits(0, 0)) == ()
    assert (tmp_path / "trees" / ("a" * 64)).exists()


def test_turns_exclude_one_another(root: Path) -> None:
    filled(root, 1)
    code = "import sys; from pathlib import Path; from assay.leases import locked\n"
    code += "with locked(Path(sys.argv[1])): print('in', flush=True)"
    with locked(root, exclusive=True):
        other = subprocess.Popen(
            [sys.executable, "-c", code, str(root)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        os.set_blocking(other.stdout.fileno(), False)  # type: ignore[union-attr]
        assert other.poll() is None
    with other:
        os.set_blocking(other.stdout.fileno(), True)  # type: ignore[union-attr]
        assert other.stdout is not None
        assert other.stdout.read() == b"in\n"


@pytest.mark.parametrize(
    ("size", "days", "limits"),
    [
        ("", "", StoreLimits()),
        ("5G", "7", StoreLimits(5 * 1024**3, 7 * DAY)),
        ("1000", "0", StoreLimits(1000, 0)),
    ],
)
def test_limits_come_from_the_environment(
    size: str, days: str, limits: StoreLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_STORE_SIZE", size)
    monkeypatch.setenv("ASSAY_STORE_DAYS", days)
    assert store_limits() == limits


@pytest.mark.parametrize(
    ("name", "value"),
    [("SIZE", "5 G"), ("SIZE", "-1"), ("SIZE", "G"), ("DAYS", "1.5"), ("DAYS", "²"), ("DAYS", "x")],
)
def test_limits_that_are_none_are_refused(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"ASSAY_STORE_{name}", value)
    with pytest.raises(UsageError, match=name):
        store_limits()


def test_lower_trees_are_evicted_like_others(root: Path) -> None:
    source = make(root.parent / "source", {"f": File(b"1")})
    manifest = manifest_of(source)
    store = Store(root, HASHER)
    with opened(open_root(source)) as fd:
        store.add_tree(fd, manifest)
    lower = Path(store.lower(manifest))
    kept = evict(root, StoreLimits(age=0.0), now=NOW * 2)
    assert {item.name.partition("/")[0] for item in kept if item.kind == "tree"} == {
        "trees",
        "lowers",
    }
    assert lower.is_dir()
    store.close()
    evict(root, StoreLimits(age=0.0), now=NOW * 2)
    assert not lower.exists()
    again = Store(root, HASHER)
    with pytest.raises(CopyFailed, match="not in the store"):
        again.lower(manifest)
    again.close()


def test_a_note_of_use_goes_with_the_next_eviction_where_its_tree_is_gone(root: Path) -> None:
    """Somebody was killed after a tree was put out of reach and before its note was dropped."""
    (kept,) = filled(root, 1)
    note = root / "used" / f"trees.{'0' * 64}"
    note.write_bytes(b"1\n")
    assert removed(root, PLENTY) == set()
    assert os.listdir(root / "used") == [used(root, kept).name]

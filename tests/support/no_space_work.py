"""Running out of everything, at every step: bytes, inodes and descriptors.

Each function runs in a process of its own, in a mount namespace of its own, so that small file
systems are gone with it.
"""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.trees import HASHER, File, digest_of, make, manifest_of

from assay.api import CopyFailed, Edits, FileWrite, NoSpace, RelPath, Task, Unavailable
from assay.api.files import open_root, opened
from assay.benchmark import BenchmarkTask
from assay.builtin.copier import CopyCopier
from assay.fixtures import with_fixture_copy
from assay.store import Store

TREE = {
    "a.py": File(b"original"),
    "big": File(b"x" * 1_000_000),
    "d": {f"{number}": File(b"%d" % number * 100) for number in range(12)},
    "e": {"f": {"g": File(b"deep", executable=True)}},
}
SIZE = "size=4m"


def _task(folder: Path) -> BenchmarkTask:
    source = make(folder / "source", TREE)
    named = Task(id="task-1", category="c", prompt="p", fixture=RelPath("fixture"))
    return BenchmarkTask(named, "suite", str(source))


@contextmanager
def _disk(folder: Path, options: str) -> Iterator[Path]:
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _small_disks(folder: Path) -> Iterator[Path]:
    """4 MiB with a few inodes more each time, then with a few blocks more each time."""
    for inodes in range(1, 40, 2):
        with _disk(folder / "disk", f"{SIZE},nr_inodes={inodes}") as disk:
            yield disk
    for kib in (*range(0, 80, 8), *range(900, 1200, 40)):
        with _disk(folder / "disk", SIZE) as disk:
            (disk / "full").write_bytes(b"\0" * ((4096 - kib) * 1024))
            yield disk


def _left(disk: Path) -> list[str]:
    return sorted(set(os.listdir(disk)) - {"full"})


def copies(folder: Path) -> None:
    """An operation starts on a whole copy or not at all, and nothing is left."""
    task = _task(folder)
    before = digest_of(Path(task.fixture))
    seen: set[bool] = set()
    for disk in _small_disks(folder):
        seen.add(_copied(task, disk, before))
    assert seen == {True, False}
    print("copies")


def _copied(task: BenchmarkTask, disk: Path, before: str) -> bool:
    tempfile.tempdir = str(disk)
    started: list[str] = []
    try:
        with_fixture_copy(task, lambda copy: started.append(digest_of(copy)))
    except NoSpace:
        assert started == []
    else:
        assert started == [before]
    assert _left(disk) == []
    return bool(started)


def edits(folder: Path) -> None:
    """Edits are made as a set, or none of them, or the workspace is of no more use."""
    source = make(folder / "source", {"a": File(b"1"), "d": {"b": File(b"2")}})
    manifest = manifest_of(source)
    wanted = Edits(
        {RelPath(f"new/{number}"): FileWrite(b"x" * 3000) for number in range(9)}, (RelPath("d"),)
    )
    copier, ended = CopyCopier(), set()
    prepared = copier.prepare(str(source), manifest, None)
    for disk in _small_disks(folder):
        try:
            workspace = copier.open(prepared, str(disk), hasher=HASHER)
        except NoSpace:
            assert _left(disk) == []
            continue
        with workspace:
            try:
                workspace.put(wanted)
                ended.add("put")
            except NoSpace:
                ended.add(_after_a_failed_put(workspace, manifest))
        assert _left(disk) == []
    assert {"put", "unchanged"} <= ended
    print("edits")


def _after_a_failed_put(workspace: object, manifest: object) -> str:
    try:
        frozen = workspace.freeze(HASHER)  # type: ignore[attr-defined]
    except CopyFailed:
        return "unusable"
    assert frozen.change_set.result == manifest.ref  # type: ignore[attr-defined]
    return "unchanged"


def stores(folder: Path) -> None:
    """A store holds the whole tree or none of it, and is none where there is no room."""
    source = make(folder / "source", TREE)
    manifest = manifest_of(source)
    seen = set()
    for disk in _small_disks(folder):
        try:
            store = Store(disk / "store", HASHER)
        except Unavailable:
            seen.add("no store")
            continue
        try:
            with opened(open_root(source)) as root:
                store.add_tree(root, manifest)
            seen.add("stored")
        except NoSpace:
            seen.add("no room")
        trees = os.listdir(disk / "store/trees")
        assert trees in ([], [manifest.ref.digest.removeprefix("sha256:")])
        if trees:
            assert digest_of(disk / "store/trees" / trees[0]) == manifest.ref.digest
        store.close()
    assert {"stored", "no room", "no store"} == seen
    print("stores")


def descriptors(folder: Path) -> None:
    """With a descriptor more each time, until there are enough."""
    task, scratch = _task(folder), folder / "scratch"
    scratch.mkdir()
    tempfile.tempdir = str(scratch)
    assert _started(task)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd")) - 1
    for more in range(40):
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + more, hard))
        try:
            done = _started(task)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        assert _left(scratch) == []
        if done:
            assert more > 4
            print("descriptors")
            return
    raise AssertionError("there were never enough descriptors")


def _started(task: BenchmarkTask) -> bool:
    started: list[Path] = []
    try:
        with_fixture_copy(task, started.append)
    except NoSpace:
        # The source is looked at once more after the operation, which needs some too.
        return False
    return bool(started)

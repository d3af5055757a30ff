"""Many processes with one store: adding, using, evicting and dying at any moment."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from support.trees import HASHER, File, make, manifest_of

from assay.eviction import StoreLimits, evict
from assay.leftovers import Fate
from assay.store import Store

WORK = """
import random, sys
from pathlib import Path
from assay.api.files import open_root, opened
from assay.builtin.hasher import TreeHasher
from assay.eviction import StoreLimits, evict
from assay.store import Store
from assay.tree import tree_manifest
root, seed, *sources = sys.argv[1:]
hasher, chance = TreeHasher(), random.Random(int(seed))
print("ready", flush=True)
for turn in range(25 if int(seed) >= 0 else 1_000_000):
    store = Store(Path(root), hasher)
    for source in chance.sample(sources, 2):
        manifest = tree_manifest(source, hasher)
        with opened(open_root(source)) as fd:
            store.add_tree(fd, manifest)
        if chance.random() < 0.5:
            evict(Path(root), StoreLimits(0, 0))
        path = store.tree(manifest.ref)
        assert path is not None, "what was just added is gone"
        evict(Path(root), StoreLimits(0, 0))
        assert tree_manifest(path, hasher) == manifest, "a tree in use was changed"
    store.close()
print("done", flush=True)
"""


def start(root: Path, seed: int, sources: list[Path]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", WORK, str(root), str(seed), *map(str, sources)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def some_sources(tmp_path: Path) -> list[Path]:
    return [
        make(tmp_path / f"source-{number}", {"d": {f"{n}": File(b"%d" % number) for n in range(9)}})
        for number in range(3)
    ]


def test_what_is_in_use_is_never_evicted_by_anybody(tmp_path: Path) -> None:
    root, sources = tmp_path / "store", some_sources(tmp_path)
    with ExitStack() as stack:
        workers = [stack.enter_context(start(root, seed, sources)) for seed in range(3)]
        for worker in workers:
            assert worker.communicate()[0] == b"ready\ndone\n"
    evict(root, StoreLimits(0, 0))
    assert os.listdir(root / "trees") == os.listdir(root / "leases") == []


def test_what_killed_processes_left_is_never_used_and_can_be_removed(tmp_path: Path) -> None:
    root, sources = tmp_path / "store", some_sources(tmp_path)
    chance = random.Random(7)
    with ExitStack() as stack:
        for seed in range(-6, 0):
            worker = stack.enter_context(start(root, seed, sources))
            assert worker.stdout is not None
            assert worker.stdout.readline() == b"ready\n"
            # Until a tree was there once, then after as many looks as chance has it.
            for _ in range(chance.randrange(1, 2000)):
                next(iter(root.glob("trees/*")), None)
            worker.send_signal(signal.SIGKILL)
            worker.wait()
            store = Store(root, HASHER)
            for source in sources:
                path = store.tree(manifest_of(source).ref)
                assert path is None or manifest_of(Path(path)) == manifest_of(source)
            store.close()
    told = evict(root, StoreLimits(0, 0))
    assert {item.fate for item in told} <= {Fate.REMOVED}
    for folder in ("trees", "leases", "used"):
        assert os.listdir(root / folder) == []

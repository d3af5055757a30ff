"""What is killed at each step: storing a tree, and a workspace from its beginning to its end."""

from __future__ import annotations

import os
from pathlib import Path

from support.killed import kill_at_each_step
from support.leftovers import written
from support.trees import HASHER, File, make, manifest_of

from assay.api import Edits, FileWrite, RelPath
from assay.api.files import open_root, opened
from assay.api.folders import MARKER
from assay.builtin.copier import CopyCopier
from assay.eviction import StoreLimits, evict
from assay.leftovers import DAY, Fate, sweep
from assay.store import Store

TREE = {"d": {"f": File(b"1"), "x": File(b"2", executable=True)}, "e": {}}


def store_a_tree(folder: Path) -> None:
    """A store holds all of a tree or nothing of it, whenever its process dies."""
    source = make(folder / "source", TREE)
    manifest = manifest_of(source)

    def action(place: Path) -> None:
        store = Store(place / "store", HASHER)
        with opened(open_root(source)) as root:
            store.add_tree(root, manifest)
        store.add_blob(b"blob")
        store.note(manifest.ref.digest, manifest.ref)
        store.close()

    def check(place: Path, ended: bool) -> None:
        store = Store(place / "store", HASHER)
        path = store.tree(manifest.ref)
        assert path is not None or not ended
        assert path is None or manifest_of(Path(path)) == manifest
        assert store.noted(manifest.ref.digest) in (None, manifest.ref)
        with opened(open_root(source)) as root:
            store.add_tree(root, manifest)
        assert store.tree(manifest.ref) is not None
        store.close()
        told = evict(place / "store", StoreLimits(0, 0))
        assert {item.fate for item in told} == {Fate.REMOVED}
        for name in ("trees", "blobs", "leases", "used"):
            assert os.listdir(place / "store" / name) == [], name

    print(kill_at_each_step(action, check, folder))


def have_a_workspace(folder: Path) -> None:
    """What is left of a workspace is removed by a sweep, whenever its process dies."""
    source = make(folder / "source", TREE)
    manifest = manifest_of(source)

    def action(place: Path) -> None:
        copier = CopyCopier()
        prepared = copier.prepare(str(source), manifest, None)
        with copier.open(prepared, str(place), hasher=HASHER) as workspace:
            workspace.put(Edits({RelPath("d/f"): FileWrite(b"new")}, (RelPath("e"),)))
            workspace.freeze(HASHER)

    def check(place: Path, ended: bool) -> None:
        assert not ended or os.listdir(place) == []
        (*left,) = os.listdir(place)
        told = sweep([place])
        assert [item.name for item in told] == left
        # Before the marker is written there is nothing in the folder, and age decides.
        assert {item.fate for item in told} <= {Fate.REMOVED, Fate.YOUNG}
        for item in told:
            if item.fate is Fate.YOUNG:
                inside = os.listdir(place / item.name)
                assert not inside or (place / item.name / inside[0]).stat().st_size == 0
        os.utime(place / left[0], (0, 0)) if os.listdir(place) else None
        for marker in place.glob("*/assay-folder.json"):
            os.utime(marker, (0, 0))
            os.utime(marker.parent, (0, 0))
        sweep([place], older_than=DAY)
        assert os.listdir(place) == []
        assert manifest_of(source) == manifest

    print(kill_at_each_step(action, check, folder))


def clean_up(folder: Path) -> None:
    """A clean-up that was killed itself is finished by the next one."""
    source = make(folder / "source", TREE)
    manifest = manifest_of(source)
    name = "assay-ws-12345678"

    def prepared(place: Path) -> None:
        store = Store(place / "store", HASHER)
        with opened(open_root(source)) as root:
            store.add_tree(root, manifest)
        store.close()
        make(written(place, name), TREE)

    def action(place: Path) -> None:
        sweep([place])
        evict(place / "store", StoreLimits(0, 0))

    def check(place: Path, ended: bool) -> None:
        path = Store(place / "store", HASHER).tree(manifest.ref)
        assert path is None or (not ended and manifest_of(Path(path)) == manifest)
        if (place / name).exists():
            assert not ended
            # The marker is the last that goes, right before the empty folder.
            if not (place / name / MARKER).exists():
                assert os.listdir(place / name) == []
                os.utime(place / name, (0, 0))
        sweep([place])
        evict(place / "store", StoreLimits(0, 0))
        assert os.listdir(place) == ["store"]
        for kept in ("trees", "leases"):
            assert os.listdir(place / "store" / kept) == []

    print(kill_at_each_step(action, check, folder, prepared))

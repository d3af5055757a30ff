"""What every hasher must do: see what counts, refuse what can't be in a tree, within limits."""

from __future__ import annotations

import os
import socket
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from assay.api import (
    Entry,
    EntryKind,
    Hasher,
    InvalidInput,
    RefusedKind,
    RelPath,
    Scan,
    TreeLimit,
    TreeLimits,
    TreeManifest,
    TreeRefused,
)
from assay.api.digests import content_digest
from assay.api.files import open_root, opened

__all__ = ["HasherConformance", "folder"]


@contextmanager
def folder() -> Iterator[Path]:
    """An empty folder that goes away."""
    with tempfile.TemporaryDirectory(prefix="assay-conformance-") as name:
        (Path(name) / "tree").mkdir()
        yield Path(name) / "tree"


class HasherConformance(ABC):
    """Subclass it with a name that starts with `Test`, and give `hasher`."""

    @abstractmethod
    def hasher(self) -> Hasher:
        """The hasher under test."""

    def scan(self, tree: Path, limits: TreeLimits | None = None) -> Scan:
        """One pass with refusals collected; no descriptor is left open by it."""
        with opened(open_root(tree)) as root:
            before = len(os.listdir("/proc/self/fd"))
            try:
                return self.hasher().scan(root, limits=limits or TreeLimits(), collect_refused=True)
            finally:
                assert len(os.listdir("/proc/self/fd")) <= before

    def manifest(self, tree: Path) -> TreeManifest:
        """The manifest of a tree in which nothing is refused."""
        found = self.scan(tree).manifest
        assert found is not None
        return found

    def test_the_contract_has_a_name_of_its_own(self) -> None:
        with folder() as tree:
            ref = self.manifest(tree).ref
        assert ref.contract == self.hasher().contract
        name, _, digits = ref.digest.partition(":")
        assert name.isalnum()
        assert len(digits) == 64

    def test_what_counts_changes_the_digest(self) -> None:
        with folder() as tree:
            seen = {self.manifest(tree).ref.digest}
            (tree / "a").write_bytes(b"1")
            seen.add(self.manifest(tree).ref.digest)
            (tree / "a").chmod(0o755)
            seen.add(self.manifest(tree).ref.digest)
            (tree / "a").rename(tree / "b")
            seen.add(self.manifest(tree).ref.digest)
            (tree / "b").write_bytes(b"2")
            seen.add(self.manifest(tree).ref.digest)
            (tree / "d").mkdir()
            seen.add(self.manifest(tree).ref.digest)
            (tree / "b").rename(tree / "d/b")
            seen.add(self.manifest(tree).ref.digest)
            assert len(seen) == 7

    def test_what_does_not_count_leaves_the_digest(self) -> None:
        with folder() as tree:
            (tree / "d").mkdir()
            (tree / "d/f").write_bytes(b"1")
            before = self.manifest(tree)
            (tree / "d/f").chmod(0o640)
            (tree / "d").chmod(0o700)
            os.utime(tree / "d/f", (0, 0))
            for name in (".git", "__pycache__", "d/node_modules"):
                (tree / name).mkdir()
                (tree / name / "x").write_bytes(b"x")
            (tree / "build").write_bytes(b"x")
            found = self.scan(tree)
            assert found.manifest == before
            assert found.ignored == (".git", "__pycache__", "build", "d/node_modules")

    def test_entries_are_complete_and_in_order(self) -> None:
        with folder() as tree:
            content = content_digest(self.hasher())
            for name in ("a/b", "a-b", "é"):
                (tree / name).mkdir(parents=True)
            files = {"a/b/f": b"1", "a-b/g": b"x" * 3_000_000, "😀": b"", "a.b": b"\0"}
            for name, written in files.items():
                (tree / name).write_bytes(written)
            manifest = self.manifest(tree)
            paths = [entry.path for entry in manifest.entries]
            assert paths == ["a", "a-b", "a-b/g", "a.b", "a/b", "a/b/f", "é", "😀"]
            assert (manifest.files, manifest.bytes) == (4, 3_000_002)
            for entry in manifest.entries:
                if entry.kind is EntryKind.FILE:
                    assert entry.digest == content.of(files[entry.path])
                    assert entry.size == len(files[entry.path])
            assert {stat.path for stat in self.scan(tree).witness} <= set(files)

    def test_manifests_are_pure(self) -> None:
        with folder() as tree:
            (tree / "d/e").mkdir(parents=True)
            (tree / "d/f").write_bytes(b"1")
            manifest = self.manifest(tree)
        assert self.hasher().manifest(reversed(manifest.entries)) == manifest

    def test_entries_that_no_tree_holds_are_refused(self) -> None:
        pytest = _pytest()
        directory = Entry(RelPath("d"), EntryKind.DIR)
        for entries in (
            [directory, directory],
            [Entry(RelPath("x/y"), EntryKind.DIR)],
            [Entry(RelPath("../x"), EntryKind.DIR)],
            [Entry(RelPath("f"), EntryKind.FILE)],
            [directory, Entry(RelPath("D"), EntryKind.DIR)],
        ):
            with pytest.raises(InvalidInput):
                self.hasher().manifest(entries)

    def test_what_can_not_be_in_a_tree_is_refused_by_path_and_kind(self) -> None:
        pytest = _pytest()
        with folder() as tree:
            (tree / "d").mkdir()
            os.mkfifo(tree / "d/fifo")
            (tree / "gone").symlink_to("nowhere")
            (tree / "loop").symlink_to(".")
            (tree / "one").write_bytes(b"1")
            os.link(tree / "one", tree / "two")
            (tree / "special").write_bytes(b"1")
            (tree / "special").chmod(0o4755)
            (tree / "back\\slash").write_bytes(b"1")
            (tree / os.fsdecode(b"caf\xe9")).write_bytes(b"1")
            for name in ("README", "readme"):
                (tree / name).write_bytes(b"1")
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(str(tree / "socket"))
            found = self.scan(tree)
            assert found.manifest is None
            assert [(item.path, item.kind) for item in found.refused] == [
                ("README", RefusedKind.COLLISION),
                ("back\\\\slash", RefusedKind.UNSAFE_NAME),
                ("caf\\xe9", RefusedKind.UNSAFE_NAME),
                ("d/fifo", RefusedKind.FIFO),
                ("gone", RefusedKind.SYMLINK),
                ("loop", RefusedKind.SYMLINK),
                ("one", RefusedKind.HARD_LINK),
                ("readme", RefusedKind.COLLISION),
                ("socket", RefusedKind.SOCKET),
                ("special", RefusedKind.SPECIAL_MODE),
                ("two", RefusedKind.HARD_LINK),
            ]
            with opened(open_root(tree)) as root, pytest.raises(TreeRefused) as error:
                self.hasher().scan(root)
            assert error.value.path == "README"

    def test_limits_hold(self) -> None:
        pytest = _pytest()
        with folder() as tree:
            (tree / "a/b").mkdir(parents=True)
            (tree / "a/b/f").write_bytes(b"12345")
            (tree / "g").write_bytes(b"12345")
            exact = TreeLimits(files=4, bytes=10, depth=3)
            assert self.scan(tree, exact).manifest == self.manifest(tree)
            for limits in (TreeLimits(files=3), TreeLimits(bytes=9), TreeLimits(depth=2)):
                with pytest.raises(TreeLimit):
                    self.scan(tree, limits)
            with (tree / "huge").open("wb") as stream:
                stream.truncate(2**43)
            with pytest.raises(TreeLimit):
                self.scan(tree)

    def test_deep_trees_end_in_an_error_not_in_recursion(self) -> None:
        pytest = _pytest()
        with folder() as tree:
            here = open_root(tree)
            for _ in range(300):
                os.mkdir("d", dir_fd=here)
                below = os.open("d", os.O_RDONLY, dir_fd=here)
                os.close(here)
                here = below
            os.close(here)
            with pytest.raises(TreeLimit):
                self.scan(tree)


def _pytest() -> ModuleType:
    import pytest

    return pytest

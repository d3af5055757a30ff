"""Each side of the measurements in `trees.py`: what is timed, and what is undone afterwards."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from attrs import frozen

from assay import with_fixture_copy
from assay.api import Edits, FileWrite, Workspace
from assay.api.copies import Layout, copy_tree
from assay.api.files import open_root, opened
from assay.plugins import Registry
from assay.store import Store
from assay.tree import tree_manifest

__all__ = ["ROWS", "Row", "Side", "Skipped", "Timed", "sides"]

PROCESSES = "ASSAY_TREE_PROCESSES"


class Skipped(Exception):
    """A side that can't be measured here; the text says why."""


class Timed(Protocol):
    """Something that can be measured."""

    def timed(self) -> float: ...


@frozen
class Side:
    """One side: `run` is timed and gives what `undo` takes; `before` comes first, untimed."""

    run: Callable[[], Any]
    undo: Callable[[Any], None] = lambda made: None
    before: Callable[[], None] = lambda: None

    def timed(self) -> float:
        """Seconds of one run."""
        self.before()
        started = time.perf_counter()
        made = self.run()
        taken = time.perf_counter() - started
        self.undo(made)
        return taken


@frozen
class Row:
    """One line: our side at most `target` times the peer's, or at most `limit` seconds."""

    tree: str
    ours: str
    peer: str
    target: float
    limit: float = 0.0
    reason: str = ""

    @property
    def goal(self) -> str:
        """The target as text."""
        return f"at most {self.target:.2f}" if self.peer else f"at most {self.limit * 1000:.0f} ms"


_FEW = (
    "of ten files, judging names and modes and making objects takes as long as reading them; the "
    "naive side judges nothing"
)
_CREATING = (
    "nearly all of it is making 7,000 files and directories, which the peer does in C and does not "
    "prove"
)
_MANY = (
    "judging, recording and joining 100,000 entries in Python takes about as long as reading them, "
    "and only a part of that is shared"
)
_FOLDERS = (
    "one directory for every two files: each is opened, judged and listed by itself, in Python"
)
_BUSY = "needs two idle processors: see the load below"

ROWS = (
    Row("micro", "hash", "os.walk, open, sha256", 0.40, reason=_FEW),
    Row("micro", "copy and digest", "shutil.copytree", 0.45, reason=_FEW),
    Row("micro", "with_fixture_copy, all in", "", 1.0, limit=0.003),
    Row("repository", "hash", "dirhash", 0.30, reason=_FOLDERS),
    Row("repository", "copy", "cp -a", 0.70, reason=_CREATING),
    Row("many", "hash, 2 processes", "git hash-object", 0.90, reason=_MANY),
    Row("many", "hash, 2 processes", "find, sort, sha256sum", 0.45, reason=_MANY),
    Row("many", "copy, 2 processes", "cp -a", 0.50, reason=_MANY),
    Row("many", "overlay workspace", "copy", 0.02),
    Row("many", "overlay change set after one edit", "hash", 0.01),
    Row("large", "hash", "dirhash", 0.55, reason=_BUSY),
    Row("large", "copy", "cp -a", 2.0, reason=_BUSY),
)


def sides(tree: Path, copies: Path) -> Mapping[str, Timed]:
    """Every side by its name; `copies` is an empty folder where they may make trees."""
    ours = _Ours(tree, copies)
    return {
        "hash": Side(lambda: ours.hash(1)),
        "hash, 2 processes": Side(lambda: ours.hash(2)),
        "copy and digest": Side(ours.bare_copy, shutil.rmtree),
        "copy": Side(lambda: ours.copy("copy", 1), Workspace.close),
        "copy, 2 processes": Side(lambda: ours.copy("copy", 2), Workspace.close),
        "overlay workspace": Side(
            lambda: ours.copy("overlay", 1), Workspace.close, lambda: ours.ready("overlay")
        ),
        "overlay change set after one edit": _Edited(ours),
        "with_fixture_copy, all in": Side(lambda: with_fixture_copy(ours, os.listdir)),
        "os.walk, open, sha256": Side(lambda: _naive(tree)),
        "dirhash": Side(lambda: _run([_beside_python("dirhash"), str(tree), "-a", "sha256"], tree)),
        "git hash-object": Side(
            lambda: _piped([["find", ".", "-type", "f"], ["git", *_HASH_OBJECT]], tree)
        ),
        "find, sort, sha256sum": Side(lambda: _piped(_SHA256SUM, tree)),
        "shutil.copytree": Side(lambda: shutil.copytree(tree, copies / "copied"), shutil.rmtree),
        "cp -a": Side(lambda: _cp(tree, copies / "copied"), shutil.rmtree),
    }


class _Ours:
    """Our own sides; also the task that `with_fixture_copy` wants."""

    def __init__(self, tree: Path, copies: Path) -> None:
        self._registry = Registry()
        self._hasher = self._registry.make("assay.hashers", "assay-tree-v1")
        self._tree = tree
        self._copies = copies
        # Where `with_fixture_copy` makes its copies too.
        tempfile.tempdir = str(copies)
        self._manifest = tree_manifest(tree, self._hasher)
        self._root = open_root(tree)
        self._ready: dict[str, tuple[Any, Any]] = {}
        self.fixture = str(tree)
        self.task = self
        self.id = "measured"

    def hash(self, processes: int) -> None:
        os.environ[PROCESSES] = str(processes)
        if self._hasher.scan(self._root).manifest != self._manifest:
            raise AssertionError("the tree is another one")

    def bare_copy(self) -> Path:
        os.environ[PROCESSES] = "1"
        target = self._copies / "copied"
        target.mkdir()
        with opened(open_root(target)) as fd:
            copy_tree(self._root, fd, self._manifest.entries, Layout(0o755, 0o644, 0o755))
        return target

    def copy(self, name: str, processes: int) -> Any:
        os.environ[PROCESSES] = str(processes)
        copier, prepared = self._prepared(name)
        return copier.open(prepared, str(self._copies), hasher=self._hasher)

    def frozen(self, workspace: Any) -> None:
        if len(workspace.freeze(self._hasher).change_set.changes) != 1:
            raise AssertionError("one edit is one change")

    def an_edit(self) -> Edits:
        # In the middle, since all records that follow are digested again.
        files = [entry.path for entry in self._manifest.entries if entry.size]
        return Edits({files[len(files) // 2]: FileWrite(b"changed")})

    def _prepared(self, name: str) -> tuple[Any, Any]:
        """A copier and the tree made ready for it, once; only `overlay` needs a store."""
        if name not in self._ready:
            copier = self._registry.make("assay.copiers", name)
            support = copier.supports(str(self._copies))
            if not support.ok:
                raise Skipped(support.reason)
            store = None
            if not copier.host_visible:
                store = Store(self._copies.with_name("store"), self._hasher)
            self._ready[name] = (copier, copier.prepare(self.fixture, self._manifest, store))
        return self._ready[name]

    def ready(self, name: str) -> None:
        """Prepare a tree for a copier, outside what is timed."""
        self._prepared(name)


@frozen
class _Edited:
    """The change set of a workspace with one edit; making and editing it is not timed."""

    ours: _Ours

    def timed(self) -> float:
        """Seconds of one run."""
        with self.ours.copy("overlay", 1) as workspace:
            workspace.put(self.ours.an_edit())
            started = time.perf_counter()
            self.ours.frozen(workspace)
            return time.perf_counter() - started


def _naive(tree: Path) -> str:
    """What one writes first: the same facts of each file, by path, and one digest of them all."""
    found = []
    for folder, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(folder, name)
            info = os.stat(path)
            with open(path, "rb") as stream:
                digest = hashlib.sha256(stream.read()).hexdigest()
            executable = bool(info.st_mode & 0o100)
            found.append((os.path.relpath(path, tree), executable, info.st_size, digest))
    return hashlib.sha256(repr(sorted(found)).encode()).hexdigest()


_HASH_OBJECT = ("hash-object", "--stdin-paths")
_SHA256SUM = (
    ("find", ".", "-type", "f", "-print0"),
    ("sort", "-z"),
    ("xargs", "-0", "sha256sum"),
    ("sha256sum",),
)


def _cp(tree: Path, target: Path) -> Path:
    _run(["cp", "-a", str(tree), str(target)], tree)
    return target


def _beside_python(name: str) -> str:
    found = shutil.which(name, path=os.path.dirname(sys.executable))
    if found is None:
        raise Skipped(f"{name} is not installed")
    return found


def _run(command: list[str], folder: Path) -> None:
    if shutil.which(command[0]) is None:
        raise Skipped(f"{command[0]} is not installed")
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def _piped(commands: Sequence[Sequence[str]], folder: Path) -> None:
    """Run commands with each one's output as the next one's input."""
    started: list[subprocess.Popen[bytes]] = []
    for command in commands:
        if shutil.which(command[0]) is None:
            raise Skipped(f"{command[0]} is not installed")
    for number, command in enumerate(commands):
        source = started[-1].stdout if started else subprocess.DEVNULL
        last = number == len(commands) - 1
        sink = subprocess.DEVNULL if last else subprocess.PIPE
        started.append(subprocess.Popen(command, cwd=folder, stdin=source, stdout=sink))
    for process in started:
        if process.stdout is not None:
            process.stdout.close()
        if process.wait():
            raise Skipped("a command of the peer failed")

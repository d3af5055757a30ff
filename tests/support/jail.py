"""Real jails for tests: one runtime a test process, in a store of its own."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from assay.api import Command, JailSpec, Limits, Mount, MountKind, Profile, Runtime
from assay.builtin.hasher import TreeHasher
from assay.store import Store
from assay_sandbox.inits import InitKind
from assay_sandbox.sandbox import NsjailSandbox
from assay_sandbox.session import JailSession

PYTHON = b"/runtime/venv/bin/python"
LIMITS = Limits(wall=20.0)


def sandbox(init: InitKind = InitKind.COMPILED) -> NsjailSandbox:
    """The sandbox; without one there is nothing to test, which fails and names the fix."""
    found = NsjailSandbox(init)
    capabilities = found.capabilities()
    assert capabilities.available, f"{capabilities.layer}; fix: {capabilities.fix}"
    return found


@functools.cache
def store() -> Store:
    """The store of `ASSAY_TEST_STORE`, or one that is removed when the test process ends."""
    shared = os.environ.get("ASSAY_TEST_STORE")
    root = Path(shared) if shared else _own_root()
    return Store(root, TreeHasher(), sandbox().capabilities().ids)


@functools.cache
def _own_root() -> Path:
    root = Path(tempfile.mkdtemp(prefix="assay-test-store-"))
    atexit.register(_remove, root, os.getpid())
    return root


def forget_store() -> None:
    """Remove this process's own store, if it made one, before the process has to hurry."""
    if _own_root.cache_info().currsize:
        root = _own_root()
        for made in (_own_root, store, runtime):
            made.cache_clear()
        atexit.unregister(_remove)
        remove_store(root)


def _remove(root: Path, owner: int) -> None:
    if os.getpid() == owner:
        remove_store(root)


def remove_store(root: Path) -> None:
    """Remove a store, whose folders are read-only."""
    for place, folders, _ in os.walk(root):
        for folder in folders:
            Path(place, folder).chmod(0o700)
    shutil.rmtree(root)


@functools.cache
def runtime() -> Runtime:
    """The default runtime."""
    return sandbox().runtime({}, store(), TreeHasher())


def spec(**changes: Any) -> JailSpec:
    """A jail for visible tests, changed as asked."""
    return attrs.evolve(JailSpec(Profile.VISIBLE, runtime(), limits=LIMITS), **changes)


@contextmanager
def session(init: InitKind = InitKind.COMPILED, **changes: Any) -> Iterator[JailSession]:
    """A live jail."""
    with sandbox(init).open(spec(**changes)) as live:
        yield live


def python(source: str, **changes: Any) -> Command:
    """Run Python source inside; it is given as standard input, so it may have several lines."""
    return Command((PYTHON, b"-"), stdin=source.encode(), **changes)


def shell(line: str, **changes: Any) -> Command:
    """Run one line of shell inside."""
    return Command((b"/bin/sh", b"-c", line.encode()), **changes)


def limits(**changes: Any) -> Limits:
    """Limits of one command."""
    return attrs.evolve(LIMITS, **changes)


@contextmanager
def workspace(fill: Callable[[Path], None] = lambda root: None) -> Iterator[Mount]:
    """A writable folder that belongs to the jail's user, mounted at /workspace."""
    ids = sandbox().capabilities().ids
    assert ids is not None
    root = Path(tempfile.mkdtemp(prefix="assay-test-workspace-"))
    try:
        fill(root)
        for path in (root, *root.rglob("*")):
            os.chown(path, ids.uid, ids.gid)
        yield Mount("/workspace", MountKind.TREE, source=str(root), writable=True)
    finally:
        shutil.rmtree(root)

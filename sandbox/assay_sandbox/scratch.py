"""A folder of ours while a runtime is prepared, and the way from it into the store."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from assay.api import Hasher, RuntimeUnavailable, Store, TreeRef
from assay.api.folders import temporary_folder

__all__ = ["scratch", "store_folder"]


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A new folder that is removed at the end."""
    with temporary_folder("runtime") as folder:
        root = folder / "content"
        root.mkdir()
        yield root


def store_folder(folder: Path, store: Store, hasher: Hasher) -> TreeRef:
    """Keep a folder of ours as a tree; raises RuntimeUnavailable when it is none."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        manifest = hasher.scan(descriptor).manifest
        if manifest is None:
            raise RuntimeUnavailable("the runtime's files can't be stored as a tree")
        return store.add_tree(descriptor, manifest)
    finally:
        os.close(descriptor)

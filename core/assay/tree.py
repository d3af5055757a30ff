"""Trees by folder: what the framework itself asks of a hasher."""

from __future__ import annotations

from pathlib import Path

from assay.api import (
    Hasher,
    InvalidInput,
    NoSpace,
    Scan,
    TreeLimit,
    TreeLimits,
    TreeManifest,
    TreeRef,
    TreeRefused,
)
from assay.api.files import copy_fault, open_root, opened

__all__ = ["scan_folder", "tree_manifest", "tree_ref", "whole_tree"]

_LIMITS = TreeLimits()


def scan_folder(
    folder: str | Path,
    hasher: Hasher,
    *,
    limits: TreeLimits = _LIMITS,
    collect_refused: bool = False,
) -> Scan:
    """Scan a folder of this host; raises what `Hasher.scan` raises.

    Raises InvalidInput when the folder is absent, a link, or can't be opened.
    """
    try:
        root = open_root(folder)
    except OSError as error:
        if isinstance(fault := copy_fault(error, "tree can't be opened"), NoSpace):
            raise fault from None
        raise InvalidInput("tree: the folder is absent, a link or unreadable") from None
    with opened(root):
        return hasher.scan(root, limits=limits, collect_refused=collect_refused)


def tree_manifest(
    folder: str | Path, hasher: Hasher, *, limits: TreeLimits = _LIMITS
) -> TreeManifest:
    """Manifest of a folder that must hold nothing refused; raises TreeRefused otherwise."""
    scan = scan_folder(folder, hasher, limits=limits)
    if scan.manifest is None:
        raise InvalidInput("tree: the hasher refused an entry without naming it")
    return scan.manifest


def tree_ref(folder: str | Path, hasher: Hasher, shown: str = "") -> TreeRef:
    """Digest of a folder; raises what `tree_manifest` raises.

    `shown` is put before the path of what was refused, so that the folder is known.
    """
    try:
        return tree_manifest(folder, hasher).ref
    except TreeRefused as error:
        raise TreeRefused(shown + error.path, error.kind) from None
    except TreeLimit as error:
        raise TreeLimit(f"{shown}: {error}" if shown else str(error)) from None
    except InvalidInput as error:
        raise InvalidInput(f"{shown}: {error}" if shown else str(error)) from None


def whole_tree(folder: str | Path, hasher: Hasher, shown: str) -> TreeManifest:
    """Manifest of a folder of which nothing may be left out; raises what `tree_ref` raises.

    A package cache without the folders that the tree contract ignores would be another one. Only
    bytecode, which appears without anybody's will, is left out.
    """
    scan = scan_folder(folder, hasher)
    for path in scan.ignored:
        if "__pycache__" not in path.split("/"):
            raise TreeRefused(f"{shown}/{path}", "an entry that the tree contract ignores")
    return tree_manifest(folder, hasher)

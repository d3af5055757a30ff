"""What a candidate changed, as guarded runs need it: code to restore, and everything else."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Iterator

from attrs import frozen

from assay.api import Change, EntryKind, GradeContext, Op, RelPath

__all__ = ["ChangedCode", "changed_code", "code_paths", "files_of", "module_files"]

MAX_SOURCE_BYTES = 4 * 1024**2
_MAX_ORIGINALS = 8 * 1024**2
"""Bytes as JSON; the private channel takes frames of twice as many."""


@frozen
class ChangedCode:
    """`originals` are the fixture's texts of changed code by path, None for what was added.

    `data` are the other changed paths. `readable` is False when an original is no UTF-8 text, or
    when something is too large to be restored or made ready; then the originals are not there.
    """

    originals: dict[str, str | None]
    data: tuple[RelPath, ...]
    readable: bool


def changed_code(
    ctx: GradeContext, roots: tuple[str, ...], suffixes: tuple[str, ...], most: int | None = None
) -> ChangedCode:
    """The candidate's changes; raises GraderUnfit for an original of several megabytes.

    Files of the candidate above `most` bytes can't be made ready, which is no fault of the task.
    """
    originals: dict[str, str | None] = {}
    data: list[RelPath] = []
    readable = True
    for change in ctx.change_set.changes:
        if not _is_code(change, roots, suffixes):
            data.append(change.path)
        elif change.op is Op.ADDED or not _was_file(change):
            originals[change.path] = None
        elif change.op is not Op.MODE:
            content = ctx.fixture_file(change.path, MAX_SOURCE_BYTES)
            try:
                originals[change.path] = content.decode("utf-8")
            except UnicodeDecodeError:
                readable = False
    too_large = {e.path for e in ctx.tree.entries if most is not None and e.size > most}
    if not too_large.isdisjoint(originals):
        return ChangedCode({}, tuple(data), readable=False)
    if sum(len(json.dumps(text)) for text in originals.values()) > _MAX_ORIGINALS:
        return ChangedCode({}, tuple(data), readable=False)
    return ChangedCode(originals, tuple(data), readable)


def _is_code(change: Change, roots: tuple[str, ...], suffixes: tuple[str, ...]) -> bool:
    return change.path.endswith(suffixes) and any(_inside(change.path, roots))


def _was_file(change: Change) -> bool:
    return change.before is None or change.before.kind is EntryKind.FILE


def _inside(path: str, roots: tuple[str, ...]) -> Iterator[str]:
    for root in roots:
        if root == ".":
            yield path
        elif path.startswith(f"{root}/"):
            yield path[len(root) + 1 :]


def files_of(ctx: GradeContext) -> frozenset[RelPath]:
    """The files of the graded tree; a candidate may give a directory any name of a file."""
    return frozenset(e.path for e in ctx.tree.entries if e.kind is EntryKind.FILE)


def code_paths(
    ctx: GradeContext, roots: tuple[str, ...], suffixes: tuple[str, ...], tests: tuple[str, ...]
) -> tuple[RelPath, ...]:
    """Code below the roots that the fixture may have, but for what lies with the tests."""
    folders = {posixpath.dirname(test) for test in tests} - {"" if r == "." else r for r in roots}
    files = files_of(ctx) | {change.path for change in ctx.change_set.changes}
    return tuple(
        sorted(
            path
            for path in files
            if path.endswith(suffixes)
            and any(_inside(path, roots))
            and path not in tests
            and not any(path.startswith(f"{folder}/") for folder in folders if folder)
        )
    )


def module_files(paths: Iterable[str], roots: tuple[str, ...], base: str) -> dict[str, list[str]]:
    """Names of Python modules and the files below `base` that may be them."""
    found: dict[str, list[str]] = {}
    for path in sorted(paths):
        for inside in _inside(path, roots):
            name, suffix = posixpath.splitext(inside)
            parts = name.removesuffix("/__init__").split("/")
            if suffix in (".py", ".so") and parts != ["__init__"]:
                parts[-1] = parts[-1].partition(".")[0]
                found.setdefault(".".join(parts), []).append(f"{base}/{path}")
    return found

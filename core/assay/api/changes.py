"""Differences of trees, and what edits make of a tree: both pure, on manifests alone.

A tree is determined by its files and its empty directories. So a directory is a change of
its own only where it is empty, or where it takes or leaves the place of a file: a directory
that merely came or went with what is in it is not listed. Two trees are equal exactly when
they have no changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from assay.api.digests import ContentDigest, content_digest
from assay.api.errors import CandidateMalformed, TreeRefused
from assay.api.paths import is_ignored, parent, relpath
from assay.api.reasons import Reason
from assay.api.trees import (
    Change,
    ChangeSet,
    Edits,
    Entry,
    EntryKind,
    FileWrite,
    Op,
    Refused,
    RelPath,
    TreeManifest,
)
from assay.api.workspaces import Hasher

__all__ = ["ancestors", "check_edits", "compare", "edited_manifest"]


def compare(
    base: TreeManifest,
    result: TreeManifest | None,
    *,
    refused: Sequence[Refused] = (),
    ignored: Sequence[str] = (),
    binary: Callable[[RelPath], bool],
) -> ChangeSet:
    """Every difference of `result` from `base`, in path order.

    `result` is None when something was refused: then what changed is unknown, and `changes`
    is empty. `binary` is asked for each file that is new or has new content. A change of
    content and of the execute bit together is one MODIFIED.
    """
    changes = () if result is None else tuple(_changes(base, result, binary))
    return ChangeSet(
        base=base.ref,
        result=None if result is None else result.ref,
        changes=changes,
        refused=tuple(refused),
        ignored=tuple(ignored),
    )


def _changes(
    base: TreeManifest, result: TreeManifest, binary: Callable[[RelPath], bool]
) -> Iterator[Change]:
    before = {entry.path: entry for entry in base.entries}
    after = {entry.path: entry for entry in result.entries}
    held_before, held_after = _inhabited(before), _inhabited(after)
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        if old is None or new is None:
            inhabited = held_after if old is None else held_before
            if path in inhabited:
                continue
        op = _op(old, new)
        fresh = new is not None and new.kind is EntryKind.FILE and op is not Op.MODE
        yield Change(path, op, before=old, after=new, binary=fresh and binary(path))


def _op(old: Entry | None, new: Entry | None) -> Op:
    if old is None:
        return Op.ADDED
    if new is None:
        return Op.DELETED
    if old.kind is not new.kind:
        return Op.KIND
    return Op.MODE if (old.size, old.digest) == (new.size, new.digest) else Op.MODIFIED


def _inhabited(paths: Iterable[RelPath]) -> set[RelPath | None]:
    """Directories with something in them."""
    return {parent(path) for path in paths}


def ancestors(path: RelPath) -> Iterator[RelPath]:
    """The directories above a path, nearest first; the root is not one of them."""
    above = parent(path)
    while above is not None:
        yield above
        above = parent(above)


def check_edits(edits: Edits) -> None:
    """Raise for edits that no tree can satisfy; nothing has been written by then.

    Raises UnsafePath, or CandidateMalformed when a path is ignored by the tree contract or
    is to be both a file and a directory.
    """
    for path in (*edits.writes, *edits.deletes):
        relpath(path)
        if is_ignored(path):
            raise CandidateMalformed(
                "an ignored path can't be changed", Reason.IGNORED_PATH_CHANGED
            )
    for path in edits.writes:
        if any(above in edits.writes for above in ancestors(path)):
            raise CandidateMalformed("a path is to be both a file and a directory")


def edited_manifest(base: TreeManifest, edits: Edits, hasher: Hasher) -> TreeManifest:
    """The tree that `Workspace.put(edits)` makes of `base`, without touching a disk.

    In this order: `deletes` go, each with everything beneath it (an absent path is no
    error); `writes` are put in place, creating directories and replacing whatever stands in
    the way (a directory where the file goes, a file where a directory is needed); then a
    directory left empty by deletions goes too, as git has it. `executable` None keeps the
    bit of the file that `base` has at the path. Raises what `check_edits` raises, and
    CandidateMalformed for a case-fold or normalisation collision.
    """
    check_edits(edits)
    before = {entry.path: entry for entry in base.entries}
    deleted = frozenset(edits.deletes)
    replaced = frozenset(edits.writes)
    tree: dict[RelPath, Entry] = {}
    shrunk: set[RelPath] = set()
    for path, entry in before.items():
        above = tuple(ancestors(path))
        if path in deleted or not deleted.isdisjoint(above):
            shrunk.update(above)
        elif replaced.isdisjoint(above):
            tree[path] = entry
    for path, write in edits.writes.items():
        for directory in ancestors(path):
            tree[directory] = Entry(directory, EntryKind.DIR)
        tree[path] = _written(path, write, before.get(path), content_digest(hasher))
    _drop_emptied(tree, shrunk)
    try:
        return hasher.manifest(tree.values())
    except TreeRefused as error:
        raise CandidateMalformed(str(error), Reason.UNSAFE_PATH) from None


def _written(
    path: RelPath, write: FileWrite, before: Entry | None, content: ContentDigest
) -> Entry:
    executable = write.executable
    if executable is None:
        executable = before is not None and before.executable
    digest = content.of(write.content)
    return Entry(path, EntryKind.FILE, executable, len(write.content), digest)


def _drop_emptied(tree: dict[RelPath, Entry], shrunk: set[RelPath]) -> None:
    held = Counter(parent(path) for path in tree)
    for path in sorted(shrunk, reverse=True):
        entry = tree.get(path)
        if entry is not None and entry.kind is EntryKind.DIR and not held[path]:
            del tree[path]
            held[parent(path)] -= 1

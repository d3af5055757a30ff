"""Candidates as edits: what submitted files or a patch ask for, every path checked first.

Nothing is written here. What can't be named safely is a violation, what can't be read as
what it says it is raises CandidateMalformed, and everything else is an edit for the
boundary to judge.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Container, Iterable, Mapping, Set

from assay.api.changes import ancestors
from assay.api.errors import CandidateMalformed
from assay.api.paths import printable
from assay.api.reasons import Reason
from assay.api.tasks import Candidate, CandidateKind
from assay.api.trees import (
    Edits,
    Entry,
    EntryKind,
    FileWrite,
    RelPath,
    TreeLimits,
    TreeManifest,
    Violation,
)
from assay.patches import MAX_RESULT_BYTES, apply, checked_path, parse

__all__ = ["MAX_EDITS", "edits"]

TREE_LIMITS = TreeLimits()
MAX_EDITS = 20_000
"""Files and directories that one candidate may write, make or delete."""


def edits(candidate: Candidate, base: TreeManifest, read: Callable[[RelPath], bytes]) -> Edits:
    """The edits that a candidate of kind files or patch asks for, in path order.

    `read` gives the content of a file of `base`. Deletions happen before the writes and name
    files and empty directories, never a directory with something in it. Writes that change
    nothing are left out. Raises CandidateMalformed.
    """
    if candidate.malformed:
        raise CandidateMalformed(candidate.malformed)
    tree = _Base(base, read)
    if candidate.kind is CandidateKind.FILES:
        return _settled(_files(candidate, tree), tree, Reason.CANDIDATE_MALFORMED)
    if candidate.kind is CandidateKind.PATCH and candidate.patch is not None:
        asked = apply(parse(candidate.patch), tree.read, tree.executable)
        return _settled(asked, tree, Reason.PATCH_DOES_NOT_APPLY)
    raise CandidateMalformed("candidate holds neither files nor a patch")


class _Base:
    """The tree that is edited: entries by path, contents on demand."""

    def __init__(self, manifest: TreeManifest, read: Callable[[RelPath], bytes]) -> None:
        self.entries: Mapping[RelPath, Entry] = {entry.path: entry for entry in manifest.entries}
        self._read = read
        self._spellings = {_folded(path): path for path in self.entries}
        self._below: dict[RelPath, set[RelPath]] = {}
        for path in self.entries:
            for above in ancestors(path):
                self._below.setdefault(above, set()).add(path)

    def read(self, path: RelPath) -> bytes | None:
        """Content of a file, None where there is no file."""
        return self._read(path) if self.is_file(path) else None

    def executable(self, path: RelPath) -> bool:
        """Whether it is a file with the owner's execute bit."""
        return path in self.entries and self.entries[path].executable

    def is_file(self, path: RelPath) -> bool:
        """Whether the path is a file."""
        entry = self.entries.get(path)
        return entry is not None and entry.kind is EntryKind.FILE

    def is_folder(self, path: RelPath) -> bool:
        """Whether the path is a directory."""
        return path in self.entries and not self.is_file(path)

    def leaves(self, path: RelPath) -> Set[RelPath]:
        """Files and empty directories that make up what is at the path."""
        below = self._below.get(path, {path})
        return {found for found in below if found not in self._below}

    def spelling(self, path: RelPath) -> RelPath | None:
        """How the tree spells the path, whatever its case; None when it has none."""
        return self._spellings.get(_folded(path))

    def changes(self, path: RelPath, write: FileWrite) -> bool:
        """Whether a write would change content or execute bit."""
        entry = self.entries.get(path)
        if entry is None or entry.kind is not EntryKind.FILE:
            return True
        if write.executable is not None and write.executable != entry.executable:
            return True
        return entry.size != len(write.content) or self._read(path) != write.content


def _files(candidate: Candidate, tree: _Base) -> Edits:
    if not candidate.executables <= candidate.files.keys():
        raise CandidateMalformed("an executable is not among the submitted files")
    writes: dict[RelPath, FileWrite] = {}
    removed: set[RelPath] = set()
    violations: set[Violation] = set()
    for text, content in candidate.files.items():
        path = checked_path(text)
        if isinstance(path, Violation):
            violations.add(path)
        else:
            writes[path] = FileWrite(content, True if text in candidate.executables else None)
    for text in candidate.deletes:
        path = checked_path(text)
        if isinstance(path, Violation):
            violations.add(path)
        elif path in removed or (path in writes and tree.is_file(path)):
            raise CandidateMalformed(f"{printable(path)}: is named more than once")
        elif path not in tree.entries:
            raise CandidateMalformed(f"{printable(path)}: is deleted but does not exist")
        else:
            removed.add(path)
    return Edits(writes, tuple(removed), tuple(violations))


def _settled(asked: Edits, tree: _Base, unfit: Reason) -> Edits:
    violations = set(asked.violations) | _collisions(asked.writes, tree)
    refused = {violation.path for violation in violations}
    writes = {path: write for path, write in asked.writes.items() if printable(path) not in refused}
    removed = {leaf for path in asked.deletes for leaf in tree.leaves(path)}
    _check_size(writes, removed, tree)
    for path in writes:
        twofold = _twofold(path, writes, removed, tree)
        if twofold is not None:
            rule = f"{printable(twofold)}: would be both a file and a directory"
            raise CandidateMalformed(rule, unfit)
    return Edits(
        {path: writes[path] for path in _ordered(writes) if tree.changes(path, writes[path])},
        tuple(_ordered(removed - writes.keys())),
        tuple(sorted(violations, key=lambda found: (found.path.encode(), found.reason.value))),
    )


def _check_size(writes: Mapping[RelPath, FileWrite], removed: Set[RelPath], tree: _Base) -> None:
    """Refuse what is too much by itself, and what no tree may hold together with the base."""
    made = {above for path in writes for above in ancestors(path)} - tree.entries.keys()
    if len(writes) + len(made) + len(removed) > MAX_EDITS:
        raise CandidateMalformed(f"candidate changes more than {MAX_EDITS} paths")
    written = sum(len(write.content) for write in writes.values())
    if written > MAX_RESULT_BYTES:
        raise CandidateMalformed(f"candidate writes more than {MAX_RESULT_BYTES} bytes")
    entries = len(tree.entries.keys() - removed | writes.keys() | made)
    if entries > max(TREE_LIMITS.files, len(tree.entries)):
        raise CandidateMalformed(f"candidate makes a tree of more than {TREE_LIMITS.files} entries")
    kept = sum(
        entry.size
        for path, entry in tree.entries.items()
        if path not in removed and path not in writes
    )
    if kept + written > TREE_LIMITS.bytes:
        raise CandidateMalformed(f"candidate makes a tree of more than {TREE_LIMITS.bytes} bytes")


def _twofold(
    path: RelPath, writes: Container[RelPath], removed: Set[RelPath], tree: _Base
) -> RelPath | None:
    """The path that a write makes a file and a directory at once, if there is one."""
    for above in ancestors(path):
        if above in writes or (tree.is_file(above) and above not in removed):
            return above
    return path if tree.is_folder(path) and not removed >= tree.leaves(path) else None


def _collisions(writes: Iterable[RelPath], tree: _Base) -> set[Violation]:
    """Writes that would be one file with another on a host that folds case."""
    spellings: dict[str, RelPath] = {}
    found = set()
    for path in _ordered(writes):
        for prefix in (*reversed(tuple(ancestors(path))), path):
            spelled = tree.spelling(prefix) or spellings.setdefault(_folded(prefix), prefix)
            if spelled != prefix:
                found.add(Violation(printable(path), Reason.UNSAFE_PATH))
    return found


def _ordered(paths: Iterable[RelPath]) -> list[RelPath]:
    return sorted(paths, key=lambda path: path.encode())


def _folded(path: RelPath) -> str:
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", path).casefold())

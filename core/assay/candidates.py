"""Candidates as edits: what submitted files or a patch ask for, every path checked first.

Nothing is written here. What can't be named safely is a violation, what can't be read as
what it says it is raises CandidateMalformed, and everything else is an edit for the
boundary to judge.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping

from assay.api.errors import CandidateMalformed
from assay.api.paths import parent, printable
from assay.api.reasons import Reason
from assay.api.tasks import Candidate, CandidateKind
from assay.api.trees import Edits, Entry, EntryKind, FileWrite, RelPath, TreeManifest, Violation
from assay.patches import MAX_RESULT_BYTES, apply, checked_path, parse

__all__ = ["MAX_EDITS", "edits"]

MAX_EDITS = 20_000
"""Files and directories that one candidate may write or delete."""


def edits(candidate: Candidate, base: TreeManifest, read: Callable[[RelPath], bytes]) -> Edits:
    """The edits that a candidate of kind files or patch asks for, in path order.

    `read` gives the content of a file of `base`. Deletions name every entry that goes, the
    contents of a directory before it, and happen before the writes. Writes that change
    nothing are left out. Raises CandidateMalformed.
    """
    if candidate.malformed:
        raise CandidateMalformed(candidate.malformed)
    tree = _Base(base, read)
    if candidate.kind is CandidateKind.FILES:
        asked = _files(candidate, tree)
    elif candidate.kind is CandidateKind.PATCH and candidate.patch is not None:
        asked = _patch(candidate.patch, tree)
    else:
        raise CandidateMalformed("candidate holds neither files nor a patch")
    return _settled(asked, tree)


class _Base:
    """The tree that is edited: entries by path, contents on demand."""

    def __init__(self, manifest: TreeManifest, read: Callable[[RelPath], bytes]) -> None:
        self.entries: Mapping[RelPath, Entry] = {entry.path: entry for entry in manifest.entries}
        self._read = read
        self._spellings = {_folded(path): path for path in self.entries}
        self._below: dict[RelPath, list[RelPath]] = {}
        for path in self.entries:
            for above in _ancestors(path):
                self._below.setdefault(above, []).append(path)

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

    def below(self, path: RelPath) -> list[RelPath]:
        """Every entry beneath a directory."""
        return self._below.get(path, [])

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


def _patch(patch: bytes, tree: _Base) -> Edits:
    asked = apply(parse(patch), tree.read, tree.executable)
    return Edits(asked.writes, tuple(_with_emptied(asked, tree)), asked.violations)


def _with_emptied(asked: Edits, tree: _Base) -> set[RelPath]:
    """The deletions and the directories that they leave empty, which a patch can't name."""
    removed = set(asked.deletes)
    kept = {above for path in asked.writes for above in _ancestors(path)}
    above_removed = {above for path in removed for above in _ancestors(path)}
    for folder in sorted(above_removed, key=len, reverse=True):
        if folder not in kept and removed.issuperset(tree.below(folder)):
            removed.add(folder)
    return removed


def _settled(asked: Edits, tree: _Base) -> Edits:
    violations = set(asked.violations)
    violations.update(_collisions(asked.writes, tree))
    refused = {violation.path for violation in violations}
    writes = {path: write for path, write in asked.writes.items() if printable(path) not in refused}
    above = {folder for path in writes for folder in _ancestors(path)}
    removed = {path for path in _expanded(asked.deletes, tree) if path not in above}
    removed |= {path for path in above if path in asked.deletes and tree.is_file(path)}
    _check_shape(writes, removed, tree)
    if len(writes) + len(removed) > MAX_EDITS:
        raise CandidateMalformed(f"candidate changes more than {MAX_EDITS} paths")
    if sum(len(write.content) for write in writes.values()) > MAX_RESULT_BYTES:
        raise CandidateMalformed(f"candidate writes more than {MAX_RESULT_BYTES} bytes")
    changing = {path: writes[path] for path in _ordered(writes) if tree.changes(path, writes[path])}
    rewritten = {path for path in writes if tree.is_file(path)}
    return Edits(
        changing,
        tuple(reversed(_ordered(removed - rewritten))),
        tuple(sorted(violations, key=lambda found: (found.path.encode(), found.reason.value))),
    )


def _expanded(deletes: Iterable[RelPath], tree: _Base) -> set[RelPath]:
    found = set(deletes)
    for path in deletes:
        found.update(tree.below(path))
    return found


def _collisions(writes: Iterable[RelPath], tree: _Base) -> set[Violation]:
    """Writes that would be one file with another on a host that folds case."""
    spellings: dict[str, RelPath] = {}
    found = set()
    for path in _ordered(writes):
        for prefix in (*_ancestors(path), path):
            spelled = tree.spelling(prefix) or spellings.setdefault(_folded(prefix), prefix)
            if spelled != prefix:
                found.add(Violation(printable(path), Reason.UNSAFE_PATH))
    return found


def _check_shape(writes: Mapping[RelPath, FileWrite], removed: set[RelPath], tree: _Base) -> None:
    for path in writes:
        entry = tree.entries.get(path)
        for above in _ancestors(path):
            if above in writes or (tree.is_file(above) and above not in removed):
                raise CandidateMalformed(f"{printable(above)}: is both a file and a directory")
        is_folder = entry is not None and entry.kind is EntryKind.DIR
        if is_folder and not removed.issuperset({path, *tree.below(path)}):
            raise CandidateMalformed(f"{printable(path)}: is both a file and a directory")


def _ancestors(path: RelPath) -> list[RelPath]:
    found = []
    above = parent(path)
    while above is not None:
        found.append(above)
        above = parent(above)
    return found[::-1]


def _ordered(paths: Iterable[RelPath]) -> list[RelPath]:
    return sorted(paths, key=lambda path: path.encode())


def _folded(path: RelPath) -> str:
    return unicodedata.normalize("NFC", path.casefold())

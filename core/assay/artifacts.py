"""What a trial keeps beside its record: redacted, bounded, listed with what was left out.

Graders put bytes; a task's `artifacts` patterns name files of the graded tree to keep. Nothing
here enters a digest of results. A trial's bounds are its own, so that what is kept depends on
no other trial; a run's bound is shared out between its trials.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attrs import define, field, frozen

from assay.api import (
    ArtifactNote,
    AssayError,
    BlobRef,
    Digest,
    EntryKind,
    Frozen,
    LeftOut,
    RelPath,
    TreeLimit,
)
from assay.boundary import PathPattern
from assay.canonical import digest_bytes
from assay.ledger import ArtifactFolder
from assay.redaction import Redactor

__all__ = [
    "WORKSPACE",
    "ArtifactLimits",
    "GraderArtifacts",
    "ShownArtifacts",
    "TrialArtifacts",
    "export",
]

WORKSPACE = "workspace"
"""Stands before the path of a file of the graded tree, as a grader's id before its artifacts."""

_FILE, _TRIAL, _RUN = 16 * 1024**2, 64 * 1024**2, 4 * 1024**3


@frozen
class ArtifactLimits:
    """Bytes of one artifact and of all artifacts of a trial, and how many a trial may keep."""

    file: int = _FILE
    trial: int = _TRIAL
    count: int = 1000

    @classmethod
    def of_run(cls, trials: int, run: int = _RUN) -> ArtifactLimits:
        """The limits of each of so many trials, such that all keep at most `run` bytes."""
        room = min(_TRIAL, run // max(1, trials))
        return cls(file=min(_FILE, room), trial=room)


@define
class TrialArtifacts:
    """The artifacts of one trial, and what became of each that was offered."""

    folder: ArtifactFolder
    redactor: Redactor
    limits: ArtifactLimits
    _notes: dict[str, ArtifactNote] = field(factory=dict)
    _bytes: int = 0
    _count: int = 0

    def put(self, name: str, content: bytes) -> BlobRef:
        """Keep redacted text, or note why it is left out. Raises NoSpace, CopyFailed."""
        kept = content if is_binary(content) else self.redactor.content(content)
        ref = BlobRef(digest_bytes(kept), len(kept))
        left_out = self._refusal(kept)
        if left_out is None:
            self.folder.put(name, kept)
            self._bytes += len(kept)
            self._count += 1
        self.note(name, len(kept), ref.digest, left_out)
        return ref

    def note(
        self, name: str, size: int, digest: Digest | None, left_out: LeftOut | None = None
    ) -> None:
        """List an artifact; with `left_out`, one that is not kept."""
        self._notes[name] = ArtifactNote(name, size, digest, left_out)

    def notes(self) -> tuple[ArtifactNote, ...]:
        """All that was offered, in the order of names."""
        return tuple(self._notes[name] for name in sorted(self._notes))

    def kept(self, artifacts: Mapping[str, BlobRef]) -> dict[str, BlobRef]:
        """Those of a grader's artifacts that can be read again."""
        digests = {note.digest for note in self._notes.values() if note.left_out is None}
        return {name: ref for name, ref in artifacts.items() if ref.digest in digests}

    def _refusal(self, content: bytes) -> LeftOut | None:
        if len(content) > self.limits.file:
            return LeftOut.TOO_LARGE
        if is_binary(content):
            return LeftOut.BINARY
        if self._count >= self.limits.count:
            return LeftOut.TOO_MANY
        return LeftOut.NO_ROOM if self._bytes + len(content) > self.limits.trial else None


@frozen
class GraderArtifacts:
    """Implements `assay.api.Artifacts` for one grader of a trial."""

    trial: TrialArtifacts
    grader: str

    def put(self, name: str, content: bytes) -> BlobRef:
        """Keep it under the grader's id."""
        return self.trial.put(f"{self.grader}/{name}", content)


@frozen
class ShownArtifacts:
    """Artifacts of a run that anybody may have written, redacted before they are shown."""

    folder: ArtifactFolder
    redactor: Redactor

    def get(self, ref: BlobRef) -> bytes:
        """Kept content; raises InvalidInput when it is missing or changed."""
        return self.redactor.content(self.folder.get(ref))


def export(frozen_tree: Frozen, patterns: Collection[str], artifacts: TrialArtifacts) -> None:
    """Keep the changed files of a tree at rest that a pattern names, in the order of paths.

    Files are read by descriptor, without following anything; big and binary ones are listed
    with their digest, and what a tree may not hold with its kind.
    """
    wanted = [PathPattern(text) for text in patterns]
    changes = frozen_tree.change_set
    for change in changes.changes:
        after = change.after
        if after is None or after.kind is not EntryKind.FILE or not _matches(wanted, change.path):
            continue
        name = f"{WORKSPACE}/{change.path}"
        if change.binary or after.size > artifacts.limits.file:
            left_out = LeftOut.BINARY if change.binary else LeftOut.TOO_LARGE
            artifacts.note(name, after.size, after.digest, left_out)
            continue
        try:
            artifacts.put(name, frozen_tree.read(change.path, after.size))
        except TreeLimit:
            artifacts.note(name, after.size, after.digest, LeftOut.TOO_LARGE)
        except (AssayError, OSError):
            artifacts.note(name, after.size, after.digest, LeftOut.UNREADABLE)
    for refused in changes.refused:
        # Its path is printable text, so only patterns of plain names can name it.
        if _matches(wanted, RelPath(refused.path)):
            artifacts.note(f"{WORKSPACE}/{refused.path}", 0, None, LeftOut.REFUSED)


def is_binary(content: bytes) -> bool:
    """Whether bytes are no text: they can't be redacted, so they are never kept."""
    if b"\0" in content:
        return True
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def _matches(patterns: Collection[PathPattern], path: RelPath) -> bool:
    return any(pattern.matches(path) for pattern in patterns)

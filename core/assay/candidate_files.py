"""Calibration candidates: reading what a candidate folder submits, as it stands.

Paths and contents may be hostile on purpose. They are kept as text and bytes; whether
they are allowed is measured later, from the changes they would make.
"""

from __future__ import annotations

from attrs import evolve

from assay.api.errors import ManifestError
from assay.api.paths import is_ignored, is_slug, printable
from assay.api.running import SuiteFiles
from assay.api.tasks import Candidate
from assay.api.trees import Digest, RelPath
from assay.candidate_manifest import CandidateManifest, candidate_digest, parse_candidate
from assay.manifests import MAX_MANIFEST_BYTES

__all__ = ["MANIFEST", "MAX_CONTENT", "read_candidate", "read_candidates"]

MANIFEST = "candidate.json"
MAX_CONTENT = 64 * 1024**2
"""Bytes of one submitted file or patch."""

MAX_TOTAL = 512 * 1024**2
_MAX_CLAIM = 1024**2


def read_candidates(files: SuiteFiles, task: str) -> tuple[Candidate, ...]:
    """All calibration candidates of a task, in id order; raises ManifestError."""
    top = RelPath(f"{task}/candidates")
    found = []
    for name in files.folders(top):
        folder = f"{top}/{printable(name)}"
        if not is_slug(name):
            raise ManifestError(folder, "", "folder name is not a legal id")
        found.append(read_candidate(files, RelPath(folder), task, candidate_id=name))
    return tuple(found)


def read_candidate(
    files: SuiteFiles, folder: RelPath | None, task: str, *, candidate_id: str | None = None
) -> Candidate:
    """One candidate folder (None: the root of `files`), bytes untouched.

    With `candidate_id`, its manifest must say the same. Raises ManifestError, TreeRefused,
    TreeLimit.
    """
    file = _below(folder, MANIFEST)
    data = files.read(file, MAX_MANIFEST_BYTES)
    if data is None:
        raise ManifestError(file, "", "no such file")
    manifest = parse_candidate(data, file, folder=candidate_id)
    candidate = Candidate(
        id=manifest.id,
        task=task,
        kind=manifest.kind,
        digest=Digest(""),
        files=_contents(files, folder, manifest, file),
        executables=manifest.executables,
        deletes=manifest.deletes,
        patch=_beside(files, folder, manifest.patch, file, "patch", MAX_CONTENT),
        claim=_beside(files, folder, manifest.claim, file, "claim", _MAX_CLAIM),
        expect=manifest.expect,
        subject=manifest.subject,
    )
    return evolve(candidate, digest=candidate_digest(candidate))


def _contents(
    files: SuiteFiles, folder: RelPath | None, manifest: CandidateManifest, file: str
) -> dict[str, bytes]:
    top = _below(folder, "files")
    contents: dict[str, bytes] = {}
    for index, entry in enumerate(manifest.files):
        field = f"files[{index}]"
        content: bytes | None = b""
        if entry.source is not None:
            content = files.read(_below(top, entry.source), MAX_CONTENT)
        if content is None:
            raise ManifestError(file, field, "has no content below the folder files")
        contents[entry.path] = content
        if sum(map(len, contents.values())) > MAX_TOTAL:
            raise ManifestError(file, field, f"makes the contents larger than {MAX_TOTAL} bytes")
    listed = {entry.source for entry in manifest.files}
    # Installers compile what they install, so ignored files appear without anybody's will.
    unlisted = [path for path in files.files(top) if path not in listed and not is_ignored(path)]
    if unlisted:
        raise ManifestError(file, "files", f"does not list {printable(min(unlisted))}")
    return contents


def _beside(
    files: SuiteFiles,
    folder: RelPath | None,
    name: RelPath | None,
    file: str,
    field: str,
    cap: int,
) -> bytes | None:
    if name is None:
        return None
    content = files.read(_below(folder, name), cap)
    if content is None:
        raise ManifestError(file, field, "names a file that does not exist")
    return content


def _below(folder: RelPath | None, name: str) -> RelPath:
    return RelPath(f"{folder}/{name}" if folder else name)

"""candidate.json: what a calibration candidate submits and which verdict it must get."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from assay.api.paths import UnsafePath, printable, relpath
from assay.api.reasons import Reason, ReasonClass
from assay.api.tasks import Candidate, CandidateKind, Expectation, VerdictStatus
from assay.api.trees import Digest, RelPath
from assay.canonical import digest_bytes, digest_json
from assay.manifests import MAX_MANIFEST_BYTES, check_version
from assay.policies import safe_path, slug_text
from assay.strict_json import load
from assay.structuring import FieldError, checked, structure, structure_value

__all__ = [
    "CandidateDocument",
    "CandidateManifest",
    "FileSource",
    "candidate_digest",
    "parse_candidate",
]

MAX_FILES = 2_000
MAX_TEXT = 4_096

_SUBJECT_KEY = re.compile(r"[a-z][a-z0-9_]{0,63}")


@frozen
class FileSource:
    """A submitted path as its text stands, and where its content lies below `files/`.

    `source` is None for a path that no file can lie at: the candidate tries to write there.
    """

    path: str
    source: RelPath | None


@frozen
class CandidateManifest:
    """One candidate.json, checked; contents are not read yet."""

    id: str
    kind: CandidateKind
    files: tuple[FileSource, ...] = ()
    executables: frozenset[str] = frozenset()
    patch: RelPath | None = None
    deletes: tuple[str, ...] = ()
    claim: RelPath | None = None
    expect: Expectation | None = None
    subject: Mapping[str, str] = field(factory=dict)


@frozen
class _Expect:
    verdict: VerdictStatus
    required: tuple[Reason, ...] = ()
    permitted: tuple[Reason, ...] = ()


@frozen
class _Stored:
    path: str
    source: str


@frozen
class CandidateDocument:
    """candidate.json as it stands: its keys, their types and their defaults."""

    schema: int
    id: str
    kind: CandidateKind
    files: tuple[Any, ...] = ()
    executables: tuple[str, ...] = ()
    patch: str | None = None
    deletes: tuple[str, ...] = ()
    claim: str | None = None
    expect: _Expect | None = None
    subject: Mapping[str, str] = field(factory=dict)


def parse_candidate(data: bytes, file: str, *, folder: str | None = None) -> CandidateManifest:
    """A candidate manifest; with `folder`, its id must equal it. Raises ManifestError."""
    value = load(data, file, max_bytes=MAX_MANIFEST_BYTES)
    check_version(value, file)
    document = structure(CandidateDocument, value, file)
    try:
        checked("id", slug_text, document.id)
        _check_kind(document)
        if folder is not None and document.id != folder:
            raise FieldError("must equal the name of the candidate's folder", ("id",))
        return _manifest(document)
    except FieldError as error:
        raise error.of(file) from None


def candidate_digest(candidate: Candidate) -> Digest:
    """Digest of what is submitted: contents, paths, claim and subject, without id and task."""
    return digest_json(
        {
            "form": "assay-candidate-v1",
            "kind": candidate.kind.value,
            "files": [
                {"path": printable(path), "content": digest_bytes(candidate.files[path])}
                for path in sorted(candidate.files, key=printable)
            ],
            "executables": sorted(printable(path) for path in candidate.executables),
            "deletes": sorted(printable(path) for path in candidate.deletes),
            "patch": None if candidate.patch is None else digest_bytes(candidate.patch),
            "claim": None if candidate.claim is None else digest_bytes(candidate.claim),
            "subject": {printable(key): candidate.subject[key] for key in candidate.subject},
            "malformed": candidate.malformed,
        }
    )


def _check_kind(document: CandidateDocument) -> None:
    if document.kind is CandidateKind.AGENT:
        raise FieldError("not supported yet", ("kind",))
    if document.kind is CandidateKind.PATCH:
        if document.patch is None:
            raise FieldError("is required for kind patch", ("patch",))
        for key in ("files", "executables", "deletes"):
            if getattr(document, key):
                raise FieldError("is only for kind files", (key,))
    elif document.patch is not None:
        raise FieldError("is only for kind patch", ("patch",))


def _manifest(document: CandidateDocument) -> CandidateManifest:
    files = checked("files", _files, document.files)
    named = {entry.path for entry in files}
    for index, path in enumerate(document.executables):
        if path not in named:
            raise FieldError("must be one of the files", ("executables", index))
    for index, path in enumerate(document.deletes):
        checked("deletes", checked, index, _path_text, path)
    return CandidateManifest(
        id=document.id,
        kind=document.kind,
        files=files,
        executables=frozenset(document.executables),
        patch=None if document.patch is None else checked("patch", safe_path, document.patch),
        deletes=document.deletes,
        claim=None if document.claim is None else checked("claim", safe_path, document.claim),
        expect=None if document.expect is None else checked("expect", _expect, document.expect),
        subject=checked("subject", _subject, document.subject),
    )


def _files(entries: tuple[Any, ...]) -> tuple[FileSource, ...]:
    if len(entries) > MAX_FILES:
        raise FieldError(f"must not hold more than {MAX_FILES} files")
    found: list[FileSource] = []
    for index, entry in enumerate(entries):
        source = checked(index, _file, entry)
        if any(source.path == other.path for other in found):
            raise FieldError("is given more than once", (index,))
        found.append(source)
    return tuple(found)


def _file(entry: Any) -> FileSource:
    if isinstance(entry, str):
        path = _path_text(entry)
        try:
            return FileSource(path, relpath(path))
        except UnsafePath:
            return FileSource(path, None)
    if not isinstance(entry, dict):
        raise FieldError("must be a path or an object with path and source")
    stored = structure_value(_Stored, entry)
    return FileSource(
        checked("path", _path_text, stored.path), checked("source", safe_path, stored.source)
    )


def _path_text(text: str) -> str:
    if not text or len(text) > MAX_TEXT:
        raise FieldError(f"must have 1 to {MAX_TEXT} characters")
    return text


def _expect(document: _Expect) -> Expectation:
    reasons = {"required": document.required, "permitted": document.permitted}
    for key, listed in reasons.items():
        if len(set(listed)) != len(listed):
            raise FieldError("must not repeat a reason", (key,))
        if document.verdict is VerdictStatus.ACCEPTED and listed:
            raise FieldError("must be empty for an accepted candidate", (key,))
        for index, reason in enumerate(listed):
            if reason.klass is not ReasonClass(document.verdict.value):
                raise FieldError("does not belong to the expected verdict", (key, index))
    if document.verdict is not VerdictStatus.ACCEPTED and not document.required:
        raise FieldError("must name at least one reason", ("required",))
    return Expectation(
        verdict=document.verdict,
        required=frozenset(document.required),
        permitted=frozenset(document.permitted),
    )


def _subject(subject: Mapping[str, str]) -> Mapping[str, str]:
    for key, value in subject.items():
        if _SUBJECT_KEY.fullmatch(key) is None:
            raise FieldError("is not a legal key", (key,))
        if len(value) > MAX_TEXT or not (value.isprintable() or not value):
            raise FieldError(f"must be one line of at most {MAX_TEXT} characters", (key,))
    return dict(sorted(subject.items()))

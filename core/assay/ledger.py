"""The run folder: append-only trial records, artifacts by digest, the canonical report.

A run is never overwritten: its folder is made anew or the run does not start. Each record
carries its number and the digest of the line before it, so a changed or lost line shows.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from attrs import evolve, frozen

from assay.api import (
    BlobRef,
    Digest,
    InvalidInput,
    LedgerBroken,
    ManifestError,
    TrialRecord,
    UsageError,
    printable,
)
from assay.api.files import copy_fault
from assay.canonical import canonical_json, digest_bytes
from assay.record_json import record_from_json, record_to_json
from assay.strict_json import load

__all__ = [
    "ArtifactFolder",
    "ArtifactMissing",
    "Ledger",
    "RunView",
    "create_run_folder",
    "open_run",
]

RECORDS = "trials.jsonl"
REPORT = "report.json"
RUN = "run.json"
ARTIFACTS = "artifacts"

_MAX_DOCUMENT = 512 * 1024**2
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def create_run_folder(folder: Path) -> Path:
    """Make a new run folder; raises UsageError when anything is there already."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise UsageError(f"run folder {folder.name}: what should hold it is no folder") from None
    except OSError as error:
        raise UsageError(f"run folder {folder.name}: {os.strerror(error.errno or 0)}") from None
    try:
        folder.mkdir()
        (folder / ARTIFACTS).mkdir()
    except FileExistsError:
        raise UsageError(
            f"run folder {printable(folder.name)} exists already; a run is never overwritten"
        ) from None
    except OSError as error:
        raise UsageError(
            f"run folder {printable(folder.name)}: {os.strerror(error.errno or 0)}"
        ) from None
    return folder


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise copy_fault(error, "the run folder could not be written") from None


class ArtifactMissing(InvalidInput):
    """An artifact that a record names is not there any more, or is no plain file."""


@frozen
class ArtifactFolder:
    """Keeps byte strings by digest; equal content is kept once. Safe between processes."""

    folder: Path

    def put(self, name: str, content: bytes) -> BlobRef:
        """Keep `content`; `name` is only what the record calls it. Raises NoSpace, CopyFailed."""
        digest = digest_bytes(content)
        target = self.folder / digest.removeprefix("sha256:")
        if not target.exists():
            partial = self.folder / f".{target.name}.{os.getpid()}"
            with _writing():
                partial.write_bytes(content)
                partial.replace(target)
        return BlobRef(digest, len(content))

    def get(self, ref: BlobRef) -> bytes:
        """Kept content, checked against its digest; raises InvalidInput when it differs."""
        name = ref.digest.removeprefix("sha256:")
        try:
            with _opened(self.folder, name) as file:
                content = file.read(ref.size + 1)
        except InvalidInput:
            raise ArtifactMissing(f"artifact {printable(ref.digest)} is missing") from None
        if digest_bytes(content) != ref.digest:
            raise InvalidInput(f"artifact {printable(ref.digest)} was changed")
        return content


class Ledger:
    """Appends records to `trials.jsonl`; each one is on disk before `append` returns."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / RECORDS).open("xb")
        self._seq = 0
        self._prev: Digest | None = None

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *exc: object) -> None:
        with _writing():
            self._file.close()

    def append(self, record: TrialRecord) -> TrialRecord:
        """Number the record, chain it to the one before, write it. Raises NoSpace, CopyFailed."""
        chained = evolve(record, seq=self._seq, prev=self._prev)
        line = json.dumps(
            record_to_json(chained), sort_keys=True, ensure_ascii=False, allow_nan=False
        ).encode()
        with _writing():
            self._file.write(line + b"\n")
            self._file.flush()
            os.fdatasync(self._file.fileno())
        self._seq += 1
        self._prev = digest_bytes(line)
        return chained


@frozen
class RunView:
    """A finished or broken-off run, as read from its folder."""

    folder: Path
    run: Mapping[str, Any]
    report: Mapping[str, Any] | None

    def records(self) -> Iterator[TrialRecord]:
        """The records in order of completion.

        Raises LedgerBroken at the first line that is cut, changed or out of its chain,
        InvalidInput when there is no file of records.
        """
        prev: Digest | None = None
        with _opened(self.folder, RECORDS) as lines:
            for seq, line in enumerate(lines):
                if not line.endswith(b"\n"):
                    raise LedgerBroken(seq)
                body = line[:-1]
                try:
                    record = record_from_json(json.loads(body))
                except (ValueError, RecursionError):
                    raise LedgerBroken(seq) from None
                if record.seq != seq or record.prev != prev:
                    raise LedgerBroken(seq)
                prev = digest_bytes(body)
                yield record

    def trials(self) -> tuple[TrialRecord, ...]:
        """What counts of each trial, its last record, in the order of results.

        Raises what `records` raises.
        """
        last = {record.spec.key: record for record in self.records()}
        return tuple(last[key] for key in sorted(last))

    @property
    def artifacts(self) -> ArtifactFolder:
        """Where the run's artifacts are."""
        return ArtifactFolder(self.folder / ARTIFACTS)


def write_json(folder: Path, name: str, value: Any) -> None:
    """Write canonical bytes as one whole file. Raises NoSpace, CopyFailed."""
    partial = folder / f".{name}.partial"
    with _writing():
        partial.write_bytes(canonical_json(value))
        partial.replace(folder / name)


def open_run(folder: Path) -> RunView:
    """Open a run folder for reading; the folder may come from anybody.

    Raises UsageError when it is not one, InvalidInput when its report can't be read.
    """
    try:
        run = _document(folder, RUN)
    except InvalidInput:
        raise UsageError(f"{printable(folder.name)} is not a run folder") from None
    report = None
    if os.path.lexists(folder / REPORT):
        report = _document(folder, REPORT)
    return RunView(folder, run, report)


def _document(folder: Path, name: str) -> dict[str, Any]:
    with _opened(folder, name) as file:
        content = file.read(_MAX_DOCUMENT + 1)
    document = load(content, name, max_bytes=_MAX_DOCUMENT)
    if not isinstance(document, dict):
        raise ManifestError(name, "", "must be an object")
    return document


def _opened(folder: Path, name: str) -> BinaryIO:
    """A regular file of a run folder; raises InvalidInput, and never waits for a FIFO."""
    try:
        if os.sep in name:
            raise InvalidInput(f"{printable(name)}: is not a name")
        descriptor = os.open(folder / name, _READ_FLAGS)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return os.fdopen(descriptor, "rb")
        os.close(descriptor)
    except OSError as error:
        raise InvalidInput(f"{printable(name)}: {os.strerror(error.errno or 0)}") from None
    raise InvalidInput(f"{printable(name)}: is not a regular file")

"""The run folder: append-only trial records, artifacts by digest, the canonical report.

A run is never overwritten: its folder is made anew or the run does not start. Each record
carries its number and the digest of the line before it, so a changed or lost line shows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from assay.api import (
    BlobRef,
    Digest,
    InvalidInput,
    LedgerBroken,
    TrialRecord,
    UsageError,
)
from assay.canonical import canonical_json, digest_bytes
from assay.record_json import record_from_json, record_to_json

__all__ = ["ArtifactFolder", "Ledger", "RunView", "create_run_folder", "open_run"]

RECORDS = "trials.jsonl"
REPORT = "report.json"
RUN = "run.json"
ARTIFACTS = "artifacts"


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
            f"run folder {folder.name} exists already; a run is never overwritten"
        ) from None
    except OSError as error:
        raise UsageError(f"run folder {folder.name}: {os.strerror(error.errno or 0)}") from None
    return folder


@frozen
class ArtifactFolder:
    """Keeps byte strings by digest; equal content is kept once. Safe between processes."""

    folder: Path

    def put(self, name: str, content: bytes) -> BlobRef:
        """Keep `content`; `name` is only what the record calls it."""
        digest = digest_bytes(content)
        target = self.folder / digest.removeprefix("sha256:")
        if not target.exists():
            partial = self.folder / f".{target.name}.{os.getpid()}"
            partial.write_bytes(content)
            partial.replace(target)
        return BlobRef(digest, len(content))

    def get(self, ref: BlobRef) -> bytes:
        """Kept content, checked against its digest; raises InvalidInput when it differs."""
        target = self.folder / ref.digest.removeprefix("sha256:")
        try:
            content = target.read_bytes()
        except OSError:
            raise InvalidInput(f"artifact {ref.digest} is missing") from None
        if digest_bytes(content) != ref.digest:
            raise InvalidInput(f"artifact {ref.digest} was changed")
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
        self._file.close()

    def append(self, record: TrialRecord) -> TrialRecord:
        """Number the record, chain it to the one before, write it."""
        chained = evolve(record, seq=self._seq, prev=self._prev)
        line = json.dumps(
            record_to_json(chained), sort_keys=True, ensure_ascii=False, allow_nan=False
        ).encode()
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

        Raises LedgerBroken at the first line that is cut, changed or out of its chain.
        """
        prev: Digest | None = None
        with (self.folder / RECORDS).open("rb") as lines:
            for seq, line in enumerate(lines):
                if not line.endswith(b"\n"):
                    raise LedgerBroken(seq)
                body = line[:-1]
                try:
                    record = record_from_json(json.loads(body))
                except ValueError:
                    raise LedgerBroken(seq) from None
                if record.seq != seq or record.prev != prev:
                    raise LedgerBroken(seq)
                prev = digest_bytes(body)
                yield record

    @property
    def artifacts(self) -> ArtifactFolder:
        """Where the run's artifacts are."""
        return ArtifactFolder(self.folder / ARTIFACTS)


def write_json(folder: Path, name: str, value: Any) -> None:
    """Write canonical bytes as one whole file."""
    partial = folder / f".{name}.partial"
    partial.write_bytes(canonical_json(value))
    partial.replace(folder / name)


def open_run(folder: Path) -> RunView:
    """Open a run folder for reading; raises UsageError when it is not one."""
    try:
        run = json.loads((folder / RUN).read_bytes())
        report_file = folder / REPORT
        report = json.loads(report_file.read_bytes()) if report_file.exists() else None
    except (OSError, ValueError):
        raise UsageError(f"{folder.name} is not a run folder") from None
    if not isinstance(run, dict):
        raise UsageError(f"{folder.name} is not a run folder")
    return RunView(folder, run, report)

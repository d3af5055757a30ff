"""What users hand in for grading: a patch, a folder, or a JSON Lines file.

Bytes are kept exactly as they are: a missing last newline or a CR inside a line is part
of a patch. Rows that share a task and an id are all kept, the later ones as `ID-2`,
`ID-3`. A row for an unknown task is a problem that is reported beside the others'
candidates.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from assay.api.errors import InvalidInput, UsageError
from assay.api.paths import is_slug, printable
from assay.api.running import SuiteFiles
from assay.api.tasks import Candidate, CandidateKind
from assay.api.trees import Digest
from assay.candidate_files import MANIFEST, MAX_CONTENT, MAX_TOTAL, read_candidate
from assay.candidate_manifest import MAX_FILES, candidate_digest
from assay.locations import open_location
from assay.plugins import Registry
from assay.strict_json import load_lines
from assay.structuring import FieldError, structure_value

__all__ = ["Submissions", "load_candidates"]

_PATCH_SUFFIXES = (".patch", ".diff")
_LINE_SUFFIXES = (".jsonl", ".ndjson")
_MAX_LINES_FILE = 512 * 1024**2
_SUFFIX_ROOM = 8


@frozen
class Submissions:
    """Candidates in order of task and id, and what could not become one, as sentences."""

    candidates: tuple[Candidate, ...]
    problems: tuple[str, ...] = ()


@frozen
class _Row:
    task: str | None = None
    instance_id: str | None = None
    id: str | None = None
    model_name_or_path: str | None = None
    patch: Any = None
    model_patch: Any = None
    files: Mapping[str, str] | None = None
    deletes: tuple[str, ...] = ()
    claim: Any = None


def load_candidates(
    location: str, task_ids: Sequence[str], registry: Registry | None = None
) -> Submissions:
    """What lies at a path of this host, for the tasks of one suite.

    A `.patch` or `.diff` file is one candidate for each task. So is a folder, unless its only
    entries are folders named like tasks: then each of them is the candidate of its task. A
    folder with a `candidate.json` is read as a candidate folder, any other as the files to
    submit. A `.jsonl` file has one row per candidate. Raises UsageError, InvalidInput.
    """
    path = Path(location)
    if not os.path.exists(location):
        raise InvalidInput(f"candidate {_shown(path)}: no such file or folder")
    if os.path.isdir(location):
        try:
            return _in_order(_from_folder(path, task_ids, registry or Registry()), ())
        except OSError as error:
            problem = os.strerror(error.errno or 0)
            raise InvalidInput(f"candidate {_shown(path)}: {problem}") from None
    if path.suffix in _PATCH_SUFFIXES:
        candidate = _make(_slug_of(path.stem), "", kind=CandidateKind.PATCH, patch=_bytes(path))
        return _in_order((evolve(candidate, task=task) for task in task_ids), ())
    if path.suffix in _LINE_SUFFIXES:
        return _from_lines(_bytes(path, _MAX_LINES_FILE), _shown(path), task_ids)
    known = ", ".join((*_PATCH_SUFFIXES, *_LINE_SUFFIXES))
    raise UsageError(f"candidate {_shown(path)}: must be a folder or one of {known}")


def _in_order(candidates: Any, problems: tuple[str, ...]) -> Submissions:
    ordered = sorted(candidates, key=lambda candidate: (candidate.task, candidate.id))
    return Submissions(tuple(ordered), problems)


def _from_folder(path: Path, task_ids: Sequence[str], registry: Registry) -> Iterator[Candidate]:
    entries = {entry.name: entry.is_dir(follow_symlinks=False) for entry in os.scandir(path)}
    per_task = bool(entries) and all(
        name in task_ids and is_folder for name, is_folder in entries.items()
    )
    if per_task:
        for task in sorted(entries):
            yield _folder_candidate(path / task, path.name, task, registry)
        return
    for task in task_ids:
        yield _folder_candidate(path, path.name, task, registry)


def _folder_candidate(path: Path, name: str, task: str, registry: Registry) -> Candidate:
    if (path / MANIFEST).is_file():
        # A submission has no say in which verdict is expected of it.
        return evolve(read_candidate(_open(path, registry), None, task), expect=None)
    return _loose_files(path, _slug_of(name), task)


def _open(path: Path, registry: Registry) -> SuiteFiles:
    return open_location(f"dir:{path}", registry)


def _loose_files(path: Path, candidate_id: str, task: str) -> Candidate:
    """Every regular file of a folder, whatever its name; anything else makes it malformed."""
    contents: dict[str, bytes] = {}
    executables: set[str] = set()
    for folder, folders, names, folder_fd in os.fwalk(path, onerror=_raise):
        below = os.path.relpath(folder, path)
        folders.sort()
        for name in sorted(folders + names):
            text = name if below == "." else f"{below}/{name}"
            mode = os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                continue
            if not stat.S_ISREG(mode):
                rule = "holds something that is neither a file nor a folder"
                return _make(candidate_id, task, malformed=f"{printable(text)}: {rule}")
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with os.fdopen(os.open(name, flags, dir_fd=folder_fd), "rb") as file:
                contents[text] = file.read(MAX_CONTENT + 1)
            if len(contents[text]) > MAX_CONTENT:
                raise InvalidInput(f"{printable(text)}: is larger than {MAX_CONTENT} bytes")
            if mode & stat.S_IXUSR:
                executables.add(text)
            if len(contents) > MAX_FILES or sum(map(len, contents.values())) > MAX_TOTAL:
                limits = f"{MAX_FILES} files or {MAX_TOTAL} bytes"
                raise InvalidInput(f"candidate {candidate_id}: holds more than {limits}")
    return _make(candidate_id, task, files=contents, executables=frozenset(executables))


def _shown(path: Path) -> str:
    return printable(path.name)[:64]


def _raise(error: OSError) -> None:
    raise error


def _from_lines(data: bytes, file: str, task_ids: Sequence[str]) -> Submissions:
    found: list[Candidate] = []
    problems: list[str] = []
    for number, value in load_lines(data, file):
        at = f"line {number}"
        try:
            task, candidate = _row(value)
        except FieldError as error:
            raise error.of(file, at) from None
        if task not in task_ids:
            problems.append(f"{file}: {at}: unknown task {printable(task)[:64]}")
            continue
        taken = {other.id for other in found if other.task == task}
        found.append(evolve(candidate, task=task, id=_free(candidate.id, taken)))
    return _in_order(found, tuple(problems))


def _row(value: Any) -> tuple[str, Candidate]:
    row = structure_value(_Row, value)
    task = _only_one(value, ("task", "instance_id"))
    source = _only_one(value, ("patch", "model_patch", "files"))
    name = _slug_of(row.id or row.model_name_or_path or "candidate")
    claim = _claim(row.claim)
    if source == "files":
        contents = {path: text.encode() for path, text in (row.files or {}).items()}
        candidate = _make(name, "", files=contents, deletes=row.deletes, claim=claim)
    else:
        patch = value[source]
        if patch is not None and not isinstance(patch, str):
            raise FieldError("must be text or null", (source,))
        if row.deletes:
            raise FieldError("is only for rows with files", ("deletes",))
        content = (patch or "").encode()
        candidate = _make(name, "", kind=CandidateKind.PATCH, patch=content, claim=claim)
    return _text(value, task), candidate


def _only_one(value: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    present = [key for key in keys if key in value]
    if len(present) != 1:
        raise FieldError("must hold exactly one of the keys " + ", ".join(keys))
    return present[0]


def _text(value: Mapping[str, Any], key: str) -> str:
    if not isinstance(value[key], str):
        raise FieldError("must be text", (key,))
    return str(value[key])


def _claim(value: Any) -> bytes | None:
    """The claim's raw bytes: as given when it is text, else as JSON."""
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def _make(candidate_id: str, task: str, **parts: Any) -> Candidate:
    parts.setdefault("kind", CandidateKind.FILES)
    candidate = Candidate(id=candidate_id, task=task, digest=Digest(""), **parts)
    return evolve(candidate, digest=candidate_digest(candidate))


def _slug_of(text: str) -> str:
    """A legal id that resembles any text."""
    if is_slug(text):
        return text
    shown = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return shown[: 64 - _SUFFIX_ROOM].strip("-") or "candidate"


def _free(candidate_id: str, taken: set[str]) -> str:
    if candidate_id not in taken:
        return candidate_id
    stem = candidate_id[: 64 - _SUFFIX_ROOM].rstrip("-")
    number = 2
    while f"{stem}-{number}" in taken:
        number += 1
    return f"{stem}-{number}"


def _bytes(path: Path, cap: int = MAX_CONTENT) -> bytes:
    """Content of a regular file that the user named, never decoded."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise InvalidInput(f"candidate {_shown(path)}: is not a regular file")
            content = file.read(cap + 1)
    except OSError as error:
        problem = os.strerror(error.errno or 0)
        raise InvalidInput(f"candidate {_shown(path)}: {problem}") from None
    if len(content) > cap:
        raise InvalidInput(f"candidate {_shown(path)}: is larger than {cap} bytes")
    return content

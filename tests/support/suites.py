"""Suites written for a test, and stand-ins for plugins that are not under test."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from attrs import frozen

from assay.api import (
    Digest,
    Entry,
    EntryKind,
    Facts,
    GradeContext,
    GraderNeeds,
    RelPath,
    Scan,
    Task,
    TreeLimits,
    TreeManifest,
    TreeRef,
    Trust,
    UsageError,
)
from assay.plugins import PluginInfo, Registry

FOUR_KEYS: Mapping[str, Any] = {
    "id": "task-1",
    "category": "text",
    "prompt": "Do it.",
    "fixture": "fixture",
}


def task_document(task_id: str = "task-1", **more: Any) -> dict[str, Any]:
    """A small legal task.json, changed by keyword."""
    return {**FOUR_KEYS, "id": task_id, **more}


def encoded(document: Any) -> bytes:
    """JSON bytes of a document."""
    return json.dumps(document).encode()


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder, parents included."""
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def write_task(suite: Path, document: Mapping[str, Any], folder: str | None = None) -> Path:
    """A task's folder with its manifest and one file in its fixture."""
    root = suite / (folder or document["id"])
    return write(root, {"task.json": encoded(document), "fixture/main.py": "x = 1\n"})


_LIMITS = TreeLimits()


@frozen
class StubOptions:
    """Options of the stand-in grader."""

    tests: tuple[str, ...]
    hidden: bool = False


class StubGrader:
    """A grader that only checks its options."""

    api: ClassVar[str] = "1.0"
    name: ClassVar[str] = "stub"
    version: ClassVar[str] = "1"
    Options: ClassVar[type] = StubOptions
    max_trust: ClassVar[Trust] = Trust.UNGUARDED

    def check(self, options: Any, task: Task) -> tuple[str, ...]:
        return () if options.tests else ("tests must not be empty",)

    def needs(self, options: Any, task: Task) -> GraderNeeds:
        return GraderNeeds()

    def grade(self, ctx: GradeContext) -> Facts:
        raise AssertionError("never called")


class RaisingGrader(StubGrader):
    """A grader whose check is broken."""

    def check(self, options: Any, task: Task) -> tuple[str, ...]:
        raise KeyError("secret")


class StubRegistry(Registry):
    """The real registry, but with one stand-in grader only."""

    def __init__(self, grader: type[Any] = StubGrader, name: str = "stub") -> None:
        super().__init__()
        self._stub, self._name = grader, name

    def load(self, group: str, name: str) -> Any:
        if group == "assay.graders":
            self.find(group, name)
            return self._stub
        return super().load(group, name)

    def find(self, group: str, name: str) -> PluginInfo:
        if group == "assay.graders":
            if name != self._name:
                raise UsageError(f"unknown grader {name}; known: {self._name}")
            return PluginInfo(group, name, "stub-dist", "1", "stub:Stub")
        return super().find(group, name)


class StubHasher:
    """Digests paths and contents; no contract, just something that sees every change."""

    api: ClassVar[str] = "1.0"
    contract: ClassVar[str] = "assay-tree-v1"

    def scan(
        self, root_fd: int, *, limits: TreeLimits = _LIMITS, collect_refused: bool = False
    ) -> Scan:
        entries = []
        for folder, _, names, folder_fd in os.fwalk(".", dir_fd=root_fd):
            for name in names:
                with os.fdopen(os.open(name, os.O_RDONLY, dir_fd=folder_fd), "rb") as file:
                    content = file.read()
                path = RelPath(os.path.relpath(f"{folder}/{name}", "."))
                digest = Digest("sha256:" + hashlib.sha256(content).hexdigest())
                entries.append(Entry(path, EntryKind.FILE, False, len(content), digest))
        return Scan(manifest=self.manifest(entries))

    def manifest(self, entries: Iterable[Entry]) -> TreeManifest:
        ordered = tuple(sorted(entries, key=lambda entry: entry.path.encode()))
        text = "".join(f"{entry.path}\0{entry.digest}\n" for entry in ordered)
        digest = Digest("sha256:" + hashlib.sha256(text.encode()).hexdigest())
        ref = TreeRef(self.contract, digest)
        return TreeManifest(ref, ordered, len(ordered), sum(entry.size for entry in ordered))

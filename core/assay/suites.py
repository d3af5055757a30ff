"""Opening suites: every rule that can be checked without running anything.

The order of errors is fixed and the first one wins: id, folder, bytes, strict JSON,
schema, id equal to the folder's name, paths, digests, grader options. An illegal id is
refused before anything on the file system is looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve

from assay.api.errors import AssayError, InvalidInput, ManifestError, PluginFailed, RevisionMismatch
from assay.api.graders import Grader
from assay.api.paths import is_slug, printable, slug
from assay.api.running import SuiteFiles
from assay.api.tasks import (
    Candidate,
    GraderSpec,
    SuiteHeader,
    Task,
    TaskPins,
    VerdictStatus,
)
from assay.api.trees import RelPath
from assay.benchmark import BenchmarkTask
from assay.candidate_files import read_candidates
from assay.identity import check_plugin_pins
from assay.locations import open_location
from assay.manifests import MAX_MANIFEST_BYTES, parse_task
from assay.plugins import Registry
from assay.revisions import task_digest
from assay.suite_manifest import parse_suite

__all__ = ["Suite", "grader_problems", "load_benchmark_task", "open_suite"]

SUITE_FILE = "suite.json"
TASK_FILE = "task.json"


class Suite:
    """An opened suite; tasks and candidates are read when they are asked for."""

    def __init__(self, files: SuiteFiles, registry: Registry, *, check_pins: bool = True) -> None:
        self._files, self._registry, self._check_pins = files, registry, check_pins
        self._header: SuiteHeader | None = None
        data = files.read(RelPath(SUITE_FILE), MAX_MANIFEST_BYTES)
        self._declared = None if data is None else parse_suite(data, SUITE_FILE)
        if self._declared is not None and check_pins:
            check_plugin_pins(self._declared.plugins)

    @property
    def files(self) -> SuiteFiles:
        """The suite as files."""
        return self._files

    @property
    def header(self) -> SuiteHeader:
        """What `suite.json` says, with every task of the suite in `tasks`.

        Without a `suite.json` the folder's name is the id and nothing is pinned.
        """
        if self._header is None:
            declared = self._declared or SuiteHeader(
                id=_id_of(self._files.name), categories=(), categories_version=0
            )
            self._header = evolve(declared, tasks=self._pins_of_all(declared.tasks))
        return self._header

    def task_ids(self) -> tuple[str, ...]:
        """Ids of all tasks, sorted."""
        return tuple(self.header.tasks)

    def task(self, task_id: str, *, check_graders: bool = True) -> BenchmarkTask:
        """One task; raises InvalidInput (ManifestError, TreeRefused), RevisionMismatch,
        UsageError for an unknown grader, or PluginFailed.

        Without `check_graders` neither plugins nor their options are looked at.
        """
        slug(task_id, "task id")
        if self._files.host_folder(RelPath(task_id)) is None:
            raise InvalidInput(f"task {task_id}: no such folder in suite {self._files.name}")
        file = f"{task_id}/{TASK_FILE}"
        data = self._files.read(RelPath(file), MAX_MANIFEST_BYTES)
        if data is None:
            raise ManifestError(file, "", "no such file")
        task = parse_task(data, file, folder=task_id, suite=self._declared)
        fixture = self._folder(file, task, "fixture", task.fixture)
        hidden = self._folder(file, task, "hidden", task.hidden) if task.hidden else None
        trees = self._trees(file, task)
        pins = self._declared.tasks.get(task_id) if self._declared else None
        if pins is not None and self._check_pins:
            _check_task_pin(task, pins, trees)
        if check_graders:
            self._check_graders(task, file)
        return BenchmarkTask(
            task=task,
            suite=self._declared.id if self._declared else _id_of(self._files.name),
            fixture=fixture,
            hidden=hidden,
            pins=pins,
            trees=trees,
            references=() if task.scale is None else self._references(task, file),
        )

    def candidates(self, task_id: str) -> tuple[Candidate, ...]:
        """The calibration candidates of a task, in id order."""
        slug(task_id, "task id")
        return read_candidates(self._files, task_id)

    def _references(self, task: Task, file: str) -> tuple[Candidate, ...]:
        """What scales the task's limits: every candidate that must be accepted."""
        found = tuple(
            candidate
            for candidate in self.candidates(task.id)
            if candidate.expect is not None and candidate.expect.verdict is VerdictStatus.ACCEPTED
        )
        if not found:
            rule = "needs a calibration candidate that is expected to be accepted"
            raise ManifestError(file, "limits.scale", rule)
        return found

    def _folder(self, file: str, task: Task, field: str, path: RelPath) -> str:
        folder = self._files.host_folder(RelPath(f"{task.id}/{path}"))
        if folder is None:
            raise ManifestError(file, field, "names a folder that does not exist")
        return folder

    def _trees(self, file: str, task: Task) -> dict[str, str]:
        """Folders of caches and of services' files, by the names that their pins have."""
        found: dict[str, str] = {}
        for index, name in enumerate(task.caches):
            places = (f"{task.id}/caches/{name}", f"caches/{name}")
            folders = [self._files.host_folder(RelPath(place)) for place in places]
            folder = next((folder for folder in folders if folder is not None), None)
            if folder is None:
                rule = "names no folder in caches of the task or of the suite"
                raise ManifestError(file, f"caches[{index}]", rule)
            found[f"caches/{name}"] = folder
        for index, service in enumerate(task.services):
            if service.files is not None:
                field = f"services[{index}].files"
                found[f"services/{service.id}"] = self._folder(file, task, field, service.files)
        return found

    def _check_graders(self, task: Task, file: str) -> None:
        for index, spec in enumerate(task.graders):
            self._check_grader(task, spec, file, f"graders[{index}]")

    def _check_grader(self, task: Task, spec: GraderSpec, file: str, field: str) -> None:
        grader, options = self._registry.grader(spec, file, field)
        problems = grader_problems(self._registry, task, spec, grader, options)
        if problems:
            raise ManifestError(file, f"{field}.options", printable(problems[0]))

    def _pins_of_all(self, pins: Mapping[str, TaskPins | None]) -> dict[str, TaskPins | None]:
        found: dict[str, TaskPins | None] = {}
        for name in self._files.folders(None):
            file = f"{printable(name)}/{TASK_FILE}"
            if is_slug(name):
                if self._files.read(RelPath(file), MAX_MANIFEST_BYTES) is not None:
                    found[name] = pins.get(name)
            elif self._has_task(name):
                raise ManifestError(file, "", "folder name is not a legal id")
        for task_id in pins:
            if task_id not in found and self._check_pins:
                raise ManifestError(SUITE_FILE, f"tasks.{task_id}", "names a task without folder")
        return found

    def _has_task(self, name: str) -> bool:
        return self._files.read(RelPath(f"{name}/{TASK_FILE}"), MAX_MANIFEST_BYTES) is not None


def grader_problems(
    registry: Registry, task: Task, spec: GraderSpec, grader: Grader, options: Any
) -> tuple[str, ...]:
    """What a grader itself says is wrong with its options; raises PluginFailed."""
    try:
        return grader.check(options, task)
    except AssayError:
        raise
    except Exception as error:
        info = registry.find("assay.graders", spec.use)
        problem = f"check raised {type(error).__name__}"
        raise PluginFailed(info.name, info.distribution, problem) from error


def open_suite(
    location: str, registry: Registry | None = None, *, check_pins: bool = True
) -> Suite:
    """The suite at `builtin:NAME`, `SCHEME:PLACE` or a path.

    With `check_pins` False neither plugins nor a changed task.json are compared with their
    pins. Raises UsageError, InvalidInput, PluginFailed, IdentityMismatch.
    """
    registry = registry or Registry()
    return Suite(open_location(location, registry), registry, check_pins=check_pins)


def load_benchmark_task(
    root: str | Path, task_id: str, *, registry: Registry | None = None
) -> BenchmarkTask:
    """One task of a suite, or of any folder of task folders.

    Raises as `Suite.task` does; an illegal id before anything is looked at.
    """
    slug(task_id, "task id")
    return open_suite(str(root), registry).task(task_id)


def _id_of(name: str) -> str:
    """The id of a suite that declares none: its folder's name, as far as ids allow it."""
    text = "".join(char if char.isascii() and char.isalnum() else "-" for char in name.lower())
    return text[:64].strip("-") or "suite"


def _check_task_pin(task: Task, pins: TaskPins, trees: Collection[str]) -> None:
    hidden = pins.hidden.digest if pins.hidden else None
    is_same = (task.hidden is None) == (hidden is None) and set(trees) == set(pins.trees)
    if not is_same or task_digest(task, hidden, trees=pins.trees) != pins.task:
        raise RevisionMismatch(
            f"task {task.id}: {TASK_FILE} differs from the suite's pin; see `assay lock --check`"
        )

"""What a grader is given: the grading tree, the hidden files, jails, a place for artifacts.

The context hands out no host path. A jail holds a lease on the grading tree for as long as
it lives, and the tree is mounted read-only, so no grader can change what the next one sees.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from attrs import define, field, frozen

from assay.api import (
    Artifacts,
    ChangeSet,
    Command,
    GraderSpec,
    GraderUnfit,
    JailSpec,
    Limits,
    Mount,
    MountKind,
    Outcome,
    Process,
    Profile,
    RelPath,
    Runtime,
    Sandbox,
    Session,
    Task,
    TreeLimit,
    TreeManifest,
    TreeRefused,
    TrustedFiles,
    Workspace,
)
from assay.api.files import open_root, opened, read_file
from assay.fixture_repository import REPOSITORY
from assay.grading_trees import GradingTrees
from assay.metering import unmetered
from assay.redaction import Redactor
from assay.services import Services
from assay.surroundings import surroundings

__all__ = ["GradingContext"]

WORKSPACE = "/workspace"
HIDDEN = "/hidden"


@define
class _LeasedSession:
    """A session; when it is closed, its services end and its leases are given back after it."""

    session: Session
    held: contextlib.ExitStack

    def start(self, command: Command, channels: tuple[str, ...] = ()) -> Process:
        return self.session.start(command, channels)

    def run(self, command: Command) -> Outcome:
        return self.session.run(command)

    def close(self) -> None:
        self.held.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


@frozen
class GradingContext:
    """Implements `assay.api.GradeContext` for one grader of one trial."""

    task: Task
    spec: GraderSpec
    options: Any
    tree: TreeManifest
    hidden: TreeManifest | None
    change_set: ChangeSet
    runtime: Runtime
    artifacts: Artifacts
    redactor: Redactor
    sandbox: Sandbox
    trees: GradingTrees
    fixture_trees: GradingTrees
    hidden_trees: GradingTrees | None
    repository: GradingTrees | None
    fixture_source: str
    hidden_source: str | None
    sources: Mapping[str, str]
    """Host folders of the task's caches and of its services' files, by their pins' names."""
    probing: bool
    """Whether there is no candidate."""
    services: Services = field(init=False)

    @services.default
    def _services(self) -> Services:
        return Services(
            task=self.task,
            runtime=self.runtime,
            sandbox=unmetered(self.sandbox),
            artifacts=self.artifacts,
            variables=surroundings(self.task, self.runtime),
            files=self.sources,
        )

    @property
    def seed(self) -> int:
        """The task's seed."""
        return self.task.seed

    @property
    def limits(self) -> Limits:
        """Bounds of each command."""
        return self.task.limits

    def hidden_file(self, path: str, cap: int) -> bytes:
        """Content of one hidden file; raises GraderUnfit when it is absent or above `cap`."""
        return self._file("hidden", self.hidden, self.hidden_source, path, cap)

    def fixture_file(self, path: str, cap: int) -> bytes:
        """Content of one file of the fixture; raises GraderUnfit as `hidden_file` does."""
        fixture = self.fixture_trees.prepared.manifest
        return self._file("fixture", fixture, self.fixture_source, path, cap)

    def changed_file(self, path: str, cap: int) -> bytes:
        """Content that the candidate gave a file; raises GraderUnfit as `hidden_file` does."""
        write = self.trees.edits.writes.get(RelPath(path))
        if write is None:
            raise GraderUnfit(f"grader {self.spec.id}: the candidate gave no file of this name")
        if len(write.content) > cap:
            raise GraderUnfit(f"grader {self.spec.id}: a changed file is larger than {cap} bytes")
        return write.content

    def _file(
        self, kind: str, tree: TreeManifest | None, source: str | None, path: str, cap: int
    ) -> bytes:
        present = () if tree is None else tree.entries
        if source is None or path not in {entry.path for entry in present}:
            raise GraderUnfit(f"grader {self.spec.id}: the task has no {kind} file of this name")
        try:
            with opened(open_root(source)) as root:
                return read_file(root, RelPath(path), cap)
        except TreeLimit:
            raise GraderUnfit(
                f"grader {self.spec.id}: a {kind} file is larger than {cap} bytes"
            ) from None
        except (TreeRefused, OSError):
            raise GraderUnfit(f"grader {self.spec.id}: a {kind} file can't be read") from None

    def jail(
        self,
        profile: Profile,
        *,
        hidden: bool = False,
        extra: tuple[Mount, ...] = (),
        leave_out: tuple[RelPath, ...] = (),
        restore: tuple[RelPath, ...] = (),
        put: Mapping[RelPath, bytes] | None = None,
        trusted: TrustedFiles | None = None,
    ) -> Session:
        """A jail in the grading tree, or in what `leave_out`, `restore` and `put` make of it.

        With `hidden`, the hidden files are at /hidden; `trusted` files are where they say.
        """
        workspace = self.trees.variant(leave_out, restore, put)
        mounts = workspace.mounts(WORKSPACE, writable=False)
        leased = [workspace]
        if self.repository is not None and profile is not Profile.WORKER:
            # A worker must not find the tests that its tree lacks.
            leased.append(self.repository.variant())
            mounts += leased[-1].mounts(REPOSITORY, writable=False)
        if hidden and self.hidden_source is not None:
            mounts += (Mount(HIDDEN, MountKind.TREE, source=self.hidden_source),)
        if trusted is not None:
            files = self._trusted(trusted)
            mounts += files.mounts(trusted.place, writable=False)
            leased.append(files)
        leases = [one.lease() for one in leased]
        held = contextlib.ExitStack()
        with contextlib.ExitStack() as opening:
            for lease in leases:
                opening.callback(lease.release)
            session = self.sandbox.open(
                JailSpec(
                    profile=profile,
                    runtime=self.runtime,
                    mounts=mounts + self._caches() + extra,
                    limits=self.limits,
                    env=surroundings(self.task, self.runtime),
                    network=self.task.network,
                    cwd=WORKSPACE,
                )
            )
            services = contextlib.ExitStack()
            opening.push(services)
            opening.callback(session.close)
            for service in self.services.beside(session):
                services.callback(service.close)
            held = opening.pop_all()
        return _LeasedSession(session, held)

    def _caches(self) -> tuple[Mount, ...]:
        return tuple(
            Mount(f"/{name}", MountKind.TREE, source=self.sources[name])
            for name in (f"caches/{cache}" for cache in self.task.caches)
        )

    def _trusted(self, files: TrustedFiles) -> Workspace:
        trees = self.hidden_trees if files.hidden else self.fixture_trees
        if trees is None:
            raise GraderUnfit(f"grader {self.spec.id}: the task has no hidden files")
        return trees.variant(leave_out=files.leave_out, put=files.put)

    def cancelled(self) -> bool:
        """Cancellation interrupts the worker itself, so a running grader never polls True."""
        return False

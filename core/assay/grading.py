"""What a grader is given: the grading tree, the hidden files, jails, a place for artifacts.

The context hands out no host path. A jail holds a lease on the grading tree for as long as
it lives, and the tree is mounted read-only, so no grader can change what the next one sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import define, frozen

from assay.api import (
    ChangeSet,
    Command,
    GraderSpec,
    JailSpec,
    Lease,
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
    TreeManifest,
)
from assay.grading_trees import GradingTrees
from assay.ledger import ArtifactFolder

__all__ = ["GradingContext"]

WORKSPACE = "/workspace"
HIDDEN = "/hidden"


@define
class _LeasedSession:
    """A session that gives its lease on the workspace back when it is closed."""

    session: Session
    lease: Lease

    def start(self, command: Command, channels: tuple[str, ...] = ()) -> Process:
        return self.session.start(command, channels)

    def run(self, command: Command) -> Outcome:
        return self.session.run(command)

    def close(self) -> None:
        try:
            self.session.close()
        finally:
            self.lease.release()

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
    artifacts: ArtifactFolder
    sandbox: Sandbox
    trees: GradingTrees
    hidden_source: str | None

    @property
    def seed(self) -> int:
        """The task's seed."""
        return self.task.seed

    @property
    def limits(self) -> Limits:
        """Bounds of each command."""
        return self.task.limits

    def environment(self) -> Mapping[str, str]:
        """Variables of the task, above the fixed ones of every jail."""
        return {
            **self.task.env,
            "PYTHONHASHSEED": str(self.task.seed),
            "ASSAY_SEED": str(self.task.seed),
        }

    def jail(
        self,
        profile: Profile,
        *,
        hidden: bool = False,
        extra: tuple[Mount, ...] = (),
        leave_out: tuple[RelPath, ...] = (),
    ) -> Session:
        """A jail in the grading tree, or in what `leave_out` leaves of it.

        With `hidden`, the hidden files are at /hidden.
        """
        workspace = self.trees.without(leave_out)
        mounts = workspace.mounts(WORKSPACE, writable=False)
        if hidden and self.hidden_source is not None:
            mounts += (Mount(HIDDEN, MountKind.TREE, source=self.hidden_source),)
        lease = workspace.lease()
        try:
            session = self.sandbox.open(
                JailSpec(
                    profile=profile,
                    runtime=self.runtime,
                    mounts=mounts + extra,
                    limits=self.limits,
                    env=dict(self.environment()),
                    network=self.task.network,
                    cwd=WORKSPACE,
                )
            )
        except BaseException:
            lease.release()
            raise
        return _LeasedSession(session, lease)

    def cancelled(self) -> bool:
        """Cancellation interrupts the worker itself, so a running grader never polls True."""
        return False

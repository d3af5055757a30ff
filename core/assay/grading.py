"""What a grader is given: the grading tree, the hidden files, jails, a place for artifacts.

The context hands out no host path. A jail holds a lease on the grading tree for as long as
it lives, and the tree is mounted read-only, so no grader can change what the next one sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import define, frozen

from assay.api import (
    Artifacts,
    ChangeSet,
    Command,
    GraderSpec,
    GraderUnfit,
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
    TreeLimit,
    TreeManifest,
    TreeRefused,
)
from assay.api.files import open_root, opened, read_file
from assay.grading_trees import GradingTrees

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
    artifacts: Artifacts
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

    def hidden_file(self, path: str, cap: int) -> bytes:
        """Content of one hidden file; raises GraderUnfit when it is absent or above `cap`."""
        present = () if self.hidden is None else self.hidden.entries
        if self.hidden_source is None or path not in {entry.path for entry in present}:
            raise GraderUnfit(f"grader {self.spec.id}: the task has no hidden file of this name")
        try:
            with opened(open_root(self.hidden_source)) as root:
                return read_file(root, RelPath(path), cap)
        except TreeLimit:
            raise GraderUnfit(
                f"grader {self.spec.id}: a hidden file is larger than {cap} bytes"
            ) from None
        except (TreeRefused, OSError):
            raise GraderUnfit(f"grader {self.spec.id}: a hidden file can't be read") from None

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

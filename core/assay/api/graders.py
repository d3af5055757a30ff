"""What a grader implements and what it is given.

The context only ever grows; a grader written against an older minor version keeps working.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from attrs import field, frozen

from assay.api.jail import (
    Limits,
    Mount,
    Profile,
    Runtime,
)
from assay.api.records import Facts
from assay.api.sandboxes import Session
from assay.api.tasks import GraderSpec, Task
from assay.api.trees import (
    BlobRef,
    ChangeSet,
    RelPath,
    TreeManifest,
)
from assay.api.trust import Trust

__all__ = ["Artifacts", "GradeContext", "Grader", "GraderNeeds", "TrustedFiles"]


class Artifacts(Protocol):
    """Keeps bytes beside a trial's record."""

    def put(self, name: str, content: bytes) -> BlobRef: ...


@frozen
class GraderNeeds:
    """What a grader needs before it can run: tools of the runtime, hidden files."""

    tools: tuple[str, ...] = ()
    hidden: bool = False


@frozen
class TrustedFiles:
    """A read-only tree beside the grading tree, of files that no candidate wrote.

    They are the task's hidden files or else its fixture, without `leave_out` (paths, with all
    beneath them) and with the content of `put` in place of their own. `place` is absolute.
    """

    place: str
    hidden: bool
    leave_out: tuple[RelPath, ...] = ()
    put: Mapping[RelPath, bytes] = field(factory=dict, repr=False)


class GradeContext(Protocol):
    """What a grader is given; no host path, no verdict."""

    @property
    def task(self) -> Task: ...
    @property
    def spec(self) -> GraderSpec: ...
    @property
    def options(self) -> Any:
        """The structured `Options` of the grader."""
        ...

    @property
    def tree(self) -> TreeManifest:
        """The grading tree."""
        ...

    @property
    def hidden(self) -> TreeManifest | None: ...
    @property
    def change_set(self) -> ChangeSet: ...
    @property
    def runtime(self) -> Runtime: ...
    @property
    def seed(self) -> int: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def artifacts(self) -> Artifacts: ...

    def hidden_file(self, path: str, cap: int) -> bytes:
        """Content of one hidden file of at most `cap` bytes, for data that the grader reads.

        Raises GraderUnfit when the task has no such file or it is larger.
        """
        ...

    def fixture_file(self, path: str, cap: int) -> bytes:
        """Content of one file of the fixture, as `hidden_file` gives that of a hidden one."""
        ...

    def changed_file(self, path: str, cap: int) -> bytes:
        """Content of one file that the candidate added or changed, in the same way."""
        ...

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
        """A jail with the grading tree read-only at /workspace, which is its cwd.

        With `hidden`, the hidden files are read-only at /hidden. The tree lacks the paths of
        `leave_out` and what is beneath them; those of `restore` are as in the fixture, and the
        files of `put` have that content. `trusted` is mounted besides. Raises CopyFailed or
        NoSpace.
        """
        ...

    def cancelled(self) -> bool: ...


class Grader(Protocol):
    """Measures one thing. The class is the plugin; `Options` is a frozen attrs class."""

    api: ClassVar[str]
    name: ClassVar[str]
    version: ClassVar[str]
    Options: ClassVar[type]
    max_trust: ClassVar[Trust]

    def check(self, options: Any, task: Task) -> tuple[str, ...]:
        """Problems of the options for this task, as sentences; pure."""
        ...

    def needs(self, options: Any, task: Task) -> GraderNeeds: ...

    def grade(self, ctx: GradeContext) -> Facts:
        """Measure. Raises GraderUnfit or another Fault when the fault is not the candidate's."""
        ...

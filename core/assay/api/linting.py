"""What a grader may offer to `assay lint`: rules about its own tests, and its modes.

Both are optional: a grader without them is graded as before, and lint says that it looked at
nothing. Everything here is pure; no test file is ever imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, ClassVar, Protocol, runtime_checkable

from attrs import frozen

from assay.api.tasks import Task
from assay.api.trees import RelPath
from assay.api.trust import Trust

__all__ = [
    "LintFinding",
    "LintRule",
    "LintSeverity",
    "LintedSuite",
    "LintedTask",
    "LintingGrader",
    "ModalGrader",
    "SuiteFinding",
    "SuiteLinter",
    "TaskFiles",
]


class LintSeverity(Enum):
    """What a finding means for grades, gravest first."""

    HAZARD = "hazard"
    """A wrong candidate can win, or can act where it must not."""
    UNSUPPORTED = "unsupported"
    """The grader can't judge this: a grade would be unfit, or no candidate could be accepted."""
    WEAK = "weak"
    """It is judged, but proves little."""
    PUBLISHING = "publishing"
    """No grade depends on it, but others should not see it, or can't do without it."""


@frozen
class LintRule:
    """One rule. `id` is a slug that no other rule has.

    `follows` is one sentence that says what follows from a finding, `cure` one that says what
    to do.
    """

    id: str
    severity: LintSeverity
    follows: str
    cure: str


@frozen
class LintFinding:
    """One place where a rule is broken.

    `file` is relative to the graded tree, or to the hidden files if `hidden`; empty when the
    finding is about no file. `line` counts from 1, 0 for the whole file. `test` is the test's
    id without its file and parameters. `detail` is a few words, without quoted content.
    `excuse` is the author's reason to keep it, from a comment in the file: it then fails nothing.
    """

    rule: str
    file: str = ""
    hidden: bool = False
    line: int = 0
    test: str = ""
    detail: str = ""
    excuse: str = ""


class TaskFiles(Protocol):
    """The files of one task as bytes; `hidden` chooses between fixture and hidden files."""

    def paths(self, *, hidden: bool) -> tuple[RelPath, ...]:
        """All files in the order of their paths; none when the task has no hidden files."""
        ...

    def read(self, path: str, cap: int, *, hidden: bool) -> bytes | None:
        """Content of one file; None when it is absent or larger than `cap`."""
        ...


@runtime_checkable
class LintingGrader(Protocol):
    """A grader that knows what is wrong with tests of its kind."""

    lint_rules: ClassVar[tuple[LintRule, ...]]

    def lint(self, options: Any, task: Task, files: TaskFiles) -> tuple[LintFinding, ...]:
        """Every finding, in any order; only for rules of `lint_rules`. Never raises on content."""
        ...


@runtime_checkable
class ModalGrader(Protocol):
    """A grader that can run the same tests with different trust."""

    def modes(self, options: Any, task: Task) -> Mapping[Trust, Any]:
        """Options for the same tests by the trust of their facts, `options` itself among them."""
        ...


@frozen
class SuiteFinding:
    """One place in a suite where a rule about publishing is broken.

    `task` is empty for the suite as a whole, `file` relative to the suite's folder. `detail` is a
    few words without quoted content, `excuse` the author's reason to keep it.
    """

    rule: str
    task: str = ""
    file: str = ""
    line: int = 0
    detail: str = ""
    excuse: str = ""


class LintedTask(Protocol):
    """What a rule about suites sees of one task."""

    @property
    def task(self) -> Task: ...

    @property
    def files(self) -> TaskFiles: ...

    @property
    def gold(self) -> tuple[Mapping[RelPath, bytes], ...]:
        """For each candidate that must be accepted, the files that it writes."""
        ...


class LintedSuite(Protocol):
    """What a rule about suites sees: tasks that could be loaded, and all files as bytes."""

    @property
    def tasks(self) -> tuple[LintedTask, ...]: ...

    def paths(self) -> tuple[RelPath, ...]:
        """All files that are looked at, relative to the suite's folder, sorted."""
        ...

    def read(self, path: RelPath, cap: int) -> bytes | None:
        """Content of one file; None when it is absent or larger than `cap`."""
        ...


@runtime_checkable
class SuiteLinter(Protocol):
    """A plugin of the group `assay.lint_rules`: rules about suites, pure and made for reading."""

    api: ClassVar[str]
    name: ClassVar[str]
    lint_rules: ClassVar[tuple[LintRule, ...]]

    def lint_suite(self, suite: LintedSuite) -> Iterable[SuiteFinding]:
        """Every finding, in any order; only for rules of `lint_rules`. Never raises on content."""
        ...

"""What guarded runs must know of the language of the tests."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from attrs import field, frozen

from assay.api import Command, GradeContext, Mount, RelPath
from assay_graders.evident.canaries import Canaries
from assay_graders.evident.changed import ChangedCode
from assay_graders.evident.guarded_report import GuardedReport
from assay_graders.evident.judging import Shown

__all__ = ["GuardedTests", "Language", "OtherTrees"]


@frozen
class OtherTrees:
    """Files to put into the graded tree, where the runner does not restore modules itself.

    `pristine` is for the run without the candidate; `broken` for the one in which its code runs
    and is then what the fixture had, where `restore` are paths that are as in the fixture.
    """

    pristine: Mapping[RelPath, bytes] = field(factory=dict)
    broken: Mapping[RelPath, bytes] = field(factory=dict)
    restore: tuple[RelPath, ...] = ()


class Language(ABC):
    """How test files of one kind are started, named, arranged and changed."""

    suffixes: ClassVar[tuple[str, ...]]
    most_code: ClassVar[int | None] = None
    """Bytes of a changed file above which it can't be made ready for guarded runs."""
    guards: ClassVar[tuple[str, ...]]
    """Guards that the process of the tests measures itself."""
    is_placed: ClassVar[bool]
    """Whether a test keeps its place, but perhaps not its id, when a file is changed."""
    mark: ClassVar[str]
    """What follows the id of a test in those of its parts."""

    @abstractmethod
    def command(self, ctx: GradeContext, argument: str) -> Command:
        """What to start for `run`, or for `probe`, with the tests' absolute files elsewhere."""

    @abstractmethod
    def programs(self) -> tuple[Mount, ...]:
        """What the command needs at /assay."""

    @abstractmethod
    def file_of(self, test: str) -> str:
        """The test file of an id."""

    @abstractmethod
    def stem(self, test: str) -> str:
        """An id without what belongs to its parameters."""

    @abstractmethod
    def canaries(
        self, files: Mapping[str, bytes], tests: Sequence[str], seed: str, secret: random.Random
    ) -> Canaries:
        """Changes that make tests (ids without parameters) fail."""

    @abstractmethod
    def shown(self, real: GuardedReport, pristine: GuardedReport, order: str) -> Shown:
        """What the order of the tests and the origins of modules show."""

    def arranged(self, files: Mapping[str, bytes], order: str) -> dict[str, bytes]:
        """The test files as they are run: in the order that comes from this seed."""
        return dict(files)

    def beside(self, ctx: GradeContext, code: tuple[RelPath, ...]) -> dict[RelPath, bytes]:
        """Files beside the tests, in place of the graded code that they would find there."""
        return {}

    def settings(self) -> dict[str, object]:
        """More of the configuration of a run."""
        return {}

    def other_trees(self, ctx: GradeContext, changed: ChangedCode) -> OtherTrees:
        """What stands in the graded tree in the other runs."""
        return OtherTrees()


@frozen
class GuardedTests:
    """What is to be run: test files below the base, expected ids, folders of graded code."""

    tests: tuple[str, ...]
    expect: tuple[str, ...]
    hidden: bool
    roots: tuple[str, ...]
    language: Language

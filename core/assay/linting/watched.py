"""Measuring graders one by one: what a grader can't judge doesn't stop the others.

What an isolated grader notes about each test (`isolation.json`) is kept even if it then finds
itself unfit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import define, evolve, field, frozen

from assay.api import (
    API_VERSION,
    BlobRef,
    Digest,
    Facts,
    GradeContext,
    Grader,
    GraderNeeds,
    GraderUnfit,
    PluginFailed,
    Task,
    TestOutcome,
    TestResult,
    Trust,
)
from assay.ledger import ArtifactFolder
from assay.strict_json import load
from assay.structuring import structure

__all__ = ["Seen", "TestUse", "Watched"]

ISOLATION = "isolation.json"
_MAX_BYTES = 64 * 1024**2
_SCHEMA = 1


@frozen
class TestUse:
    """How one test used an isolated grader; docs/formats/run-folder.md describes the keys."""

    __test__ = False

    id: str
    outcome: str
    level: int
    features: tuple[str, ...]
    trips: int
    codes: tuple[str, ...]
    unsupported: tuple[str, ...]


@frozen
class _Files:
    features: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()


@frozen
class _Document:
    schema: int
    files: _Files
    tests: tuple[TestUse, ...]


@frozen
class Seen:
    """What one grader measured of one tree.

    `outcomes` are by test id, and empty if a limit was reached. `uses` are there for an
    isolated run; `unfit_files` are its codes from loading the test files.
    """

    outcomes: Mapping[str, TestOutcome]
    uses: tuple[TestUse, ...] = ()
    unfit_files: tuple[str, ...] = ()
    unfit: str = ""

    def passes(self, test: str) -> bool:
        """Whether this test passed."""
        return self.outcomes.get(test) is TestOutcome.PASSED


@define
class _Noting:
    """Keeps artifacts as the folder does, and notes their names."""

    folder: ArtifactFolder
    noted: dict[str, BlobRef]

    def put(self, name: str, content: bytes) -> BlobRef:
        self.noted[name] = self.folder.put(name, content)
        return self.noted[name]


@define
class Watched:
    """Stands for a grader in one trial; without `inner` it measures nothing."""

    api: ClassVar[str] = API_VERSION
    name: ClassVar[str] = "watched"
    version: ClassVar[str] = "1"
    Options: ClassVar[type] = object
    max_trust: ClassVar[Trust] = Trust.ISOLATED

    inner: Grader | None
    _noted: dict[str, BlobRef] = field(factory=dict)
    _unfit: str = ""

    def check(self, options: Any, task: Task) -> tuple[str, ...]:
        """Nothing more: the options were checked already."""
        return ()

    def needs(self, options: Any, task: Task) -> GraderNeeds:
        """What the grader needs."""
        return GraderNeeds() if self.inner is None else self.inner.needs(options, task)

    def grade(self, ctx: Any) -> Facts:
        """The grader's facts; when it finds itself unfit, facts that no one passes."""
        if self.inner is None:
            return self._nothing(ctx)
        try:
            return self.inner.grade(evolve(ctx, artifacts=_Noting(ctx.artifacts, self._noted)))
        except GraderUnfit as error:
            self._unfit = str(error)
            return self._nothing(ctx)

    def seen(self, facts: Facts | None, artifacts: ArtifactFolder) -> Seen:
        """What was measured, from the facts that the trial kept; raises PluginFailed."""
        document = self._document(artifacts)
        if self._unfit or facts is None:
            outcomes = {use.id: _outcome(use.outcome) for use in document.tests}
        else:
            outcomes = {test.id: test.outcome for test in facts.tests}
        return Seen(outcomes, document.tests, document.files.unsupported, self._unfit)

    def _nothing(self, ctx: GradeContext) -> Facts:
        return Facts(
            grader=ctx.spec.id,
            plugin=self.name,
            role=ctx.spec.role,
            version=self.version,
            options_digest=Digest(""),
            completed=True,
            trust=Trust.UNGUARDED,
            tests=(TestResult("not-measured", TestOutcome.ERROR),),
        )

    def _document(self, artifacts: ArtifactFolder) -> _Document:
        ref = self._noted.get(ISOLATION)
        if ref is None:
            return _Document(_SCHEMA, _Files(), ())
        content = artifacts.get(ref)
        found = structure(_Document, load(content, ISOLATION, max_bytes=_MAX_BYTES), ISOLATION)
        if found.schema != _SCHEMA:
            raise PluginFailed(self.name, "", f"{ISOLATION} has another schema")
        return found


def _outcome(text: str) -> TestOutcome:
    known = {outcome.value: outcome for outcome in TestOutcome}
    return known.get(text, TestOutcome.ERROR)

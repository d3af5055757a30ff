"""What suite readers, executors and reporters implement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any, ClassVar, Protocol, runtime_checkable

from attrs import frozen

from assay.api.records import TrialRecord, TrialSpec
from assay.api.trees import (
    RelPath,
)

__all__ = [
    "Executor",
    "ExecutorSetup",
    "Pool",
    "Reporter",
    "RunTrial",
    "SuiteFiles",
    "SuiteReader",
    "TrialFactory",
]


class SuiteFiles(Protocol):
    """A suite as files in the documented layout, wherever they come from.

    The framework itself parses and checks what is read; a reader only finds bytes.
    """

    @property
    def name(self) -> str:
        """Name to show and to fall back on as the suite's id; never a host path."""
        ...

    def read(self, path: RelPath, cap: int) -> bytes | None:
        """Content of one regular file, no-follow; None when absent. TreeLimit above `cap`."""
        ...

    def folders(self, path: RelPath | None) -> tuple[str, ...]:
        """Names of the folders in a folder (None: the root), sorted; () when absent."""
        ...

    def files(self, path: RelPath) -> tuple[RelPath, ...]:
        """Paths, below a folder and relative to it, of all regular files, sorted.

        Raises TreeRefused for anything but regular files and folders.
        """
        ...

    def host_folder(self, path: RelPath) -> str | None:
        """Where a folder is on this host, for hashers and copiers only; None when absent."""
        ...


@runtime_checkable
class SuiteReader(Protocol):
    """Opens suites of one format; `scheme` is what stands before the colon of a location."""

    api: ClassVar[str]
    scheme: ClassVar[str]

    def sniff(self, location: str) -> bool:
        """Whether a location without a scheme looks like this format."""
        ...

    def open(self, location: str) -> SuiteFiles: ...


class Pool(Protocol):
    """Workers of one run."""

    def run(self, specs: Iterable[TrialSpec]) -> Iterator[TrialRecord]:
        """Exactly one record per spec, in order of completion, fed lazily."""
        ...

    def cancel(self) -> None: ...

    def close(self) -> None: ...


class Executor(Protocol):
    """Runs trials somewhere; every worker calls the setup's factory once."""

    api: ClassVar[str]
    name: ClassVar[str]

    def open(self, setup: ExecutorSetup) -> Pool: ...


class RunTrial(Protocol):
    """What a worker calls for each spec."""

    def __call__(self, spec: TrialSpec) -> TrialRecord: ...


class TrialFactory(Protocol):
    """Picklable maker of a worker's trial function; called once in each worker."""

    def __call__(self) -> RunTrial: ...


@frozen
class ExecutorSetup:
    """How an executor's workers get ready, and how many there are."""

    factory: TrialFactory
    workers: int


@runtime_checkable
class Reporter(Protocol):
    """Writes one format from a run's report; every string in it may be hostile."""

    api: ClassVar[str]
    format: ClassVar[str]
    suffix: ClassVar[str]

    def render(self, report: Mapping[str, Any], out: IO[bytes]) -> None: ...

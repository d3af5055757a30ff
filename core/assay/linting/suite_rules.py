"""Rules about a suite as a whole come from a registry: the group `assay.lint_rules`.

Ours are entered there like anybody's. What a rule is shown is bytes and parsed manifests; a rule
that breaks its contract is an error that names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import field, frozen

from assay.api import (
    AssayError,
    Candidate,
    CandidateMalformed,
    InvalidInput,
    LintedSuite,
    PluginFailed,
    RelPath,
    SuiteFiles,
    SuiteFinding,
    SuiteLinter,
    Task,
    TaskFiles,
    TreeLimit,
    TreeManifest,
    TreeRefused,
    UsageError,
    VerdictStatus,
)
from assay.api.files import open_root, opened, read_file
from assay.benchmark import BenchmarkTask
from assay.candidates import edits
from assay.linting.papers import LICENCES, READMES
from assay.linting.report import Finding
from assay.plugins import Registry

__all__ = ["GROUP", "SeenSuite", "SeenTask", "gold_files", "lint_with_rules"]

GROUP = "assay.lint_rules"
_ROOT_FILES = (RelPath("suite.json"), *LICENCES, *READMES)
_MOST = 512 * 1024**2


@frozen
class SeenTask:
    """Implements `assay.api.LintedTask`."""

    task: Task
    files: TaskFiles
    gold: tuple[Mapping[RelPath, bytes], ...] = field(repr=False)


@frozen
class SeenSuite:
    """Implements `assay.api.LintedSuite` over a suite's files."""

    tasks: tuple[SeenTask, ...]
    _files: SuiteFiles
    _folders: Sequence[str]

    def paths(self) -> tuple[RelPath, ...]:
        """Files of the tasks, and those of the suite's own that have a known name."""
        found = {path for path in _ROOT_FILES if self._is_there(path)}
        for folder in self._folders:
            try:
                below = self._files.files(RelPath(folder))
            except InvalidInput:
                # Links and the like are a finding of another rule.
                continue
            found |= {RelPath(f"{folder}/{path}") for path in below}
        return tuple(sorted(found))

    def read(self, path: RelPath, cap: int) -> bytes | None:
        """Content of one file; None when it is absent or larger than `cap`."""
        try:
            return self._files.read(path, cap)
        except InvalidInput:
            return None

    def _is_there(self, path: RelPath) -> bool:
        return self.read(path, _MOST) is not None


def gold_files(
    benchmark: BenchmarkTask, manifest: TreeManifest | None, candidates: Iterable[Candidate]
) -> tuple[Mapping[RelPath, bytes], ...]:
    """What each candidate that must be accepted writes; one that can't be applied is left out."""
    if manifest is None:
        return ()
    sizes = {entry.path: entry.size for entry in manifest.entries}
    found = []
    with opened(open_root(benchmark.fixture)) as root:
        for candidate in candidates:
            if candidate.expect and candidate.expect.verdict is VerdictStatus.ACCEPTED:
                try:
                    wish = edits(
                        candidate, manifest, lambda path: read_file(root, path, sizes.get(path, 0))
                    )
                except (CandidateMalformed, TreeLimit, TreeRefused, OSError):
                    continue
                found.append({path: write.content for path, write in wish.writes.items()})
    return tuple(found)


def lint_with_rules(suite: LintedSuite, registry: Registry) -> Iterator[Finding]:
    """Findings of every linter that is installed; raises PluginFailed for one that fails."""
    owners: dict[str, str] = {}
    for name in registry.names(GROUP):
        linter: SuiteLinter = registry.make(GROUP, name)
        rules = {rule.id: rule for rule in linter.lint_rules}
        for rule in rules:
            if rule in owners:
                raise UsageError(f"lint rule {rule} is both in {owners[rule]} and in {name}")
            owners[rule] = name
        for found in _findings(linter, suite, registry, name):
            if not isinstance(found, SuiteFinding) or found.rule not in rules:
                raise _failed(registry, name, "gives something else than findings of its rules")
            yield Finding(
                rules[found.rule],
                found.task,
                file=found.file,
                line=found.line,
                detail=found.detail,
                excuse=found.excuse,
            )


def _findings(
    linter: SuiteLinter, suite: LintedSuite, registry: Registry, name: str
) -> tuple[SuiteFinding, ...]:
    try:
        return tuple(linter.lint_suite(suite))
    except AssayError:
        raise
    except Exception as error:
        problem = f"lint_suite raised {type(error).__name__}"
        raise _failed(registry, name, problem) from error


def _failed(registry: Registry, name: str, problem: str) -> PluginFailed:
    info = registry.find(GROUP, name)
    return PluginFailed(info.name, info.distribution, problem)

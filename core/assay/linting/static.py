"""Lint by reading: manifests, trees, pins, and whatever the graders know about their tests.

Nothing is started and nothing of the suite is imported. A task that can't be loaded is a
finding, so that the others are looked at all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from attrs import frozen

from assay.api import (
    AssayError,
    Candidate,
    EntryKind,
    Grader,
    GraderRole,
    GraderSpec,
    Hasher,
    InvalidInput,
    LintFinding,
    LintingGrader,
    ModalGrader,
    PluginFailed,
    RelPath,
    Scan,
    Task,
    TaskPins,
    TreeLimit,
    TreeRefused,
    Trust,
    UsageError,
    VerdictStatus,
)
from assay.api.files import open_root, opened, read_file
from assay.benchmark import BenchmarkTask
from assay.linting.report import Finding, LintReport, finding, in_order
from assay.linting.rules import SUITE_RULES
from assay.linting.suite_rules import SeenSuite, SeenTask, gold_files, lint_with_rules
from assay.locking import DEFAULT_HASHER
from assay.plugins import Registry
from assay.revisions import task_digest
from assay.suites import Suite, grader_problems
from assay.tree import scan_folder

__all__ = ["chosen_tasks", "lint_suite", "see_task", "trust_given"]

_RULES = {rule.id: rule for rule in SUITE_RULES}


@frozen
class _Files:
    """Implements `assay.api.TaskFiles` over the folders of a task."""

    folders: dict[bool, str | None]
    found: dict[bool, tuple[RelPath, ...]]

    def paths(self, *, hidden: bool) -> tuple[RelPath, ...]:
        return self.found[hidden]

    def read(self, path: str, cap: int, *, hidden: bool) -> bytes | None:
        folder = self.folders[hidden]
        if folder is None or path not in self.found[hidden]:
            return None
        try:
            with opened(open_root(folder)) as root:
                return read_file(root, RelPath(path), cap)
        except (TreeLimit, TreeRefused, OSError):
            return None


def lint_suite(suite: Suite, registry: Registry, only: Collection[str] = ()) -> LintReport:
    """Findings about the suite's tasks; raises UsageError for an unknown one in `only`.

    Raises PluginFailed when a grader's own lint fails.
    """
    hasher: Hasher = registry.make("assay.hashers", DEFAULT_HASHER)
    tasks = chosen_tasks(suite, only)
    findings: list[Finding] = []
    unread: list[tuple[str, str]] = []
    seen: list[SeenTask] = []
    retired: list[str] = []
    for task_id in tasks:
        try:
            benchmark = suite.task(task_id, check_graders=False)
            scans = {hidden: _scan(benchmark, hasher, hidden=hidden) for hidden in (False, True)}
            candidates = suite.candidates(task_id)
        except AssayError as error:
            findings.append(_suite_finding("invalid-task", task_id, detail=str(error)))
            continue
        if benchmark.task.retired is not None and task_id not in only:
            retired.append(task_id)
            continue
        expected = {item.expect.verdict for item in candidates if item.expect is not None}
        seen.append(_seen(benchmark, scans, candidates))
        findings += _of_task(benchmark, scans)
        findings += _of_calibration(task_id, expected)
        for index, spec in enumerate(benchmark.task.graders):
            found = _Graders(registry, benchmark, scans, index, spec)
            findings += found.lint()
            if not found.has_rules():
                unread.append((task_id, spec.id))
    looked_at = tuple(task_id for task_id in tasks if task_id not in retired)
    findings += lint_with_rules(SeenSuite(tuple(seen), suite.files, tasks), registry)
    return LintReport(
        suite=suite.header.id,
        tasks=looked_at,
        retired=tuple(retired),
        findings=in_order(findings),
        unread=tuple(unread),
    )


def see_task(suite: Suite, benchmark: BenchmarkTask, hasher: Hasher) -> SeenTask:
    """What rules about suites see of one task; raises what loading its candidates raises."""
    scans = {hidden: _scan(benchmark, hasher, hidden=hidden) for hidden in (False, True)}
    return _seen(benchmark, scans, suite.candidates(benchmark.id))


def _seen(
    benchmark: BenchmarkTask, scans: dict[bool, Scan | None], candidates: Iterable[Candidate]
) -> SeenTask:
    fixture = scans[False]
    manifest = None if fixture is None else fixture.manifest
    gold = gold_files(benchmark, manifest, candidates)
    return SeenTask(benchmark.task, _files(benchmark, scans), gold)


def _files(benchmark: BenchmarkTask, scans: dict[bool, Scan | None]) -> _Files:
    return _Files(
        {False: benchmark.fixture, True: benchmark.hidden},
        {hidden: _paths(scan) for hidden, scan in scans.items()},
    )


def chosen_tasks(suite: Suite, only: Collection[str]) -> tuple[str, ...]:
    """Ids of the tasks to look at, sorted.

    Raises UsageError for an unknown one, InvalidInput if there are none at all.
    """
    known = suite.task_ids()
    if not known:
        raise InvalidInput(f"suite {suite.header.id}: has no task")
    if set(only) - set(known):
        raise UsageError(f"unknown task; known: {', '.join(known)}")
    return tuple(task_id for task_id in known if not only or task_id in only)


def trust_given(grader: Grader, options: Any, task: Task) -> Trust:
    """The most trust that a grader's facts can have with these options."""
    if isinstance(grader, ModalGrader):
        for trust, other in grader.modes(options, task).items():
            if other == options:
                return trust
    return grader.max_trust


def _scan(benchmark: BenchmarkTask, hasher: Hasher, *, hidden: bool) -> Scan | None:
    folder = benchmark.hidden if hidden else benchmark.fixture
    return None if folder is None else scan_folder(folder, hasher)


def _of_task(benchmark: BenchmarkTask, scans: dict[bool, Scan | None]) -> Iterator[Finding]:
    task = benchmark.task
    for hidden, scan in scans.items():
        folder = task.hidden if hidden else task.fixture
        for path in scan.ignored if scan is not None else ():
            yield _suite_finding("ignored-entry", task.id, file=f"{task.id}/{folder}/{path}")
    required = [spec for spec in task.graders if spec.required]
    if not required:
        yield _suite_finding("no-required-grader", task.id)
    elif not any(spec.role is GraderRole.HIDDEN for spec in required):
        yield _suite_finding("no-hidden-grader", task.id)
    if benchmark.pins is None:
        yield _suite_finding("unpinned", task.id)
    elif names := _drift(task, scans, benchmark.pins):
        yield _suite_finding("pin-differs", task.id, detail=", ".join(names))


def _drift(task: Task, scans: dict[bool, Scan | None], pins: TaskPins) -> list[str]:
    refs = {
        hidden: None if scan is None or scan.manifest is None else scan.manifest.ref
        for hidden, scan in scans.items()
    }
    hidden = refs[True]
    digest = task_digest(task, None if hidden is None else hidden.digest, trees=pins.trees)
    pairs = {
        "fixture": (pins.fixture, refs[False]),
        "hidden": (pins.hidden, hidden),
        "task": (pins.task, digest),
    }
    return [name for name, (pinned, found) in pairs.items() if pinned != found]


def _of_calibration(task_id: str, expected: Collection[VerdictStatus]) -> Iterator[Finding]:
    if VerdictStatus.ACCEPTED not in expected:
        yield _suite_finding("no-gold", task_id)
    if VerdictStatus.REJECTED not in expected:
        yield _suite_finding("no-must-fail", task_id)


def _suite_finding(rule: str, task_id: str, **more: Any) -> Finding:
    return Finding(rule=_RULES[rule], task=task_id, **more)


@frozen
class _Graders:
    """Lint of one grader of one task."""

    registry: Registry
    benchmark: BenchmarkTask
    scans: dict[bool, Scan | None]
    index: int
    spec: GraderSpec

    def lint(self) -> Iterator[Finding]:
        """What its options and its tests are up to; raises PluginFailed."""
        task, spec = self.benchmark.task, self.spec
        try:
            grader, options = self._made()
            problems = grader_problems(self.registry, task, spec, grader, options)
        except AssayError as error:
            yield self._about("invalid-options", str(error))
            return
        for problem in problems:
            yield self._about("invalid-options", problem)
        if problems:
            return
        given = trust_given(grader, options, task)
        if spec.required and given < task.require_trust:
            yield self._about("low-trust", f"{given.value} instead of {task.require_trust.value}")
        if isinstance(grader, LintingGrader):
            rules = {rule.id: rule for rule in grader.lint_rules}
            for found in self._found(grader, options):
                if not isinstance(found, LintFinding) or found.rule not in rules:
                    raise self._failed("lint gives something else than findings of its rules")
                yield finding(rules[found.rule], found, task, spec.id)

    def has_rules(self) -> bool:
        """Whether anything reads this grader's tests."""
        try:
            return isinstance(self._made()[0], LintingGrader)
        except AssayError:
            return True

    def _made(self) -> tuple[Grader, Any]:
        return self.registry.grader(self.spec, f"{self.benchmark.id}/task.json", self._field())

    def _field(self) -> str:
        return f"graders[{self.index}]"

    def _about(self, rule: str, detail: str) -> Finding:
        return _suite_finding(rule, self.benchmark.id, grader=self.spec.id, detail=detail)

    def _found(self, grader: LintingGrader, options: Any) -> tuple[LintFinding, ...]:
        try:
            return tuple(
                grader.lint(options, self.benchmark.task, _files(self.benchmark, self.scans))
            )
        except AssayError:
            raise
        except Exception as error:
            raise self._failed(f"lint raised {type(error).__name__}") from error

    def _failed(self, problem: str) -> PluginFailed:
        info = self.registry.find("assay.graders", self.spec.use)
        return PluginFailed(info.name, info.distribution, problem)


def _paths(scan: Scan | None) -> tuple[RelPath, ...]:
    if scan is None or scan.manifest is None:
        return ()
    return tuple(entry.path for entry in scan.manifest.entries if entry.kind is EntryKind.FILE)

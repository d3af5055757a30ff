"""What lint found, in one canonical order, and what follows for the exit code."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve, frozen

from assay.api import InvalidInput, LintFinding, LintRule, LintSeverity, Task
from assay.linting.rules import order_of

__all__ = ["Finding", "LintReport", "finding", "in_order"]


_FAILING = (LintSeverity.HAZARD, LintSeverity.UNSUPPORTED)
_UNLOADABLE = frozenset({"invalid-task", "invalid-options", "no-required-grader"})


@frozen
class Finding:
    """One finding in one suite. `file` is relative to the suite's folder."""

    rule: LintRule
    task: str
    grader: str = ""
    file: str = ""
    line: int = 0
    test: str = ""
    detail: str = ""
    excuse: str = ""

    @property
    def key(self) -> tuple[int, str, str, str, str, int, str, str]:
        """Its place in the order of findings."""
        return (
            order_of(self.rule.severity),
            self.rule.id,
            self.task,
            self.grader,
            self.file,
            self.line,
            self.test,
            self.detail,
        )

    def fails(self, *, strict: bool) -> bool:
        """Whether it makes the suite fail."""
        return not self.excuse and (strict or self.rule.severity in _FAILING)


@frozen
class LintReport:
    """All findings in order; `unread` are the graders (task, id) that have no rules."""

    suite: str
    tasks: tuple[str, ...]
    findings: tuple[Finding, ...]
    unread: tuple[tuple[str, str], ...] = ()
    retired: tuple[str, ...] = ()
    """Tasks of which only their files were looked at."""

    def with_findings(self, more: Iterable[Finding]) -> LintReport:
        """The same report with more findings in it."""
        return evolve(self, findings=in_order((*self.findings, *more)))

    def loadable(self) -> tuple[str, ...]:
        """The tasks without a finding that keeps them from being run."""
        broken = {found.task for found in self.findings if found.rule.id in _UNLOADABLE}
        return tuple(task for task in self.tasks if task not in broken)

    def exit_code(self, *, strict: bool) -> int:
        """0, or that of invalid input when a finding fails."""
        fails = any(found.fails(strict=strict) for found in self.findings)
        return InvalidInput.exit_code if fails else 0


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each finding once, in canonical order."""
    return tuple(sorted(set(findings), key=lambda found: found.key))


def finding(rule: LintRule, found: LintFinding, task: Task, grader: str) -> Finding:
    """A grader's finding, with the path that the suite's folder has for its file."""
    folder = task.hidden if found.hidden else task.fixture
    return Finding(
        rule=rule,
        task=task.id,
        grader=grader,
        file=f"{task.id}/{folder}/{found.file}" if found.file else "",
        line=found.line,
        test=found.test,
        detail=found.detail,
        excuse=found.excuse,
    )

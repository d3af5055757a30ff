"""What `assay lint` shows on a terminal: findings by rule, then what driving showed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from statistics import median_high

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.linting.driven import GraderRun
from assay.linting.driving import Driven
from assay.linting.report import Finding, LintReport
from assay.reports.tables import safe, sentence
from assay.token_shapes import detector

__all__ = ["show"]


def show(report: LintReport, driven: Driven | None, console: Console) -> None:
    """Print everything; names may be hostile."""
    if driven is not None and driven.runs:
        console.print(_driven_table(driven.runs))
        console.print()
        _show_survivors(driven.runs, console)
    standing = [found for found in report.findings if not found.excuse]
    for _, group in groupby(standing, key=lambda found: found.rule.id):
        _show_rule(tuple(group), console)
    for found in report.findings:
        if found.excuse:
            text = f"kept {found.rule.id} {_place(found)}: {found.excuse}"
            console.print(sentence(text), style="dim")
    if report.unread:
        names = ", ".join(f"{task}/{grader}" for task, grader in report.unread)
        console.print(sentence(f"not read, for want of rules: {names}"), style="dim")
    if report.retired:
        names = ", ".join(report.retired)
        console.print(sentence(f"retired, so only their files were read: {names}"), style="dim")
    if not detector():
        text = "secrets are searched for by assay's own patterns; assay[secrets] has more"
        console.print(text, style="dim")
    for item in () if driven is None else driven.skipped:
        console.print(sentence(f"not driven {item.task}: {item.reason}"))
    console.print(_summary(len(report.tasks), standing))


def _summary(tasks: int, standing: Sequence[Finding]) -> str:
    severities = dict.fromkeys(found.rule.severity for found in standing)
    counts = [
        f"{sum(found.rule.severity is severity for found in standing)} {severity.value}"
        for severity in severities
    ]
    noun = "task" if tasks == 1 else "tasks"
    return f"{tasks} {noun}: {', '.join(counts) or 'nothing found'}"


def _show_rule(group: Sequence[Finding], console: Console) -> None:
    rule = group[0].rule
    console.print(Text(rule.severity.value), safe(rule.id), style="bold")
    console.print(Text("  "), sentence(f"{rule.follows} {rule.cure}"), sep="")
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column("", width=2)
    columns = (
        [safe(_place(found)) for found in group],
        [safe(found.test) for found in group],
        [sentence(found.detail) for found in group],
    )
    filled = [column for column in columns if any(cell.plain for cell in column)]
    for _ in filled:
        table.add_column(overflow="fold")
    for cells in zip(*filled, strict=True):
        table.add_row("", *cells)
    console.print(table)
    console.print()


def _place(found: Finding) -> str:
    if found.file:
        return f"{found.file}:{found.line}" if found.line else found.file
    return f"{found.task}/{found.grader}" if found.grader else found.task or "the suite"


def _show_survivors(runs: Sequence[GraderRun], console: Console) -> None:
    """Wrong candidates that every test of a grader lets through, with the place of the mistake."""
    for run in runs:
        for mutant in run.mutants:
            if mutant.survives:
                text = f"survives {run.task}/{run.grader}: {mutant.id}: {mutant.what}"
                console.print(sentence(text))
    if any(mutant.survives for run in runs for mutant in run.mutants):
        console.print()


def _driven_table(runs: Sequence[GraderRun]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("task", "grader", "trust"):
        table.add_column(name, overflow="fold")
    for name in ("isolated tests", "highest level", "trips", "killed in process", "isolated"):
        table.add_column(name, justify="right")
    for run in runs:
        table.add_row(safe(run.task), safe(run.grader), run.trust.value, *_tests(run), *_kills(run))
    return table


def _tests(run: GraderRun) -> tuple[str, str, str]:
    if not run.tests:
        return "–", "–", "–"
    passed = sum(use.outcome == "passed" for use in run.tests)
    trips = [use.trips for use in run.tests]
    return (
        f"{passed}/{len(run.tests)}",
        str(max(use.level for use in run.tests)),
        f"{median_high(trips)}, at most {max(trips)}",
    )


def _kills(run: GraderRun) -> tuple[str, str]:
    if not run.mutants:
        return "–", "–"
    of = len(run.mutants)
    plain = sum(bool(mutant.in_process) for mutant in run.mutants)
    isolated = sum(bool(mutant.isolated) for mutant in run.mutants)
    return f"{plain}/{of}", f"{isolated}/{of}"

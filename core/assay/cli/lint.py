"""`assay lint`: what is wrong with a suite's tasks and tests, before any candidate is graded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.display import make_console

if TYPE_CHECKING:
    from rich.console import Console

    from assay.linting.report import Finding, LintReport

__all__ = ["lint"]


def lint(
    suite: Annotated[str, typer.Argument(help="A suite's folder, or builtin:NAME.")],
    task: Annotated[list[str] | None, typer.Option(help="Only this task; repeatable.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Weak findings fail too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Find hazards, weak tests and what can't be judged. Nothing is graded.

    \b
    Examples:
      assay lint mysuite
      assay lint builtin:delivery-eval --strict --json
    """
    from assay.linting.static import lint_suite
    from assay.plugins import Registry
    from assay.suites import open_suite

    registry = Registry()
    report = lint_suite(open_suite(suite, registry, check_pins=False), registry, tuple(task or ()))
    code = report.exit_code(strict=strict)
    if as_json:
        document = _document(report, code, strict)
        print(json.dumps(document, ensure_ascii=True, indent=2, sort_keys=True))
    else:
        _show(report, make_console())
    return code


def _document(report: LintReport, code: int, strict: bool) -> dict[str, Any]:
    return {
        "schema": "assay-lint-output-1",
        "suite": report.suite,
        "tasks": list(report.tasks),
        "strict": strict,
        "exit_code": code,
        "findings": [
            {
                "rule": found.rule.id,
                "severity": found.rule.severity.value,
                "task": found.task,
                "grader": found.grader,
                "file": found.file,
                "line": found.line,
                "test": found.test,
                "detail": found.detail,
                "excuse": found.excuse,
                "follows": found.rule.follows,
                "cure": found.rule.cure,
            }
            for found in report.findings
        ],
        "unread": [{"task": task, "grader": grader} for task, grader in report.unread],
    }


def _show(report: LintReport, console: Console) -> None:
    from assay.reports.tables import sentence

    open_findings = [found for found in report.findings if not found.excuse]
    for _, group in groupby(open_findings, key=lambda found: found.rule.id):
        _show_rule(tuple(group), console)
    for found in report.findings:
        if found.excuse:
            console.print(
                sentence(f"kept {found.rule.id} {_place(found)}: {found.excuse}"), style="dim"
            )
    for task, grader in report.unread:
        console.print(sentence(f"no rules for the tests of {task}/{grader}"), style="dim")
    counts = ", ".join(
        f"{sum(found.rule.severity is severity for found in open_findings)} {severity.value}"
        for severity in dict.fromkeys(found.rule.severity for found in open_findings)
    )
    tasks = f"{len(report.tasks)} task" + ("" if len(report.tasks) == 1 else "s")
    console.print(f"{tasks}: {counts or 'nothing found'}")


def _show_rule(group: Sequence[Finding], console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    from assay.reports.tables import safe, sentence

    rule = group[0].rule
    console.print(Text(rule.severity.value), safe(rule.id), style="bold")
    console.print(Text("  "), sentence(f"{rule.follows} {rule.cure}"), sep="")
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2))
    table.add_column("")
    for name in ("place", "test", "detail"):
        table.add_column(name, overflow="fold")
    for found in group:
        table.add_row("", safe(_place(found)), safe(found.test), sentence(found.detail))
    console.print(table)
    console.print()


def _place(found: Finding) -> str:
    if found.file:
        return f"{found.file}:{found.line}" if found.line else found.file
    return f"{found.task}/{found.grader}" if found.grader else found.task

"""`assay lint`: what is wrong with a suite's tasks and tests, before any candidate is graded."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated

import typer

from assay.api.errors import UsageError
from assay.cli.display import MAX_JOBS, Display, make_console

if TYPE_CHECKING:
    from assay.linting.driving import Driven
    from assay.linting.report import LintReport
    from assay.plugins import Registry
    from assay.suites import Suite

__all__ = ["lint"]

_MUTANTS = 8
_MOST_MUTANTS = 10_000


def lint(
    suite: Annotated[str, typer.Argument(help="A suite's folder, or builtin:NAME.")],
    task: Annotated[list[str] | None, typer.Option(help="Only this task; repeatable.")] = None,
    drive: Annotated[
        bool,
        typer.Option("--drive", help="Also run gold, fixture and wrong candidates, in jails."),
    ] = False,
    mutants: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=_MOST_MUTANTS,
            help=f"With --drive: at most so many mutants per task [default: {_MUTANTS}].",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "-j", "--jobs", min=1, max=MAX_JOBS, help="Trials side by side [default: CPUs]."
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Weak findings fail too.")] = False,
    display: Annotated[Display, typer.Option(help="How progress is shown.")] = Display.AUTO,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Find hazards, weak tests and what can't be judged, before anything is graded.

    \b
    Examples:
      assay lint mysuite
      assay lint builtin:delivery-eval --strict --json
      assay lint mysuite --task slug-normalizer --drive --mutants 20
    """
    from assay.linting.static import lint_suite
    from assay.plugins import Registry
    from assay.suites import open_suite

    if mutants is not None and not drive:
        raise UsageError("--mutants: only with --drive")
    registry = Registry()
    opened = open_suite(suite, registry, check_pins=False)
    report = lint_suite(opened, registry, tuple(task or ()))
    driven: Driven | None = None
    if drive:
        driven = _drive(opened, registry, report, mutants, jobs or os.cpu_count() or 1, display)
        report = report.with_findings(found for run in driven.runs for found in run.findings)
        report = report.with_findings(driven.installed)
    code = report.exit_code(strict=strict)
    if as_json:
        from assay.linting.documents import document

        made = document(report, driven, exit_code=code, strict=strict)
        print(json.dumps(made, ensure_ascii=True, indent=2, sort_keys=True))
    else:
        from assay.linting.tables import show

        show(report, driven, make_console())
    return code


def _drive(
    suite: Suite,
    registry: Registry,
    report: LintReport,
    mutants: int | None,
    workers: int,
    display: Display,
) -> Driven:
    from attrs import evolve

    from assay.cli.progress import ProgressObserver
    from assay.host import open_components
    from assay.linting.driving import drive
    from assay.linting.installed import installed_answers
    from assay.mutants import MutantsUnavailable

    components = open_components(registry)
    tasks = report.loadable()
    with ProgressObserver(display) as observer:
        try:
            wanted = _MUTANTS if mutants is None else mutants
            driven = drive(suite, tasks, components, observer, mutants=wanted, workers=workers)
        except MutantsUnavailable as error:
            if mutants is not None:
                raise
            make_console(stderr=True).print(f"assay: no mutants are made: {error}")
            driven = drive(suite, tasks, components, observer, mutants=0, workers=workers)
    return evolve(driven, installed=tuple(installed_answers(suite, tasks, components)))

"""`assay show`: a run at a glance, or one trial in full."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.api.errors import InvalidInput, UsageError
from assay.api.paths import printable
from assay.cli.display import make_console

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import RenderableType

    from assay.api import TrialRecord
    from assay.ledger import RunView

__all__ = ["show"]

_MAX_DIGITS = 9


def show(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    trial: Annotated[
        str | None,
        typer.Argument(help="TASK/CANDIDATE, TASK/CANDIDATE/ATTEMPT, or the trial's number."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Explain a run, or why one trial was rejected, with the output of what failed.

    \b
    Examples:
      assay show runs/delivery-eval-20260101-120000
      assay show runs/mine slug-normalizer/visible-only
      assay show runs/mine 7 --json
    """
    from assay.artifacts import ShownArtifacts
    from assay.ledger import open_run
    from assay.record_json import record_to_json
    from assay.redaction import host_redactor
    from assay.reports.explain import explain_trial
    from assay.results import check_report

    view = open_run(run)
    redactor = host_redactor()
    if trial is not None:
        record = redactor.record(_find(view, trial))
        if as_json:
            document = {"schema": "assay-trial-output-1", "trial": record_to_json(record)}
            print(json.dumps(document, ensure_ascii=True, indent=2, sort_keys=True))
            return
        console = make_console()
        for part in explain_trial(record, ShownArtifacts(view.artifacts, redactor)):
            console.print(part)
        return
    if view.report is None:
        raise UsageError(
            f"run {printable(run.name)} was broken off before its report; show one trial of it"
        )
    digest = check_report(view)
    if as_json:
        print(json.dumps(redactor.names(view.report), ensure_ascii=True, indent=2, sort_keys=True))
        return
    parts = _parts(redactor.names(view.report))
    console = make_console()
    for part in parts:
        console.print(part)
        console.print()
    console.print("results", digest)


def _parts(report: Mapping[str, Any]) -> tuple[RenderableType, ...]:
    """The tables and notes of a report that anybody may have written."""
    from assay.reports.tables import candidate_table, diagnostic_notes, failure_table

    try:
        return candidate_table(report), failure_table(report), *diagnostic_notes(report)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InvalidInput("report.json does not have the shape of assay-report-1") from None


def _find(view: RunView, trial: str) -> TrialRecord:
    ordered = view.trials()
    if trial.isascii() and trial.isdigit():
        if not ordered:
            raise UsageError("the run has no trial yet")
        if len(trial) > _MAX_DIGITS or not 1 <= int(trial) <= len(ordered):
            raise UsageError(f"the run has trials 1 to {len(ordered)}")
        return ordered[int(trial) - 1]
    task, _, rest = trial.partition("/")
    candidate, _, attempt = rest.partition("/")
    for record in ordered:
        spec = record.spec
        if (spec.task, spec.candidate) == (task, candidate) and attempt in ("", str(spec.attempt)):
            return record
    raise UsageError("no such trial in this run; name it TASK/CANDIDATE or by its number")

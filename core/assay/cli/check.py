"""`assay check`: the suite's own candidates must get exactly the verdicts they declare."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.display import MAX_JOBS, Display, make_console

if TYPE_CHECKING:
    from rich.table import Table

    from assay.api import Candidate, TrialRecord

__all__ = ["check"]


def check(
    suite: Annotated[str, typer.Argument(help="A suite's folder, or builtin:NAME.")],
    task: Annotated[list[str] | None, typer.Option(help="Only this task; repeatable.")] = None,
    include_retired: Annotated[
        bool, typer.Option("--include-retired", help="Grade tasks that are no longer used, too.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option("-j", "--jobs", min=1, max=MAX_JOBS, help="Worker processes [default: CPUs]."),
    ] = None,
    display: Annotated[Display, typer.Option(help="How progress is shown.")] = Display.AUTO,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Calibrate a suite: every expectation of every shipped candidate must hold.

    \b
    Examples:
      assay check builtin:delivery-eval
      assay check mysuite --task slug-normalizer --json
    """
    from assay.api.folders import temporary_folder
    from assay.cli.exits import run_exit_code
    from assay.cli.progress import ProgressObserver
    from assay.evaluation import evaluate
    from assay.reports.tables import sentence
    from assay.results import as_expected

    with (
        temporary_folder("check") as temporary,
        ProgressObserver(display) as observer,
    ):
        evaluation = evaluate(
            suite,
            observer,
            folder=temporary / "run",
            workers=jobs or os.cpu_count() or 1,
            only=tuple(task or ()),
            include_retired=include_retired,
        )
    candidates = evaluation.plan.candidates
    records = evaluation.result.records
    wrong = [
        _difference(record, candidates[record.spec.task, record.spec.candidate])
        for record in records
        if not as_expected(record, candidates[record.spec.task, record.spec.candidate])
    ]
    code = run_exit_code(
        records, candidates, interrupted_by=evaluation.result.signal, leaks=evaluation.result.leaks
    )
    # Without a declared expectation there is nothing to calibrate against.
    code = 3 if code == 1 else code
    if as_json:
        document = {
            "schema": "assay-check-output-1",
            "exit_code": code,
            "trials": len(records),
            "unmet": wrong,
            "skipped": [{"task": s.task, "reason": s.reason} for s in evaluation.plan.skipped],
            "retired": [{"task": s.task, "reason": s.reason} for s in evaluation.plan.retired],
        }
        print(json.dumps(document, ensure_ascii=True, indent=2, sort_keys=True))
        return code
    console = make_console()
    for item in evaluation.plan.retired:
        console.print(sentence(f"retired {item.task}: {item.reason}"))
    for item in evaluation.plan.skipped:
        console.print(sentence(f"skipped {item.task}: {item.reason}"))
    if wrong:
        console.print(_table(wrong))
    console.print(f"{len(records) - len(wrong)} of {len(records)} expectations hold")
    return code


def _difference(record: TrialRecord, candidate: Candidate) -> dict[str, Any]:
    expect = candidate.expect
    return {
        "task": record.spec.task,
        "candidate": record.spec.candidate,
        "expected": {
            "verdict": "accepted" if expect is None else expect.verdict.value,
            "required": sorted(reason.value for reason in expect.required) if expect else [],
            "permitted": sorted(reason.value for reason in expect.permitted) if expect else [],
        },
        "measured": {
            "verdict": record.verdict.status.value,
            "reasons": [reason.value for reason in record.verdict.reasons],
            "error": record.error,
        },
    }


def _table(wrong: list[dict[str, Any]]) -> Table:
    from rich.table import Table

    from assay.reports.tables import safe, sentence

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("task", "candidate", "expected", "measured"):
        table.add_column(name, overflow="fold")
    for row in wrong:
        expected, measured = row["expected"], row["measured"]
        table.add_row(
            safe(row["task"]),
            safe(row["candidate"]),
            _said(expected["verdict"], expected["required"]),
            sentence(_said(measured["verdict"], measured["reasons"], measured["error"])),
        )
    return table


def _said(verdict: str, reasons: list[str], error: str = "") -> str:
    text = f"{verdict} {{{', '.join(reasons)}}}" if reasons else verdict
    return f"{text}: {error}" if error else text

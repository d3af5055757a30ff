"""`assay run`: grade candidates and print the truth."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.api.errors import UsageError
from assay.cli.display import MAX_JOBS, Display, make_console

if TYPE_CHECKING:
    from assay.evaluation import Evaluation

__all__ = ["run"]


def run(
    suite: Annotated[str, typer.Argument(help="A suite's folder, or builtin:NAME.")],
    candidate: Annotated[
        Path | None,
        typer.Option(help="Your own work: a patch, a folder, or a JSONL file of candidates."),
    ] = None,
    task: Annotated[list[str] | None, typer.Option(help="Only this task; repeatable.")] = None,
    include_retired: Annotated[
        bool, typer.Option("--include-retired", help="Grade tasks that are no longer used, too.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many trials.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option("-j", "--jobs", min=1, max=MAX_JOBS, help="Worker processes [default: CPUs]."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Run folder to make [default: runs/SUITE-TIME].")
    ] = None,
    sandbox: Annotated[str, typer.Option(help="Which plugin makes the jails.")] = "nsjail",
    copier: Annotated[
        str, typer.Option(help="Which plugin makes workspaces: copy, or overlay.")
    ] = "copy",
    display: Annotated[Display, typer.Option(help="How progress is shown.")] = Display.AUTO,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of tables.")
    ] = False,
) -> int:
    """Grade every candidate of every task, in jails, and print the table.

    \b
    Examples:
      assay run builtin:delivery-eval
      assay run mysuite --candidate my.patch --task slug-normalizer
      assay run mysuite --candidate submission/ -j 2 --output runs/mine
      assay run mysuite --candidate predictions.jsonl --json
    """
    from assay.cli.exits import run_exit_code
    from assay.cli.progress import ProgressObserver
    from assay.evaluation import evaluate

    if candidate is not None and not candidate.exists():
        raise UsageError("--candidate: there is no such file or folder")
    if output is not None and not output.name:
        raise UsageError("--output: must name a folder to make")
    with ProgressObserver(display) as observer:
        evaluation = evaluate(
            suite,
            observer,
            folder=output or _new_folder(suite),
            workers=jobs or os.cpu_count() or 1,
            only=tuple(task or ()),
            include_retired=include_retired,
            limit=limit,
            submission=candidate,
            sandbox=sandbox,
            copier=copier,
        )
    result = evaluation.result
    code = run_exit_code(
        result.records,
        evaluation.plan.candidates,
        interrupted_by=result.signal,
        problems=bool(evaluation.problems),
        leaks=result.leaks,
    )
    if as_json:
        _print_json(evaluation, code)
    else:
        _print_tables(evaluation)
    return code


def _new_folder(suite: str) -> Path:
    name = re.sub(r"[^a-z0-9]+", "-", Path(suite).name.lower().rpartition(":")[2]).strip("-")[:64]
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    folder = Path("runs") / f"{name or 'suite'}-{stamp}"
    number = 2
    while folder.exists():
        folder = Path("runs") / f"{name or 'suite'}-{stamp}-{number}"
        number += 1
    return folder


def _print_json(evaluation: Evaluation, code: int) -> None:
    from assay.results import results_digest

    report = evaluation.result.report
    document = {
        "schema": "assay-run-output-1",
        "run": str(evaluation.result.folder),
        "exit_code": code,
        "results_digest": results_digest(report),
        "problems": list(evaluation.problems),
        "summary": report["summary"],
    }
    print(json.dumps(document, ensure_ascii=True, indent=2, sort_keys=True))


def _print_tables(evaluation: Evaluation) -> None:
    from assay.reports.tables import (
        candidate_table,
        diagnostic_notes,
        failure_table,
        safe,
        sentence,
    )
    from assay.results import results_digest

    console = make_console()
    report = evaluation.result.report
    console.print(candidate_table(report))
    failures = failure_table(report)
    if failures.row_count:
        console.print()
        console.print(failures)
    for note in diagnostic_notes(report):
        console.print(note)
    for item in evaluation.plan.retired:
        console.print(sentence(f"retired {item.task}: {item.reason}"))
    for item in evaluation.plan.skipped:
        console.print(sentence(f"skipped {item.task}: {item.reason}"))
    if evaluation.fallback is not None:
        console.print(
            sentence(
                f"copier {evaluation.fallback.asked} was not used: {evaluation.fallback.reason}"
            )
        )
    for problem in evaluation.problems:
        console.print(sentence(f"not graded: {problem}"))
    for record in evaluation.result.records:
        if record.error and record.verdict.status.value == "invalid":
            console.print(
                sentence(f"invalid {record.spec.task} {record.spec.candidate}: {record.error}")
            )
    leaks = {leak for record in evaluation.result.records for leak in record.leaks}
    for leak in sorted(leaks | set(evaluation.result.leaks)):
        console.print(sentence(f"left behind: temporary folder {leak}; see assay clean"))
    unexpected = report["summary"]["unexpected"]
    if unexpected:
        console.print(f"{unexpected} of {report['summary']['trials']} verdicts are not as expected")
        first = next(trial for trial in report["results"]["trials"] if not trial["as_expected"])
        trial = f"{first['task']}/{first['candidate']}"
        console.print("why: assay show", safe(f"{evaluation.result.folder} {trial}"))
    console.print()
    console.print("run", safe(str(evaluation.result.folder)))
    console.print("results", results_digest(report))

"""`assay new` and `assay lock`: start a suite, and pin what it holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.api.errors import UsageError
from assay.cli.display import make_console
from assay.cli.groups import help_when_alone

if TYPE_CHECKING:
    from assay.locking import Why

__all__ = ["app", "lock"]

app = typer.Typer(
    help="Write a working skeleton of a suite or a task.",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@app.callback()
def _group(context: typer.Context) -> None:
    """Write a working skeleton of a suite or a task."""
    help_when_alone(context)


@app.command("suite")
def suite(
    folder: Annotated[Path, typer.Argument(help="Folder to make; its name is the suite's id.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Make a suite with one task that passes `assay check` as it is.

    \b
    Examples:
      assay new suite mysuite
      assay new suite mysuite --json
    """
    from assay.scaffold import new_suite

    _show_written(new_suite(folder), f"assay check {folder}", as_json)


@app.command("task")
def task(
    folder: Annotated[Path, typer.Argument(help="SUITE/ID of the task to make.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Add a working task to a suite.

    \b
    Examples:
      assay new task mysuite/second-task
      assay new task mysuite/third-task --json
    """
    from assay.scaffold import new_task

    _show_written(new_task(folder), f"assay check {folder.parent} --task {folder.name}", as_json)


def _show_written(paths: tuple[str, ...], follows: str, as_json: bool) -> None:
    if as_json:
        document = {"schema": "assay-new-output-1", "written": list(paths)}
        print(json.dumps(document, ensure_ascii=True, indent=2, sort_keys=True))
        return
    from rich.text import Text

    from assay.reports.tables import safe

    console = make_console()
    for path in paths:
        console.print(safe(path))
    console.print()
    console.print(Text("next: ") + safe(follows), style="dim")


def lock(
    suite: Annotated[Path, typer.Argument(help="A suite's folder.")],
    only_check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 5 when a digest differs.")
    ] = False,
    intent: Annotated[
        str | None, typer.Option(help="What a change of published tasks is for; one line.")
    ] = None,
    grading: Annotated[
        str | None, typer.Option(help="What it does to how candidates are graded; one line.")
    ] = None,
    comparable: Annotated[
        bool | None,
        typer.Option(
            "--comparable/--not-comparable",
            help="Whether results from before and after may stand side by side.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Pin the digests of every task's fixture, hidden tests and manifest in suite.json.

    \b
    Examples:
      assay lock mysuite
      assay lock mysuite --check
      assay lock mysuite --intent "Tabs count" --grading "One more hidden test" --not-comparable
    """
    from assay.locking import lock_suite
    from assay.publishing import measured_again, remeasure
    from assay.reports.tables import sentence
    from assay.suites import open_suite

    why = _why(intent, grading, comparable)
    result = lock_suite(suite, check=only_check, why=why, before_writing=remeasure)
    drift = result.drift
    code = 5 if only_check and drift else 0
    measured = {}
    if only_check and result.changed:
        present = [task for task in result.changed if task in result.pins]
        measured = measured_again(open_suite(f"dir:{suite}", check_pins=False), present)
    if as_json:
        document = {
            "schema": "assay-lock-output-1",
            "changed": list(drift),
            "published": list(result.changed),
            "measured": measured,
            "exit_code": code,
        }
        print(json.dumps(document, ensure_ascii=True, indent=2, sort_keys=True))
        return code
    console = make_console()
    for line in drift:
        console.print(sentence(line))
    if only_check and result.changed:
        names = ", ".join(result.changed)
        console.print(
            sentence(f"published tasks changed: {names}; locking them takes reasons and a version")
        )
    for task, problem in measured.items():
        told = problem or f"task {task}: its baseline is as declared, and its gold is accepted"
        console.print(sentence(told))
    if not drift:
        console.print("every digest in suite.json holds")
    return code


def _why(intent: str | None, grading: str | None, comparable: bool | None) -> Why | None:
    from assay.locking import Why
    from assay.structuring import FieldError
    from assay.suite_manifest import check_why

    if intent is None and grading is None and comparable is None:
        return None
    if intent is None or grading is None or comparable is None:
        raise UsageError("--intent, --grading and --comparable or --not-comparable go together")
    for option, text in (("--intent", intent), ("--grading", grading)):
        try:
            check_why(text)
        except FieldError as error:
            raise UsageError(f"{option}: {error.rule}") from None
    return Why(intent, grading, comparable)

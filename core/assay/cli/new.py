"""`assay new` and `assay lock`: start a suite, and pin what it holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.display import make_console
from assay.cli.groups import help_when_alone

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
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Pin the digests of every task's fixture, hidden tests and manifest in suite.json.

    \b
    Examples:
      assay lock mysuite
      assay lock mysuite --check
    """
    from assay.locking import lock_suite
    from assay.reports.tables import sentence

    drift = lock_suite(suite, check=only_check).drift
    code = 5 if only_check and drift else 0
    if as_json:
        document = {"schema": "assay-lock-output-1", "changed": list(drift), "exit_code": code}
        print(json.dumps(document, ensure_ascii=True, indent=2, sort_keys=True))
        return code
    console = make_console()
    for line in drift:
        console.print(sentence(line))
    if not drift:
        console.print("every digest in suite.json holds")
    return code

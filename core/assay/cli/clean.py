"""`assay clean`: remove what killed processes left, and nothing else."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated

import typer

from assay.api.errors import CleanupFailed, UsageError
from assay.cli.display import make_console

if TYPE_CHECKING:
    from assay.leftovers import Found

__all__ = ["clean", "seconds"]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"([0-9]{1,6})([smhd])")


def clean(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would be removed, and remove nothing.")
    ] = False,
    older_than: Annotated[
        str,
        typer.Option(help="Age from which a folder goes whose maker can't be looked for: 90m, 2d."),
    ] = "24h",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Remove temporary folders that killed processes left; what is in use stays.

    \b
    Examples:
      assay clean --dry-run
      assay clean
      assay clean --older-than 2h --json
    """
    from assay.leftovers import Fate, sweep
    from assay.scratch import scratch_places
    from assay.store import default_store_root

    age = seconds(older_than)
    found = sweep(scratch_places(default_store_root()), older_than=age, dry_run=dry_run)
    code = CleanupFailed.exit_code if any(item.fate is Fate.STUCK for item in found) else 0
    if as_json:
        document = {
            "schema": "assay-clean-output-1",
            "exit_code": code,
            "dry_run": dry_run,
            "folders": [
                {"name": item.name, "kind": item.kind, "fate": item.fate.value, "why": item.why}
                for item in found
            ],
        }
        print(json.dumps(document, ensure_ascii=True, indent=2, sort_keys=True))
    else:
        _print(found, dry_run)
    return code


def seconds(text: str) -> float:
    """A duration as a number and s, m, h or d; raises UsageError for another text."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise UsageError("--older-than: a number and s, m, h or d, such as 90m or 2d")
    return float(int(match.group(1)) * _UNITS[match.group(2)])


def _print(found: tuple[Found, ...], dry_run: bool) -> None:
    from rich.table import Table

    from assay.leftovers import Fate
    from assay.reports.tables import safe

    console = make_console()
    if found:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("folder", "fate", "why"):
            table.add_column(name, overflow="fold")
        for item in found:
            table.add_row(safe(item.name), item.fate.value, safe(item.why))
        console.print(table)
    fate, word = (Fate.REMOVABLE, "to remove") if dry_run else (Fate.REMOVED, "removed")
    console.print(f"{sum(item.fate is fate for item in found)} {word}")

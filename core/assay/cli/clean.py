"""`assay clean`: remove what killed processes left, and nothing else."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from attrs import asdict

from assay.api.errors import CleanupFailed, UsageError
from assay.cli.display import make_console

if TYPE_CHECKING:
    from assay.eviction import Kept
    from assay.leftovers import Found
    from assay.retention import Pruned

__all__ = ["clean", "seconds"]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_MIB = 1024**2
_DURATION = re.compile(r"([0-9]{1,6})([smhd])")


def clean(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would be removed, and remove nothing.")
    ] = False,
    older_than: Annotated[
        str,
        typer.Option(help="Age from which a folder goes whose maker can't be looked for: 90m, 2d."),
    ] = "24h",
    artifacts: Annotated[
        Path | None,
        typer.Option(help="Also remove artifacts of finished runs: a run, or a folder of runs."),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="With --artifacts: by size, not by age: only so many MiB stay.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="List also each look-alike that is left alone.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Remove what killed processes left, and what the store no longer needs; not what is in use.

    \b
    Examples:
      assay clean --dry-run
      assay clean
      assay clean --older-than 2h --json
      assay clean --artifacts runs --older-than 90d
    """
    from assay.eviction import evict, store_limits
    from assay.leftovers import Fate, sweep
    from assay.plugins import Registry
    from assay.scratch import scratch_places
    from assay.store import default_store_root

    if keep is not None and artifacts is None:
        raise UsageError("--keep: only with --artifacts")
    age = seconds(older_than)
    pruned = None if artifacts is None else _prune(artifacts, age, keep, dry_run=dry_run)
    if not dry_run:
        # A sandbox ends what dead supervisors left before it says what works here.
        Registry().load("assay.sandboxes", "nsjail")().capabilities()
    limits, root = store_limits(), default_store_root()
    found = sweep(scratch_places(root), older_than=age, dry_run=dry_run)
    kept = evict(root, limits, dry_run=dry_run)
    evicted = tuple(item for item in kept if item.fate is not Fate.IN_USE)
    size = sum(item.size for item in kept if item.fate is not Fate.REMOVED)
    fates = [*(item.fate for item in found), *(thing.fate for thing in evicted)]
    code = CleanupFailed.exit_code if Fate.STUCK in fates else 0
    if as_json:
        document = {
            "schema": "assay-clean-output-1",
            "exit_code": code,
            "dry_run": dry_run,
            "artifacts": None if pruned is None else asdict(pruned),
            "folders": [
                {"name": item.name, "kind": item.kind, "fate": item.fate.value, "why": item.why}
                for item in found
            ],
            "store": {
                "bytes": size,
                "limit": limits.size,
                "evicted": [
                    {
                        "kind": item.kind,
                        "name": item.name,
                        "bytes": item.size,
                        "fate": item.fate.value,
                    }
                    for item in evicted
                ],
            },
        }
        print(json.dumps(document, ensure_ascii=True, indent=2, sort_keys=True))
    else:
        foreign = tuple(item for item in found if item.fate is Fate.FOREIGN)
        told = found if everything else tuple(item for item in found if item not in foreign)
        _print(told, evicted)
        if len(told) < len(found):
            noun = "look-alike" if len(foreign) == 1 else "look-alikes"
            make_console().print(f"{len(foreign)} {noun} left alone; --all lists them")
        fate, word = (Fate.REMOVABLE, "to remove") if dry_run else (Fate.REMOVED, "removed")
        make_console().print(f"{fates.count(fate)} {word}")
        limit = f"{limits.size / _MIB:.0f} MiB"
        if pruned is not None:
            what = f"{pruned.files} artifacts, {pruned.bytes / _MIB:.0f} MiB, of {pruned.runs} runs"
            make_console().print(f"{what} {word}")
        make_console().print(f"the store takes {size / _MIB:.0f} MiB of {limit}")
    return code


def _prune(place: Path, age: float, keep: int | None, *, dry_run: bool) -> Pruned:
    from assay.retention import prune_artifacts

    return prune_artifacts(
        place,
        now=time.time(),
        max_age=age if keep is None else None,
        max_bytes=None if keep is None else keep * _MIB,
        dry_run=dry_run,
    )


def seconds(text: str) -> float:
    """A duration as a number and s, m, h or d; raises UsageError for another text."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise UsageError("--older-than: a number and s, m, h or d, such as 90m or 2d")
    return float(int(match.group(1)) * _UNITS[match.group(2)])


def _print(found: tuple[Found, ...], evicted: tuple[Kept, ...]) -> None:
    from rich.table import Table

    from assay.reports.tables import safe

    if found or evicted:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("what", "fate", "why"):
            table.add_column(name, overflow="fold")
        for item in found:
            table.add_row(safe(item.name), item.fate.value, safe(item.why))
        for thing in evicted:
            table.add_row(f"store: {thing.kind} {thing.name}", thing.fate.value, "")
        make_console().print(table)

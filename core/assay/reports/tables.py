"""The tables that a terminal shows, from the canonical report alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from assay.api import printable

__all__ = [
    "candidate_table",
    "diagnostic_notes",
    "failure_table",
    "percent",
    "safe",
    "sentence",
]

_FULL_NAME = 24
"""Most columns that a candidate's name keeps however narrow the terminal is."""


def safe(text: str) -> Text:
    """A name of any origin as one line, without control sequences or markup."""
    return Text(printable(text))


def sentence(text: str) -> Text:
    """A message of ours as one line; names in it are escaped already, so `\\` stays as it is."""
    return Text("\\".join(printable(part) for part in text.split("\\")))


def percent(rate: Mapping[str, int]) -> str:
    """A rate as whole percent; a dash when nothing was measured."""
    passed, of = _count(rate["passed"]), _count(rate["of"])
    return f"{100 * passed / of:.0f}%" if of else "–"


def _count(value: object) -> int:
    if type(value) is not int:
        raise TypeError("a count must be a whole number")
    return value


def candidate_table(report: Mapping[str, Any]) -> Table:
    """One row per candidate: how many tasks it was accepted for, and which facts held."""
    rows = report["summary"]["candidates"]
    table = Table(box=None, pad_edge=False, header_style="bold")
    # On a narrow terminal the headings are folded before the names are.
    longest = max((len(printable(row["candidate"])) for row in rows), default=0)
    table.add_column("candidate", overflow="fold", min_width=min(longest, _FULL_NAME))
    for name in ("accepted", "visible pass", "hidden pass", "boundary kept", "evidence agrees"):
        table.add_column(name, justify="right")
    with_invalid = any(row["invalid"] for row in rows)
    if with_invalid:
        table.add_column("invalid", justify="right", style="yellow")
    for row in rows:
        cells = [
            f"{_count(row['accepted'])}/{_count(row['trials'])}",
            *(percent(row[key]) for key in ("visible", "hidden", "boundary", "evidence")),
        ]
        if with_invalid:
            cells.append(str(_count(row["invalid"])))
        table.add_row(safe(row["candidate"]), *cells)
    return table


def failure_table(report: Mapping[str, Any]) -> Table:
    """Every rejected or invalid trial with its reasons."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("task", "candidate", "verdict", "reasons"):
        table.add_column(name, overflow="fold")
    for trial in report["results"]["trials"]:
        verdict = trial["verdict"]
        if verdict["status"] != "accepted":
            table.add_row(
                safe(trial["task"]),
                safe(trial["candidate"]),
                safe(verdict["status"]),
                safe(", ".join(verdict["reasons"])),
            )
    return table


def diagnostic_notes(report: Mapping[str, Any]) -> tuple[Text, ...]:
    """What the jails of a run left out on purpose, once each; nothing for ordinary runs."""
    found = {trial["verdict"].get("diagnostic", "") for trial in report["results"]["trials"]}
    return tuple(
        Text("diagnostic: ", style="yellow") + safe(note) + Text("; no verdict has any trust")
        for note in sorted(found - {""})
    )

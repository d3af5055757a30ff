"""`assay plugins`, `assay schema`: what this installation has."""

from __future__ import annotations

import importlib.metadata
import json
from typing import Annotated

import typer

from assay.api.errors import UsageError
from assay.cli.display import make_console

__all__ = ["plugins", "schema", "version"]


def version(wanted: bool) -> None:
    """Callback of `--version`."""
    if wanted:
        print(f"assay {importlib.metadata.version('assay')}")
        raise typer.Exit


def plugins(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List every installed plugin, without importing any.

    \b
    Examples:
      assay plugins
      assay plugins --json
    """
    from rich.table import Table

    from assay.plugins import GROUPS, Registry
    from assay.reports.tables import safe

    registry = Registry()
    rows = [
        (group, item.name, item.distribution, item.version)
        for group in GROUPS
        for item in registry.info(group)
    ]
    if as_json:
        keys = ("group", "name", "distribution", "version")
        document = {
            "schema": "assay-plugins-output-1",
            "plugins": [dict(zip(keys, row, strict=True)) for row in rows],
        }
        print(json.dumps(document, ensure_ascii=True, indent=2, sort_keys=True))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("interface", "plugin", "distribution", "version"):
        table.add_column(name)
    for row in rows:
        table.add_row(*(safe(cell) for cell in row))
    make_console().print(table)


def schema(
    name: Annotated[str | None, typer.Argument(help="Which format; none lists them.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """Print the JSON Schema of a format.

    \b
    Examples:
      assay schema
      assay schema --json
      assay schema task
    """
    from assay.schemas import schema as schema_document
    from assay.schemas import schema_names

    if name is None and as_json:
        document = {"schema": "assay-schema-output-1", "names": list(schema_names())}
        print(json.dumps(document, ensure_ascii=True, indent=2, sort_keys=True))
        return
    if name is None:
        for known in schema_names():
            print(known)
        return
    if name not in schema_names():
        raise UsageError(f"unknown schema; known: {', '.join(schema_names())}")
    print(json.dumps(schema_document(name), ensure_ascii=True, indent=2, sort_keys=True))

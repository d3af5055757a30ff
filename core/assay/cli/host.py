"""`assay doctor`, `assay plugins`, `assay schema`: what this host and this installation have."""

from __future__ import annotations

import importlib.metadata
import json
from typing import Annotated

import typer

from assay.api.errors import UsageError
from assay.cli.display import make_console

__all__ = ["doctor", "plugins", "schema", "version"]


def version(wanted: bool) -> None:
    """Callback of `--version`."""
    if wanted:
        print(f"assay {importlib.metadata.version('assay')}")
        raise typer.Exit


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Tell what this host offers: each layer present, absent or degraded, and the fix.

    \b
    Examples:
      assay doctor
      assay doctor --json
    """
    from rich.table import Table

    from assay.plugins import Registry
    from assay.reports.tables import safe, sentence

    sandbox = Registry().load("assay.sandboxes", "nsjail")()
    findings = sandbox.diagnose()
    capabilities = sandbox.capabilities()
    code = 0 if capabilities.available else 4
    if as_json:
        document = {
            "schema": "assay-doctor-output-1",
            "available": capabilities.available,
            "mode": capabilities.mode,
            "findings": [
                {
                    "layer": finding.layer,
                    "state": finding.state,
                    "found": finding.found,
                    "follows": finding.follows,
                    "fix": finding.fix,
                }
                for finding in findings
            ],
        }
        print(json.dumps(document, ensure_ascii=True, indent=2, sort_keys=True))
        return code
    console = make_console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("layer", "state", "found", "what follows"):
        table.add_column(name, overflow="fold")
    for finding in findings:
        table.add_row(finding.layer, finding.state, safe(finding.found), safe(finding.follows))
    console.print(table)
    for finding in findings:
        if finding.fix:
            console.print(sentence(f"fix for {finding.layer}: {finding.fix}"))
    if capabilities.available:
        console.print(f"jails work here, as {capabilities.mode}")
    else:
        console.print(
            sentence(f"no jail can be made here: {capabilities.layer}; {capabilities.fix}")
        )
    return code


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

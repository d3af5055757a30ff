"""`assay doctor`: what this host gives to jails, what it lacks, and what follows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import Enum
from typing import Annotated

import typer

from assay.api.errors import Unavailable
from assay.api.jail import Capabilities, Finding
from assay.cli.display import make_console

__all__ = ["Requirement", "doctor", "lacking"]


class Requirement(Enum):
    """What `--require` may ask for."""

    HARDENED = "hardened"


def doctor(
    require: Annotated[
        Requirement | None,
        typer.Option("--require", help="Exit with 4 unless every layer is in force."),
    ] = None,
    profiles: Annotated[
        bool, typer.Option("--profiles", help="Print what each profile allows, instead.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Tell what this host offers: each layer present, absent or degraded, and the fix.

    \b
    Examples:
      assay doctor
      assay doctor --require hardened
      assay doctor --profiles
      assay doctor --json
    """
    from assay.host_checks import check_host
    from assay.plugins import Registry
    from assay.store import default_store_root

    sandbox = Registry().load("assay.sandboxes", "nsjail")()
    capabilities: Capabilities = sandbox.capabilities()
    host = check_host(default_store_root(), capabilities.ids)
    findings: tuple[Finding, ...] = (*sandbox.diagnose(), *host)
    missing = lacking(capabilities, findings)
    if as_json:
        _print_document(capabilities, findings, missing)
    elif profiles:
        _print_profiles(capabilities)
    else:
        _print_findings(capabilities, findings, missing)
    unmet = bool(missing) if require is not None else not capabilities.available
    return Unavailable.exit_code if unmet else 0


def lacking(capabilities: Capabilities, findings: Sequence[Finding]) -> tuple[str, ...]:
    """Layers that are not wholly in force, without those that only some tasks need."""
    layers = [
        finding.layer for finding in findings if finding.state != "present" and not finding.optional
    ]
    if not capabilities.available and capabilities.layer not in layers:
        layers.append(capabilities.layer)
    return tuple(layers)


def _print_document(
    capabilities: Capabilities, findings: Sequence[Finding], missing: tuple[str, ...]
) -> None:
    names = ("layer", "state", "found", "follows", "fix", "optional")
    document = {
        "schema": "assay-doctor-output-1",
        "available": capabilities.available,
        "mode": capabilities.mode,
        "findings": [{name: getattr(finding, name) for name in names} for finding in findings],
        "hardened": not missing,
        "lacking": missing,
        "profiles": capabilities.profiles,
    }
    print(json.dumps(document, ensure_ascii=True, indent=2, sort_keys=True))


def _print_profiles(capabilities: Capabilities) -> None:
    from rich.table import Table

    from assay.reports.tables import safe

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("rule")
    for name in capabilities.profiles:
        table.add_column(name, justify="right")
    rules = {rule for allowed in capabilities.profiles.values() for rule in allowed}
    for rule in sorted(rules):
        values = (_text(allowed.get(rule)) for allowed in capabilities.profiles.values())
        table.add_row(safe(rule), *(safe(value) for value in values))
    make_console().print(table)


def _text(value: bool | int | None) -> str:
    words = {True: "yes", False: "no", None: ""}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def _print_findings(
    capabilities: Capabilities, findings: Sequence[Finding], missing: tuple[str, ...]
) -> None:
    from rich.table import Table

    from assay.reports.tables import safe, sentence

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
    if not capabilities.available:
        text = f"no jail can be made here: {capabilities.layer}; {capabilities.fix}"
        console.print(sentence(text))
        return
    hardened = f"not hardened: {', '.join(missing)}" if missing else "hardened"
    console.print(sentence(f"jails work here, as {capabilities.mode}; {hardened}"))

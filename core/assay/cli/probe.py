"""`assay probe`: attack this host's sandbox, and tell what held."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.api.errors import UsageError
from assay.api.jail import Profile
from assay.cli.display import make_console

if TYPE_CHECKING:
    from assay.api.probes import ProbeReport

__all__ = ["exit_code", "probe"]

NOT_AS_PROMISED = 5


def probe(
    profile: Annotated[
        list[Profile] | None, typer.Option(help="Only under this profile; repeatable.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this probe; repeatable.")
    ] = None,
    sandbox: Annotated[str, typer.Option(metavar="NAME", help="The plugin that makes jails.")] = (
        "nsjail"
    ),
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write JUnit XML.")
    ] = None,
    sarif: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write SARIF 2.1.0.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Attack this host's sandbox with the built-in probes, and print what contained each.

    Before that, probes run in a jail that is weak on purpose; when one of them does not see
    that it escapes, the matrix is void.

    \b
    Examples:
      assay probe
      assay probe --profile hidden --only fork-bomb
      assay probe --json --junit probes.xml --sarif probes.sarif
    """
    from assay.host import open_components
    from assay.plugins import Registry
    from assay.reports.probe_exchange import junit as junit_xml
    from assay.reports.probe_exchange import sarif as sarif_document
    from assay.reports.probes import probe_document, probe_table, summary_lines, worse_table
    from assay.reports.tables import sentence

    components = open_components(Registry(), sandbox=sandbox)
    attack = getattr(components.sandbox, "attack", None)
    if attack is None:
        raise UsageError("this sandbox brings no probes")
    report = attack(
        components.store, components.hasher, profiles=tuple(profile or ()), only=tuple(only or ())
    )
    code = exit_code(report)
    if junit is not None:
        junit.write_bytes(junit_xml(report))
    if sarif is not None:
        text = json.dumps(sarif_document(report), ensure_ascii=True, indent=2, sort_keys=True)
        sarif.write_text(text + "\n", "utf-8")
    if as_json:
        document = probe_document(report, code)
        print(json.dumps(document, ensure_ascii=True, indent=2, sort_keys=True))
        return code
    console = make_console()
    console.print(probe_table(report))
    if report.worse:
        console.print(worse_table(report.worse))
    for line in summary_lines(report):
        console.print(sentence(line))
    return code


def exit_code(report: ProbeReport) -> int:
    """5 when a result is worse than expected or nothing follows from the matrix, else 0."""
    return NOT_AS_PROMISED if report.void or report.worse else 0

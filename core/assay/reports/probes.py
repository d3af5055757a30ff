"""The matrix of a host's probes: a table for people, a document for programs."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rich.table import Table
from rich.text import Text

from assay.api import Containment, Probe, ProbeReport, ProbeResult, Profile
from assay.reports.tables import safe

__all__ = ["probe_document", "probe_table", "summary_lines", "worse_table"]

STYLES = {
    Containment.CONTAINED: "",
    Containment.PARTIAL: "yellow",
    Containment.NO_ANSWER: "bold red",
    Containment.ESCAPED: "bold red",
}


def probe_table(report: ProbeReport) -> Table:
    """One row for each probe, one column for each profile, and what contained it."""
    profiles = _profiles(report)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("probe")
    for profile in profiles:
        table.add_column(profile.value)
    table.add_column("by", overflow="fold")
    for probe in report.probes:
        row = {result.profile: result for result in report.results if result.probe == probe.name}
        if not row:
            continue
        cells = [_cell(row[profile]) if profile in row else Text("–") for profile in profiles]
        layers = dict.fromkeys(layer for result in row.values() for layer in result.by)
        table.add_row(safe(probe.name), *cells, safe(", ".join(layers)))
    return table


def _profiles(report: ProbeReport) -> tuple[Profile, ...]:
    used = {result.profile for result in report.results}
    return tuple(profile for profile in Profile if profile in used)


def _cell(result: ProbeResult) -> Text:
    return Text(result.containment.value, style=STYLES[result.containment])


def worse_table(results: tuple[ProbeResult, ...]) -> Table:
    """What was worse than expected, and what got through."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("probe", "profile", "result", "expected", "what got through"):
        table.add_column(name, overflow="fold")
    for result in results:
        table.add_row(
            safe(result.probe),
            result.profile.value,
            _cell(result),
            result.expected.value,
            safe("; ".join(result.found)),
        )
    return table


def summary_lines(report: ProbeReport) -> list[str]:
    """Counts, what is partial and why, and what the canary saw."""
    counts = _counts(report)
    parts = [f"{counts[kind.value]} {kind.value}" for kind in Containment if counts[kind.value]]
    lines = [
        f"{counts['probes']} probes as {report.mode}, {counts['results']} results:"
        f" {', '.join(parts) or 'none'}",
        f"{counts['checks']} attempts; {len(report.sentinels)} objects of the host compared after"
        f" each probe, {counts['comparisons']} comparisons",
    ]
    partial = {result.probe for result in report.results if result.as_expected and result.found}
    lines += [
        f"partial as expected: {probe.name}: {probe.why}"
        for probe in report.probes
        if probe.name in partial
    ]
    of = len(report.canary)
    seen = sum(result.containment is Containment.ESCAPED for result in report.canary)
    lines.append(f"canary: {seen} of {of} probes escaped from a jail that is weak on purpose")
    if report.void:
        names = ", ".join(report.blind)
        lines.append(f"the matrix is void: these did not see an escape: {names}")
    return lines


def _counts(report: ProbeReport) -> dict[str, int]:
    kinds = Counter(result.containment for result in report.results)
    return {
        "probes": len({result.probe for result in report.results}),
        "results": len(report.results),
        **{kind.value: kinds[kind] for kind in Containment},
        "checks": sum(result.checks for result in report.results),
        "comparisons": sum(result.sentinels for result in report.results),
    }


def probe_document(report: ProbeReport, exit_code: int) -> dict[str, Any]:
    """Everything, as `assay-probe-output-1`."""
    return {
        "schema": "assay-probe-output-1",
        "exit_code": exit_code,
        "mode": report.mode,
        "void": report.void,
        "counts": _counts(report),
        "sentinels": list(report.sentinels),
        "probes": [_probe(probe, report.mode) for probe in report.probes],
        "matrix": [_result(result) for result in report.results],
        "canary": {"results": [_result(r) for r in report.canary], "blind": list(report.blind)},
        "versions": dict(report.versions),
    }


def _probe(probe: Probe, mode: str) -> dict[str, Any]:
    return {
        "name": probe.name,
        "threat": probe.threat,
        "how": probe.how,
        "layers": list(probe.layers),
        "expected": probe.expected(mode).value,
        "why": probe.why,
    }


def _result(result: ProbeResult) -> dict[str, Any]:
    return {
        "probe": result.probe,
        "profile": result.profile.value,
        "containment": result.containment.value,
        "expected": result.expected.value,
        "by": list(result.by),
        "found": list(result.found),
        "checks": result.checks,
        "sentinels": result.sentinels,
    }

"""The matrix in the formats that other tools read: JUnit XML and SARIF 2.1.0."""

from __future__ import annotations

import importlib.metadata
from typing import Any
from xml.etree import ElementTree

from assay.api import Containment, Probe, ProbeReport, ProbeResult, Profile

__all__ = ["junit", "sarif"]

_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_CANARY = "canary"


def junit(report: ProbeReport) -> bytes:
    """One suite for each profile and one for the canary; what is worse than expected fails."""
    root = ElementTree.Element("testsuites", name="assay probe")
    for profile in Profile:
        results = [result for result in report.results if result.profile is profile]
        if results:
            _suite(root, profile.value, results)
    _suite(root, _CANARY, list(report.canary), blind=report.blind)
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _suite(
    root: ElementTree.Element,
    name: str,
    results: list[ProbeResult],
    blind: tuple[str, ...] | None = None,
) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=name, tests=str(len(results)))
    failures = 0
    for result in results:
        case = ElementTree.SubElement(suite, "testcase", classname=name, name=result.probe)
        failed = not result.as_expected if blind is None else result.probe in blind
        if failed:
            failures += 1
            failure = ElementTree.SubElement(case, "failure", message=_sentence(result))
            failure.text = "\n".join(result.found)
    suite.set("failures", str(failures))


def _sentence(result: ProbeResult) -> str:
    return f"{result.containment.value}, expected {result.expected.value}"


def sarif(report: ProbeReport) -> dict[str, Any]:
    """Results that are not contained: an error where worse than expected, else a note."""
    findings = [
        _finding(result)
        for result in report.results
        if result.containment is not Containment.CONTAINED
    ]
    findings += [
        {
            "ruleId": name,
            "level": "error",
            "message": {"text": "the probe did not see that it escaped from a weak jail"},
        }
        for name in report.blind
    ]
    driver = {
        "name": "assay probe",
        "version": importlib.metadata.version("assay"),
        "rules": [
            {
                "id": probe.name,
                "shortDescription": {"text": probe.threat},
                "fullDescription": {"text": f"{probe.how}. Expected to stop it: {_layers(probe)}"},
            }
            for probe in report.probes
        ],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not report.void}],
        "results": findings,
    }
    return {"$schema": _SARIF, "version": "2.1.0", "runs": [run]}


def _layers(probe: Probe) -> str:
    return ", ".join(probe.layers)


def _finding(result: ProbeResult) -> dict[str, Any]:
    found = "; ".join(result.found)
    return {
        "ruleId": result.probe,
        "level": "note" if result.as_expected else "error",
        "message": {"text": f"profile {result.profile.value}: {_sentence(result)}: {found}"},
        "properties": {"profile": result.profile.value, "by": list(result.by)},
    }

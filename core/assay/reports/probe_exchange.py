"""The matrix in the formats that other tools read: JUnit XML and SARIF 2.1.0."""

from __future__ import annotations

import importlib.metadata
from typing import Any
from xml.etree import ElementTree

from assay.api import Containment, Probe, ProbeReport, ProbeResult, Profile

__all__ = ["junit", "sarif"]

_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_CANARY = "canary"
BLIND = "it did not see an escape from the jail that is weak on purpose"


def junit(report: ProbeReport) -> bytes:
    """One suite for each profile and one for the canary; what is worse than expected fails."""
    root = ElementTree.Element("testsuites", name="assay probe")
    for profile in Profile:
        results = [result for result in report.results if result.profile is profile]
        if results:
            _suite(root, profile.value, results)
    canary = _suite(root, _CANARY, list(report.canary))
    cases = {case.get("name"): case for case in canary}
    for name in report.blind:
        case = cases.get(name)
        if case is None:
            case = ElementTree.SubElement(canary, "testcase", classname=_CANARY, name=name)
        _fail(case, BLIND)
    for suite in root:
        suite.set("tests", str(len(suite)))
        suite.set("failures", str(len(suite.findall("testcase/failure"))))
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _suite(root: ElementTree.Element, name: str, results: list[ProbeResult]) -> ElementTree.Element:
    suite = ElementTree.SubElement(root, "testsuite", name=name)
    for result in results:
        case = ElementTree.SubElement(suite, "testcase", classname=name, name=result.probe)
        if not result.as_expected:
            _fail(case, _sentence(result), result.found)
    return suite


def _fail(case: ElementTree.Element, message: str, found: tuple[str, ...] = ()) -> None:
    failure = ElementTree.SubElement(case, "failure", message=_legal(message))
    failure.text = "\n".join(_legal(text) for text in found)


def _legal(text: str) -> str:
    """Text as XML can hold it; what it can't is escaped already, unless somebody forgot."""
    return "".join(char if char.isprintable() else "?" for char in text)


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
            "message": {"text": BLIND},
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

"""JSON Schema of what commands print with `--json`, and of `run.json`.

A document whose `schema` is `assay-NAME-1` is described by `assay schema NAME`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assay.api.linting import LintSeverity
from assay.api.trust import Trust

__all__ = ["OUTPUT_SCHEMAS"]

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_CODE = {"type": "integer", "minimum": 0, "maximum": 255}
_DIGEST = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
_TEXTS = {"type": "array", "items": _TEXT}
_OBJECT = {"type": "object"}


def _document(name: str, **properties: Any) -> dict[str, Any]:
    return _closed(schema={"enum": [f"assay-{name}-1"]}, **properties)


def _closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "additionalProperties": False,
    }


def _list(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


_SKIPPED = _list(_closed(task=_TEXT, reason=_TEXT))


def _run() -> dict[str, Any]:
    """`run.json`; the keys that are not required are there when the run has ended."""
    document = _document(
        "run",
        suite=_TEXT,
        subject=_closed(kind={"enum": ["calibration", "submission"]}),
        tasks=_TEXTS,
        skipped=_SKIPPED,
        executor=_TEXT,
        workers={"type": "integer", "minimum": 1},
        copier=_TEXT,
        identity=_closed(
            revisions=_closed(task=_DIGEST, fixture=_DIGEST, environment=_DIGEST),
            environment=_OBJECT,
        ),
        started=_COUNT,
    )
    document["properties"] |= {
        "redaction": _closed(version=_TEXT, detector=_TEXT),
        "finished": _COUNT,
        "results_digest": _DIGEST,
        "milliseconds": {
            "type": "object",
            "additionalProperties": {"type": "object", "additionalProperties": _COUNT},
        },
        "workspaces_on": _TEXT,
        "folders": _closed(reaped=_COUNT, created=_COUNT, removed=_COUNT),
        "limits": _OBJECT,
        "retired": _SKIPPED,
        "evicted": _COUNT,
        "leaks": _TEXTS,
        "interrupted": {"type": "boolean"},
        "copier_fallback": _closed(asked=_TEXT, reason=_TEXT),
    }
    return document


def _run_output() -> dict[str, Any]:
    return _document(
        "run-output",
        run=_TEXT,
        exit_code=_CODE,
        results_digest=_DIGEST,
        problems=_TEXTS,
        summary=_OBJECT,
    )


def _check_output() -> dict[str, Any]:
    expected = _closed(verdict=_TEXT, required=_TEXTS, permitted=_TEXTS)
    measured = _closed(verdict=_TEXT, reasons=_TEXTS, error=_TEXT)
    unmet = _closed(task=_TEXT, candidate=_TEXT, expected=expected, measured=measured)
    return _document(
        "check-output",
        exit_code=_CODE,
        trials=_COUNT,
        unmet=_list(unmet),
        skipped=_SKIPPED,
        retired=_SKIPPED,
    )


def _clean_output() -> dict[str, Any]:
    folder = _closed(
        name=_TEXT,
        kind=_TEXT,
        fate={"enum": ["removed", "removable", "in-use", "young", "stuck", "foreign"]},
        why=_TEXT,
    )
    evicted = _closed(
        kind={"enum": ["tree", "blob", "note", "unfinished"]},
        name=_TEXT,
        bytes=_COUNT,
        fate={"enum": ["removed", "removable", "stuck"]},
    )
    pruned = _closed(runs=_COUNT, files=_COUNT, bytes=_COUNT)
    return _document(
        "clean-output",
        exit_code=_CODE,
        dry_run={"type": "boolean"},
        artifacts={"anyOf": [pruned, {"type": "null"}]},
        folders=_list(folder),
        store=_closed(bytes=_COUNT, limit=_COUNT, evicted=_list(evicted)),
    )


def _doctor_output() -> dict[str, Any]:
    finding = _closed(
        layer=_TEXT,
        state={"enum": ["present", "absent", "degraded"]},
        found=_TEXT,
        follows=_TEXT,
        fix=_TEXT,
        optional={"type": "boolean"},
    )
    return _document(
        "doctor-output",
        available={"type": "boolean"},
        mode=_TEXT,
        findings=_list(finding),
        hardened={"type": "boolean"},
        lacking=_TEXTS,
        profiles=_OBJECT,
    )


def _lint_output() -> dict[str, Any]:
    finding = _closed(
        rule=_TEXT,
        severity={"enum": [severity.value for severity in LintSeverity]},
        task=_TEXT,
        grader=_TEXT,
        file=_TEXT,
        line=_COUNT,
        test=_TEXT,
        detail=_TEXT,
        excuse=_TEXT,
        follows=_TEXT,
        cure=_TEXT,
    )
    test = _closed(
        id=_TEXT,
        outcome=_TEXT,
        level=_COUNT,
        features=_TEXTS,
        trips=_COUNT,
        codes=_TEXTS,
        unsupported=_TEXTS,
    )
    run = _closed(
        task=_TEXT,
        grader=_TEXT,
        trust={"enum": [trust.value for trust in Trust]},
        tests=_list(test),
        refused_on_base=_list(_closed(id=_TEXT, codes=_TEXTS)),
        mutants=_list(_closed(id=_TEXT, what=_TEXT, in_process=_TEXTS, isolated=_TEXTS)),
    )
    return _document(
        "lint-output",
        suite=_TEXT,
        tasks=_TEXTS,
        strict={"type": "boolean"},
        exit_code=_CODE,
        findings=_list(finding),
        retired=_TEXTS,
        unread=_list(_closed(task=_TEXT, grader=_TEXT)),
        driven={"anyOf": [_list(run), {"type": "null"}]},
        skipped=_SKIPPED,
    )


def _probe_output() -> dict[str, Any]:
    containment = {"enum": ["contained", "partial", "no-answer", "ESCAPED"]}
    result = _closed(
        probe=_TEXT,
        profile=_TEXT,
        containment=containment,
        expected=containment,
        by=_TEXTS,
        found=_TEXTS,
        checks=_COUNT,
        sentinels=_COUNT,
    )
    probe = _closed(
        name=_TEXT, threat=_TEXT, how=_TEXT, layers=_TEXTS, expected=containment, why=_TEXT
    )
    names = ("probes", "results", *containment["enum"], "checks", "comparisons")
    return _document(
        "probe-output",
        exit_code=_CODE,
        mode={"enum": ["root", "user"]},
        void={"type": "boolean"},
        counts=_closed(**dict.fromkeys(names, _COUNT)),
        sentinels=_TEXTS,
        probes=_list(probe),
        matrix=_list(result),
        canary=_closed(results=_list(result), blind=_TEXTS),
        versions=_OBJECT,
    )


def _plugins_output() -> dict[str, Any]:
    plugin = _closed(group=_TEXT, name=_TEXT, distribution=_TEXT, version=_TEXT)
    return _document("plugins-output", plugins=_list(plugin))


OUTPUT_SCHEMAS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "check-output": _check_output,
    "clean-output": _clean_output,
    "doctor-output": _doctor_output,
    "error-output": lambda: _document("error-output", error=_TEXT, message=_TEXT, exit_code=_CODE),
    "lint-output": _lint_output,
    "lock-output": lambda: _document(
        "lock-output",
        changed=_TEXTS,
        published=_TEXTS,
        measured={"type": "object", "additionalProperties": _TEXT},
        exit_code=_CODE,
    ),
    "new-output": lambda: _document("new-output", written=_TEXTS),
    "plugins-output": _plugins_output,
    "probe-output": _probe_output,
    "run": _run,
    "run-output": _run_output,
    "schema-output": lambda: _document("schema-output", names=_TEXTS),
    "trial-output": lambda: _document("trial-output", trial=_OBJECT),
}
"""By name, what makes the schema."""

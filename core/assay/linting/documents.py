"""The JSON document of `assay lint --json`; `assay schema lint-output` describes it."""

from __future__ import annotations

from typing import Any

from attrs import asdict

from assay.linting.driven import GraderRun
from assay.linting.driving import Driven
from assay.linting.report import Finding, LintReport

__all__ = ["document"]


def document(
    report: LintReport, driven: Driven | None, *, exit_code: int, strict: bool
) -> dict[str, Any]:
    """Plain data in canonical order; `driven` is None when nothing was run."""
    return {
        "schema": "assay-lint-output-1",
        "suite": report.suite,
        "tasks": list(report.tasks),
        "strict": strict,
        "exit_code": exit_code,
        "findings": [_finding(found) for found in report.findings],
        "unread": [{"task": task, "grader": grader} for task, grader in report.unread],
        "retired": list(report.retired),
        "driven": None if driven is None else [_run(run) for run in driven.runs],
        "skipped": [asdict(item) for item in (() if driven is None else driven.skipped)],
    }


def _finding(found: Finding) -> dict[str, Any]:
    return {
        "rule": found.rule.id,
        "severity": found.rule.severity.value,
        "task": found.task,
        "grader": found.grader,
        "file": found.file,
        "line": found.line,
        "test": found.test,
        "detail": found.detail,
        "excuse": found.excuse,
        "follows": found.rule.follows,
        "cure": found.rule.cure,
    }


def _run(run: GraderRun) -> dict[str, Any]:
    return {
        "task": run.task,
        "grader": run.grader,
        "trust": run.trust.value,
        "tests": [_plain(asdict(use)) for use in run.tests],
        "refused_on_base": [
            {"id": use.id, "codes": list(use.codes)} for use in run.refused_on_base
        ],
        "mutants": [
            {
                "id": mutant.id,
                "what": mutant.what,
                "in_process": list(mutant.in_process),
                "isolated": list(mutant.isolated),
            }
            for mutant in run.mutants
        ],
    }


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        key: list(value) if isinstance(value, tuple) else value for key, value in fields.items()
    }

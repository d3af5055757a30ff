"""assay finds out what a coding agent, a patch or submitted files really did.

The names below are the public functions; plugins import `assay.api` instead. They are
loaded at first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.benchmark import BenchmarkTask
    from assay.evaluation import agrade, grade, grade_trial
    from assay.fixtures import fixture_copy, with_fixture_copy
    from assay.submissions import load_candidates
    from assay.suites import load_benchmark_task, open_suite

__all__ = [
    "BenchmarkTask",
    "agrade",
    "fixture_copy",
    "grade",
    "grade_trial",
    "load_benchmark_task",
    "load_candidates",
    "open_suite",
    "with_fixture_copy",
]

_HOMES = {
    "BenchmarkTask": "assay.benchmark",
    "agrade": "assay.evaluation",
    "fixture_copy": "assay.fixtures",
    "grade": "assay.evaluation",
    "grade_trial": "assay.evaluation",
    "load_benchmark_task": "assay.suites",
    "load_candidates": "assay.submissions",
    "open_suite": "assay.suites",
    "with_fixture_copy": "assay.fixtures",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

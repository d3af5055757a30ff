"""In CI nothing may be left out quietly: what a test needs there must be there."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
from hypothesis import settings

# In CI the same examples every time, so that a change is never blamed for another one's fault;
# everywhere else new ones. Nothing is kept beside the sources, which may be read-only.
settings.register_profile("assay", database=None, deadline=None)
settings.register_profile("assay-ci", parent=settings.get_profile("assay"), derandomize=True)
settings.load_profile("assay-ci" if "CI" in os.environ else "assay")

WHO_RUNS = ("root", "ordinary user", "pip is not installed for this Python")
"""Words of reasons that tell who runs a test: the suite's other half runs it."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and "CI" in os.environ and isinstance(report.longrepr, tuple):
        reason = str(report.longrepr[2])
        if not any(words in reason for words in WHO_RUNS):
            report.outcome = "failed"
            report.longrepr = f"left out in CI: {reason}"
    return report

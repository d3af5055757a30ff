"""In CI nothing may be left out quietly: what a test needs there must be there."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

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

"""Runs the test files with pytest."""

from __future__ import annotations

import os
from typing import Any

import pytest

from .exchange import Exchange
from .guards import close_code_paths, within
from .noted import Noted
from .recorder import Recorder

__all__ = ["run"]


class Judge:
    """A pytest plugin that gathers what happens to each test, and bounds its time."""

    def __init__(self, exchange: Exchange, recorder: Recorder, config: dict[str, Any]) -> None:
        self._exchange = exchange
        self._client = exchange.client
        self._recorder = recorder
        self._seconds: float = config["test_seconds"]
        self._base: str = config["base"]
        self._outcomes: list[str] = []
        self._messages: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        # Nothing of the candidate's has been here before.
        close_code_paths(self._client, self._base, self._exchange.forwarding)

    def pytest_collection_finish(self) -> None:
        """What the files themselves got from the candidate is there for all of their tests."""
        self._exchange.watched.outlast()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        """The same for fixtures that more than one test may use."""
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                self._exchange.watched.outlast()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        noted = self._client.begin()
        self._outcomes, self._messages = [], []
        try:
            return (yield)
        finally:
            self._exchange.end_test(getattr(item, "function", None))
            self._end(item.nodeid, noted)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Any:
        with within(self._seconds, self._client):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        with within(self._seconds, self._client):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Any:
        with within(self._seconds, self._client):
            return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One phase of a test: those around a passed call are no pass of their own."""
        outcome = _outcome(report)
        if outcome != "passed" or report.when == "call":
            self._outcomes.append(outcome)
        if outcome in ("failed", "error"):
            self._messages.append(report.longreprtext)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that was read, or could not be."""
        if report.failed:
            self._recorder.add_failed_file(report.nodeid.partition("::")[0], report.longreprtext)

    def _end(self, test: str, noted: Noted) -> None:
        self._recorder.add(test, self._outcomes, "\n".join(self._messages), [noted])


def _outcome(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        return "xfailed"
    if report.failed:
        return "failed" if report.when == "call" else "error"
    return "skipped" if report.skipped else "passed"


def run(exchange: Exchange, recorder: Recorder, config: dict[str, Any]) -> int:
    """Run all files; the exit code of pytest."""
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    arguments = [
        "-c/dev/null",
        f"--rootdir={config['base']}",
        "--noconftest",
        "--import-mode=importlib",
        "-pno:cacheprovider",
        "--color=no",
        "--tb=short",
        *config["tests"],
    ]
    return int(pytest.main(arguments, plugins=[Judge(exchange, recorder, config)]))

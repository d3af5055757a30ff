"""Runs test files with pytest beside the code under test, with every guard in force."""

from __future__ import annotations

import os
import random
from collections.abc import Generator
from typing import Any

import pytest

from .absent import Absent
from .results import Results, text
from .session import main as serve
from .session import prepare

__all__ = ["main"]

_RANK = ("passed", "skipped", "xfailed", "failed", "error")


class Watcher:
    """A plugin that orders the tests, records each result, and measures pytest's own set-up."""

    def __init__(self, results: Results, order: str, held: list[str]) -> None:
        self._results = results
        self._order = order
        self._held = held
        self._outcome = "passed"
        self._called = False
        self._messages: list[str] = []

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        manager = session.config.pluginmanager
        if not any(_file_of(plugin).endswith("conftest.py") for plugin in manager.get_plugins()):
            self._held.append("no-conftest")
        if str(session.config.inipath) == os.devnull:
            self._held.append("no-configuration")
        if not manager.list_plugin_distinfo():
            self._held.append("no-plugins")
        if manager.has_plugin("subtests"):
            self._held.append("sub-tests")

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(
        self, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        collected = list(items)
        self._results.collected = [text(item.nodeid) for item in collected]
        yield
        # In place of any order that others, such as fixtures of a wide scope, prefer.
        random.Random(self._order).shuffle(collected)
        items[:] = collected

    def pytest_runtestloop(self) -> None:
        Absent.is_running = True

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._outcome, self._called, self._messages = "passed", False, []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        outcome = _outcome(report)
        if hasattr(report, "context"):
            message = report.longreprtext if outcome != "passed" else ""
            self._results.part(report.nodeid, outcome, message)
            if outcome in ("failed", "error"):
                # pytest says so itself of its own sub-tests, but not of unittest's.
                self._outcome = max(self._outcome, outcome, key=_RANK.index)
            return
        self._called = self._called or report.when == "call"
        self._outcome = max(self._outcome, outcome, key=_RANK.index)
        if outcome in ("failed", "error"):
            self._messages.append(report.longreprtext)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if self._outcome == "passed" and not self._called:
            self._outcome = "error"
        self._results.test(nodeid, self._outcome, "\n".join(self._messages))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._results.error(report.nodeid.partition("::")[0], report.longreprtext)


def _outcome(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        return "xfailed"
    if report.failed:
        return "failed" if report.when == "call" else "error"
    return "skipped" if report.skipped else "passed"


def _file_of(plugin: Any) -> str:
    return str(getattr(plugin, "__file__", ""))


def _run(config: dict[str, Any], results: Results, held: list[str]) -> int:
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    prepare(config, held)
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
    return int(pytest.main(arguments, plugins=[Watcher(results, config["order"], held)]))


def main() -> None:
    """Read the configuration from the private channel and run."""
    serve(_run)

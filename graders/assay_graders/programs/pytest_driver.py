"""Runs test files with pytest and sends one report on the private channel.

Started as `python -P -s -B pytest_driver.py CONFIG` with CONFIG a JSON object: `base` (ids and
rootdir are relative to it), `tests` (absolute files) and `roots` (absolute folders of the code
under test). `sys.path` grows only after pytest is imported, and only at its end: the folders of
the tests, then the roots, so that code under test replaces no other module. Nothing in the
graded tree configures the run.
`CONFIG` may be the word `probe`: then it only shows that pytest can be imported.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pytest

MESSAGE_CHARACTERS = 4_000
MESSAGES_CHARACTERS = 200_000
RANK = ("passed", "skipped", "xfailed", "failed", "error")


class Recorder:
    """Collects, in order, one outcome per test that ran, and each file that failed to load."""

    def __init__(self) -> None:
        self.tests: list[dict[str, str]] = []
        self.errors: list[dict[str, str]] = []
        self._left = MESSAGES_CHARACTERS
        self._outcome = "passed"
        self._called = False
        self._messages: list[str] = []

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._outcome, self._called, self._messages = "passed", False, []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        outcome = _outcome(report)
        self._called = self._called or report.when == "call"
        self._outcome = max(self._outcome, outcome, key=RANK.index)
        if outcome in ("failed", "error"):
            self._messages.append(report.longreprtext)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if self._outcome == "passed" and not self._called:
            self._outcome = "error"
        self.tests.append(
            {
                "id": _text(nodeid),
                "outcome": self._outcome,
                "message": self._cut("\n".join(self._messages)),
            }
        )

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            file = report.nodeid.partition("::")[0]
            self.errors.append({"file": _text(file), "message": self._cut(report.longreprtext)})

    def _cut(self, message: str) -> str:
        half = min(MESSAGE_CHARACTERS, self._left) // 2
        if len(message) > 2 * half:
            message = f"{message[:half]}\n[cut]\n{message[len(message) - half :]}"
        self._left = max(0, self._left - len(message))
        return _text(message)


def _outcome(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        return "xfailed"
    if report.failed:
        return "failed" if report.when == "call" else "error"
    return "skipped" if report.skipped else "passed"


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _send(channel: int, message: dict[str, Any]) -> None:
    body = json.dumps(message).encode("ascii")
    frame = memoryview(len(body).to_bytes(4, "big") + body)
    while frame:
        frame = frame[os.write(channel, frame) :]


def _run(config: dict[str, Any], channel: int) -> int:
    os.set_inheritable(channel, False)
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    folders = [os.path.dirname(test) for test in config["tests"]]
    sys.path.extend(dict.fromkeys(folders + config["roots"]))
    recorder = Recorder()
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
    try:
        code = int(pytest.main(arguments, plugins=[recorder]))
    finally:
        _send(channel, {"schema": 1, "tests": recorder.tests, "errors": recorder.errors})
    return code


if __name__ == "__main__" and sys.argv[1] != "probe":
    sys.exit(_run(json.loads(sys.argv[1]), int(os.environ.pop("ASSAY_CHANNEL_REPORT"))))

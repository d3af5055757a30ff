"""Runs test cases and the code under test in this process, and sends one report.

Started with a JSON object: `base` (ids are relative to it), `tests` (absolute files), `roots`
(absolute folders of the code under test) and `subtests` (ids of tests whose sub-tests are
results of their own), or with the word `probe`, which only shows that this can start.
`sys.path` grows only after everything here is imported, and only at its end: the folders of the
tests, then the roots, so that code under test replaces no other module.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any

from .loading import TestFiles
from .outcomes import Ran, told
from .running import TestRun

__all__ = ["main"]

_MESSAGE_CHARACTERS = 4_000
_MESSAGES_CHARACTERS = 200_000
_RANK = ("passed", "skipped", "xfailed", "failed", "error")


class _Report:
    def __init__(self) -> None:
        self._left = _MESSAGES_CHARACTERS
        self._tests: list[dict[str, str]] = []
        self._errors: list[dict[str, str]] = []

    def add(self, ran: Ran) -> None:
        outcome = max(ran.outcomes, default="error", key=_RANK.index)
        message = self._cut("\n".join(ran.messages))
        self._tests.append({"id": _text(ran.id), "outcome": outcome, "message": message})

    def add_failed_file(self, file: str, message: str) -> None:
        self._errors.append({"file": file, "message": self._cut(message)})

    def send(self, channel: int) -> None:
        message = {"schema": 1, "tests": self._tests, "errors": self._errors}
        body = json.dumps(message).encode("ascii")
        frame = memoryview(len(body).to_bytes(4, "big") + body)
        while frame:
            frame = frame[os.write(channel, frame) :]

    def _cut(self, message: str) -> str:
        half = min(_MESSAGE_CHARACTERS, self._left) // 2
        if len(message) > 2 * half:
            message = f"{message[:half]}\n[cut]\n{message[len(message) - half :]}"
        self._left = max(0, self._left - len(message))
        return _text(message)


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _run(config: dict[str, Any], channel: int) -> bool:
    """Whether everything passed."""
    os.set_inheritable(channel, False)
    files = TestFiles(config["base"], config["tests"])
    run = TestRun(lambda *_: contextlib.nullcontext(), config["subtests"])
    report = _Report()
    sys.meta_path.insert(0, files)
    folders = [os.path.dirname(test) for test in config["tests"]]
    sys.path.extend(dict.fromkeys(folders + config["roots"]))
    is_loaded = True
    try:
        for name, file in files.files.items():
            try:
                tests = files.load(name)
            except BaseException as error:
                is_loaded = False
                report.add_failed_file(os.path.relpath(file, config["base"]), told(error))
            else:
                run.run(tests)
    finally:
        for ran in run.ran:
            report.add(ran)
        report.send(channel)
    return is_loaded and all(set(ran.outcomes) == {"passed"} for ran in run.ran)


def main() -> None:
    """Read the configuration and run; exits with 0 if everything passed."""
    if sys.argv[1] != "probe":
        channel = int(os.environ.pop("ASSAY_CHANNEL_REPORT"))
        sys.exit(0 if _run(json.loads(sys.argv[1]), channel) else 1)

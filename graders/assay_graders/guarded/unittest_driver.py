"""Runs unittest's test cases beside the code under test, with every guard in force."""

from __future__ import annotations

import contextlib
import os
import random
import sys
from typing import Any

from ..unittests.loading import LoadedTest, TestFiles
from ..unittests.outcomes import Ran, told
from ..unittests.running import TestRun
from .absent import Absent
from .results import Results, text
from .session import main as serve
from .session import prepare

__all__ = ["main"]

_RANK = ("passed", "skipped", "xfailed", "failed", "error")


def _run(config: dict[str, Any], results: Results, held: list[str]) -> int:
    files = TestFiles(config["base"], config["tests"])
    sys.meta_path.insert(0, files)
    prepare(config, held)
    held += ["no-discovery", "own-load-tests", "sub-tests"]
    loaded: list[list[LoadedTest]] = []
    for name, file in files.files.items():
        try:
            loaded.append(files.load(name))
        except BaseException as error:
            results.error(os.path.relpath(file, config["base"]), told(error))
    ids = [test.id for tests in loaded for test in tests]
    results.collected = [text(test) for test in ids]
    Absent.is_running = True
    run = TestRun(lambda *_: contextlib.nullcontext(), ids)
    chance = random.Random(config["order"])
    try:
        for tests in loaded:
            run.run(_shuffled(tests, chance))
    finally:
        for ran in run.ran:
            _tell(ran, set(ids), set(config["subtests"]), results)
    return 0 if all(set(ran.outcomes) == {"passed"} for ran in run.ran) else 1


def _shuffled(tests: list[LoadedTest], chance: random.Random) -> list[LoadedTest]:
    """Classes in another order, and the tests of each: their fixtures run once."""
    classes: dict[str, list[LoadedTest]] = {}
    for test in tests:
        classes.setdefault(test.id.rpartition(".")[0], []).append(test)
    groups = list(classes.values())
    chance.shuffle(groups)
    for group in groups:
        chance.shuffle(group)
    return [test for group in groups for test in group]


def _tell(ran: Ran, ids: set[str], with_parts: set[str], results: Results) -> None:
    outcome = max(ran.outcomes, default="error", key=_RANK.index)
    message = "\n".join(ran.messages)
    whole = next((test for test in ids if ran.id.startswith(f"{test} ")), ran.id)
    if ran.id in ids or whole in with_parts:
        results.test(ran.id, outcome, message)
    else:
        results.part(whole, outcome, message)


def main() -> None:
    """Read the configuration from the private channel and run."""
    serve(_run)

"""Runs the test files with unittest."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from ..unittests.loading import LoadedTest, TestFiles, UnsupportedFile
from ..unittests.outcomes import told
from ..unittests.running import TestRun
from .exchange import Exchange
from .guards import close_code_paths, within
from .noted import Noted
from .recorder import Recorder

__all__ = ["run"]


def run(exchange: Exchange, recorder: Recorder, config: dict[str, Any]) -> int:
    """Run all files; 0 if all of them could be loaded."""
    client = exchange.client

    @contextlib.contextmanager
    def around(function: Any, is_fixture: bool) -> Iterator[Noted]:
        noted = client.begin()
        try:
            with within(config["test_seconds"], client):
                yield noted
        finally:
            if is_fixture:
                exchange.watched.outlast()
            exchange.end_test(function)

    files = TestFiles(config["base"], config["tests"])
    # After the candidate's modules: a folder of tests may lie in one of their packages.
    sys.meta_path.insert(1, files)
    close_code_paths(client, config["base"], exchange.forwarding)
    code, loaded = 0, []
    for name, file in files.files.items():
        try:
            tests = files.load(name)
            _require_own(tests, exchange)
            loaded.append(tests)
        except BaseException as error:
            code = 1
            if isinstance(error, UnsupportedFile):
                client.refuse("load-tests", by_test=True)
            recorder.add_failed_file(os.path.relpath(file, config["base"]), told(error))
    exchange.watched.outlast()
    test_run = TestRun(around, config["subtests"])
    try:
        for tests in loaded:
            test_run.run(tests)
    finally:
        for ran in test_run.ran:
            recorder.add(ran.id, ran.outcomes, "\n".join(ran.messages), ran.notes)
    return code


def _require_own(tests: list[LoadedTest], exchange: Exchange) -> None:
    """Refuse a test whose method is the candidate's, who could leave out what it wraps.

    What its decorator returns is the candidate's choice, so that this is no fault of the tests.
    """
    for test in tests:
        method = getattr(test.case, test.name)
        if exchange.known.is_candidates(getattr(method, "__func__", method)):
            raise exchange.client.refuse("test-wrapped")

"""Runs unmodified test files with pytest while the code under test is in another process.

Started with one argument, a JSON object: `base` (ids are relative to it), `tests` (absolute
files), `modules` (names of the candidate's modules, true for packages), `nan`, `test_seconds`
and `max_trips`. Sends one report when everything is over.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pytest

from ..wire.frames import FrameStream
from ..wire.values import Codec
from .arguments import Lent
from .client import Client
from .exchange import Exchange
from .guards import close_code_paths, within
from .modules import CandidateFinder, without_those_found_here
from .proxies import bind
from .recorder import Recorder
from .references import References

__all__ = ["main"]


class Judge:
    """Decides how each test is reported, from what it raised and what it did on the wire."""

    def __init__(self, client: Client, exchange: Exchange, recorder: Recorder, config: Any):
        self._client = client
        self._exchange = exchange
        self._recorder = recorder
        self._seconds: float = config["test_seconds"]
        self._base: str = config["base"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        # Nothing of the candidate's has been here before.
        close_code_paths(self._client, self._base)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        noted = self._client.begin()
        self._recorder.begin(item.nodeid)
        try:
            return (yield)
        finally:
            is_result, is_argument = self._exchange.watched.end()
            if is_result:
                self._client.refuse("result-changed")
            if is_argument:
                self._client.refuse("argument-changed", by_test=True)
            self._recorder.end(noted)

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


def main() -> None:
    """Read the configuration and run."""
    descriptors = [
        int(os.environ.pop(f"ASSAY_CHANNEL_{name}", "-1")) for name in ("WIRE", "REPORT")
    ]
    if sys.argv[1] != "probe":
        os._exit(_run(json.loads(sys.argv[1]), *descriptors))


def _run(config: dict[str, Any], wire: int, report: int) -> int:
    for descriptor in (wire, report):
        os.set_inheritable(descriptor, False)
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.path.extend(dict.fromkeys(os.path.dirname(test) for test in config["tests"]))
    modules, is_taken = without_those_found_here(config["modules"], config["tops"])
    stream = FrameStream(wire, config["max_frame"])
    client = Client(stream, Codec(nan=config["nan"]), config["max_trips"])
    if is_taken:
        client.refuse("name-taken", by_test=True)
    lent = Lent(client)
    references = References(client, lent, frozenset(modules))
    client.refer, client.resolve = references.refer, references.resolve
    client.call_back, client.next_back = lent.call, lent.following
    client.describe_error = references.describe_error
    exchange = Exchange(client, references)
    bind(exchange)
    sys.meta_path.insert(0, CandidateFinder(exchange, modules))
    recorder = Recorder(client.noted)
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
    judge = Judge(client, exchange, recorder, config)
    code = 1
    try:
        code = int(pytest.main(arguments, plugins=[recorder, judge]))
    finally:
        os.close(wire)
        counts = {"trips": client.total_trips, "faults": client.faults}
        FrameStream(report).send(recorder.frame(counts))
        sys.stdout.flush()
        sys.stderr.flush()
    return code

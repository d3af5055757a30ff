"""Runs unmodified test files while the code under test is in another process.

Started with the name of a test runner, a module `NAME_runner` beside this one, and a JSON
object: `base` (ids are relative to it), `tests` (absolute files), `modules` (names of the
candidate's modules, true for packages), `nan`, `test_seconds`, `max_trips`, `processor`,
`forward` (what of this process is handed on), `max_level`, `adapters` (keys of classes) and
`exports` (what `import *` gives). Sends one report when everything is over.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

from ..wire.frames import FrameStream
from ..wire.values import Codec
from .assembly import assembled
from .client import Client
from .modules import CandidateFinder, without_those_found_here
from .placing import run_on
from .recorder import Recorder

__all__ = ["main"]


def main() -> None:
    """Read the configuration and run."""
    descriptors = [
        int(os.environ.pop(f"ASSAY_CHANNEL_{name}", "-1")) for name in ("WIRE", "REPORT")
    ]
    runner = importlib.import_module(f"{__package__}.{sys.argv[1]}_runner")
    if sys.argv[2] != "probe":
        os._exit(_run(runner, json.loads(sys.argv[2]), *descriptors))


def _run(runner: Any, config: dict[str, Any], wire: int, report: int) -> int:
    for descriptor in (wire, report):
        os.set_inheritable(descriptor, False)
    sys.argv = [""]
    sys.path.extend(dict.fromkeys(os.path.dirname(test) for test in config["tests"]))
    modules, is_taken = without_those_found_here(config["modules"], config["tops"])
    stream = FrameStream(wire, config["max_frame"])
    client = Client(stream, Codec(nan=config["nan"]), config["max_trips"], config["max_level"])
    if is_taken:
        client.refuse("name-taken", by_test=True)
    exchange = assembled(client, config, modules)
    sys.meta_path.insert(0, CandidateFinder(exchange, modules, config["exports"]))
    recorder = Recorder(client.noted)
    run_on(config["processor"])
    code = 1
    try:
        code = int(runner.run(exchange, recorder, config))
    finally:
        os.close(wire)
        counts = {"trips": client.total_trips, "faults": client.faults}
        FrameStream(report).send(recorder.frame(counts))
        sys.stdout.flush()
        sys.stderr.flush()
    return code

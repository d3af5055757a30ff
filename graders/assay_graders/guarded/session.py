"""One guarded run: its configuration comes over the private channel, and its report leaves so.

The configuration is a JSON object: `nonce`; `base` (ids are relative to it), `tests` (absolute
files), `roots` (absolute folders of the code under test), `order` (seed of the order), `graded`
and `added` (files by module name, of the fixture and of the candidate's own), `originals` (texts of
the fixture by path), `restore` and `lenient`.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from ..wire.frames import FrameStream
from .absent import AbsentModules
from .graded import Originals, import_graded_from
from .measures import Origins, held_before
from .results import Results

__all__ = ["main", "prepare"]

_STATE: dict[str, Any] = {}


def prepare(config: dict[str, Any], held: list[str]) -> None:
    """Make the code under test importable, after everything else, and measure the guards."""
    folders = dict.fromkeys(os.path.dirname(test) for test in config["tests"])
    sys.path.extend(folder for folder in folders if folder not in sys.path)
    originals = Originals(config["originals"], restore=config["restore"], lenient=config["lenient"])
    import_graded_from(config["roots"], originals)
    if config["lenient"]:
        sys.meta_path.append(AbsentModules(config["added"]))
    held.extend(held_before(config["base"], config["tests"], config["roots"]))
    _STATE["originals"] = originals
    _STATE["origins"] = Origins(config["graded"], config["added"], config["base"])


def main(run: Callable[[dict[str, Any], Results, list[str]], int]) -> None:
    """Serve one run; the word `probe` only shows that the program starts."""
    channel = int(os.environ.pop("ASSAY_CHANNEL_REPORT", "-1"))
    if sys.argv[1:] == ["probe"]:
        return
    os.set_inheritable(channel, False)
    stream = FrameStream(channel)
    config = json.loads(stream.recv() or b"")
    results, held = Results(), list[str]()
    code = 1
    try:
        code = run(config, results, held)
    except BaseException:
        traceback.print_exc()
    finally:
        strays = _STATE["origins"].strays() if "origins" in _STATE else []
        restored = len(_STATE["originals"].restored) if "originals" in _STATE else 0
        stream.send(results.frame(config["nonce"], held, strays, restored))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

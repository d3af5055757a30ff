"""Whether the host's libfaketime can be trusted with a jail's programs: tried, not assumed.

Releases up to 0.9.10 break pauses of programs whose monotonic clock is left alone (a Python from
3.11 on can't sleep at all), so the version that is found is run before any task is.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from assay.api import (
    Command,
    JailSpec,
    Limits,
    OutcomeStatus,
    Profile,
    Runtime,
    SandboxFailed,
    Session,
)

__all__ = ["FAKETIME", "with_tried_library"]

FAKETIME = "libfaketime"
SECONDS = 10.0
ENVIRONMENT = {
    "FAKETIME": "@2001-02-03 04:05:06",
    "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    "DONT_FAKE_MONOTONIC": "1",
}
PROGRAM = b"""
import sys, threading, time
before = time.monotonic()
time.sleep(0.01)
threading.Event().wait(0.01)
passed = time.monotonic() - before
sys.exit(not (981173106 <= time.time() < 981173136 and 0.02 <= passed < 5))
"""
REASON = "the installed version does not work with this Python; install a newer one"


def with_tried_library(runtime: Runtime, open_jail: Callable[[JailSpec], Session]) -> Runtime:
    """The runtime; without the library, and with the reason, if it does not keep its promise."""
    library = runtime.tools.get(FAKETIME)
    if library is None or _works(runtime, library, open_jail):
        return runtime
    tools = {name: path for name, path in runtime.tools.items() if name != FAKETIME}
    unavailable = {**runtime.unavailable, FAKETIME: REASON}
    return attrs.evolve(runtime, tools=tools, unavailable=unavailable)


def _works(runtime: Runtime, library: str, open_jail: Callable[[JailSpec], Session]) -> bool:
    spec = JailSpec(Profile.BUILD, runtime, limits=Limits(wall=SECONDS))
    command = Command(
        (runtime.tools["python"].encode(), b"-"),
        env={"LD_PRELOAD": library, **ENVIRONMENT},
        stdin=PROGRAM,
    )
    try:
        with open_jail(spec) as session:
            outcome = session.run(command)
    except SandboxFailed:
        return False
    # The loader only warns of a library that it can't load.
    return outcome.status is OutcomeStatus.EXITED and not outcome.exit_code

"""Ways from candidate text to running code in the driver, closed; and the time of one test."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import types
from collections.abc import Iterator
from typing import Any

from .client import Client
from .forwarding import Forwarding

__all__ = ["close_code_paths", "within"]

_IMPORTERS = frozenset(
    {
        "_frozen_importlib",
        "_frozen_importlib_external",
        "importlib._bootstrap",
        "importlib._bootstrap_external",
    }
)
_MAKERS = frozenset({"_pytest.assertion.rewrite", "collections", "dataclasses"})
"""They make code from source files of the tests, or from names that they check."""

_ALLOWED = {
    # These parse text; it would take another step, which is watched, to run it.
    "compile": _IMPORTERS | _MAKERS | {"ast", "typing"},
    "exec": _IMPORTERS | _MAKERS,
    "marshal.loads": _IMPORTERS | {"_pytest.assertion.rewrite"},
    "pickle.find_class": frozenset[str](),
}
_AGAIN_SECONDS = 2.0
_PROCESS_STATE = frozenset({"os.putenv", "os.unsetenv", "os.chdir"})
_ON_BEHALF = frozenset(
    {"os", "collections.abc", "contextlib", "unittest.mock", "_pytest.monkeypatch"}
)
"""They change the state of the process for whoever calls them."""
_PROGRAMS = frozenset({"subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork", "os.system"})


def close_code_paths(client: Client, tests: str, forwarding: Forwarding) -> None:
    """From now on no text becomes code and nothing is unpickled, for the rest of the process.

    What a test does to its process, or starts beside it, would not reach the candidate: that
    is refused as well, but for what is forwarded.

    `tests` is the folder of the test files: what they do directly is theirs to answer for.
    """

    def watch(event: str, _: Any) -> None:
        allowed = _ALLOWED.get(event)
        if allowed is None:
            if event in _PROGRAMS:
                raise client.refuse("subprocess", by_test=True)
            if (
                event in _PROCESS_STATE
                and not forwarding.allows(event)
                and _by_a_test(sys._getframe(1), tests)
            ):
                raise client.refuse("process-state", by_test=True)
            return
        frame = sys._getframe(1)
        # A name is no proof, but only trusted code runs in this process.
        if frame.f_globals.get("__name__") in allowed:
            return
        if event == "pickle.find_class":
            raise client.refuse("pickle")
        raise client.refuse("code", by_test=_is_below(frame.f_code.co_filename, tests))

    sys.addaudithook(watch)


def _by_a_test(frame: types.FrameType | None, tests: str) -> bool:
    while frame is not None and frame.f_globals.get("__name__") in _ON_BEHALF:
        frame = frame.f_back
    return frame is not None and _is_below(frame.f_code.co_filename, tests)


def _is_below(path: str, folder: str) -> bool:
    return os.path.normpath(path).startswith(folder + os.sep)


@contextlib.contextmanager
def within(seconds: float, client: Client) -> Iterator[None]:
    """Raise TimeUp after so many seconds in here, never in the middle of a frame; 0: never."""
    if not seconds:
        yield
        return

    before = signal.signal(signal.SIGALRM, lambda *_: client.time_is_up())
    client.until = client.now() + seconds
    # Again and again: an event loop notes what strikes it between two tasks, and goes on.
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        client.until = 0.0

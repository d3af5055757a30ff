"""Killing a process at each of its steps: every system call that changes a file system.

`python -m support.killed` is not meant to be typed: `kill_at_each_step` starts it, in a process
of its own, so that forking is cheap and nothing of pytest is in the way.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

STEPS = ("open", "mkdir", "write", "rename", "replace", "fchmod", "fchown", "unlink", "rmdir")
MOST_STEPS = 2000

Check = Callable[[Path, bool], None]
Action = Callable[[Path], None]


def dies_at(number: int) -> None:
    """From now on, this process is killed right before its step of this number."""
    left = [number]

    def step(real: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            return real(*arguments, **options)

        return counted

    for name in STEPS:
        setattr(os, name, step(getattr(os, name)))


def kill_at_each_step(
    action: Action, check: Check, folder: Path, prepare: Action = lambda _: None
) -> int:
    """Do the action in processes that die one step later each time; how many steps there are.

    Each has a new folder, made ready by `prepare`; `check` sees it when the process is dead, and
    whether it had ended.
    Call it in a process without threads.
    """
    for number in range(MOST_STEPS):
        place = folder / f"{number}"
        place.mkdir()
        prepare(place)
        child = os.fork()
        if not child:
            dies_at(number)
            code = 1
            try:
                action(place)
                code = 0
            finally:
                os._exit(code)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, -signal.SIGKILL), status
        check(place, status == 0)
        if status == 0:
            return number
    raise AssertionError("it never came to its end")


def in_own_process(module: str, function: str, folder: Path, within: tuple[str, ...] = ()) -> str:
    """Call `module.function(folder)` in a new process; what it printed.

    `within` is a command that starts it.
    """
    done = subprocess.run(
        [
            *(*within, sys.executable, "-c"),
            f"import sys; from pathlib import Path; import {module} as m; "
            f"m.{function}(Path(sys.argv[1]))",
            str(folder),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

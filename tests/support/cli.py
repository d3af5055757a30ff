"""Running the installed command as a user would: a process of its own, its output as text."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen


@frozen
class Ran:
    """What one command printed and returned."""

    code: int
    out: str
    err: str


def assay(
    *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Ran:
    """Run `assay ARGUMENTS`; `env` is added to this process's environment."""
    done = subprocess.run(
        [sys.executable, "-m", "assay.cli", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=240,
        check=False,
    )
    ran = Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in ran.err, ran.err
    return ran

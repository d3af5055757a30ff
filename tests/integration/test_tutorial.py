"""The tutorial's commands work as written and print what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from support.repository import ROOT

_PAGE = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
_FIRST = "## 3. "
"""What comes before grades a shipped suite, which other tests do."""
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = "-- step --"


def _steps() -> Iterator[tuple[str, list[str]]]:
    """Each command, with the file that it is given, and the lines that it must print."""
    for block in _CONSOLE.findall(_PAGE[_PAGE.index(_FIRST) :]):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, printed = step, ""
            if "<<'END'" in step:
                command = step[: step.index("\nEND\n") + len("\nEND\n")]
            else:
                command, _, printed = step.partition("\n")
            yield command, [line.rstrip() for line in printed.splitlines() if line.strip()]


def test_every_command_prints_what_the_tutorial_says(tmp_path: Path) -> None:
    steps = list(_steps())
    script = "".join(f"(exit $code)\n{command}\ncode=$?\necho '{_MARK}'\n" for command, _ in steps)
    programs = str(Path(sys.executable).parent)
    done = subprocess.run(
        ["bash", "-c", f"code=0\n{script}"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        text=True,
    )
    printed = done.stdout.split(f"{_MARK}\n")
    assert len(printed) == len(steps) + 1
    for (command, expected), text in zip(steps, printed, strict=False):
        lines = [line.rstrip() for line in text.splitlines()]
        missing = [line for line in expected if line not in lines]
        assert not missing, f"$ {command.splitlines()[0]}\n{text}"

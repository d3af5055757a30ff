"""A Node process outside of any jail, for modules of the graders where no jail matters."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

__all__ = ["NodeProcess", "node_process"]

_DIGITS_OF_ALL = 17
_PROGRAM = Path(__file__).with_name("node_programs.mjs")


class NodeProcess:
    """Answers one line with one JSON value."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def ask(self, line: str) -> Any:
        """What the process says to a line."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line.encode("ascii") + b"\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline(), parse_int=_number)


def _number(digits: str) -> int | float:
    """Node writes large floating-point numbers without an exponent."""
    return int(digits) if len(digits.lstrip("-")) < _DIGITS_OF_ALL else float(digits)


@contextlib.contextmanager
def node_process(role: str, *arguments: str, descriptors: tuple[int, ...] = ()) -> Iterator[Any]:
    """A process in this role, as `node_programs.mjs` says; ended afterwards."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    folder = str(files("assay_graders.node"))
    command = [node, str(_PROGRAM), folder, role, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, pass_fds=descriptors) as process:
        try:
            yield NodeProcess(process)
        finally:
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.wait(10)

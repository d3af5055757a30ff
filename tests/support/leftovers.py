"""Folders that look like ours: left by dead processes, in use, or made by somebody else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from attrs import asdict, evolve

from assay.api.folders import MARKER
from assay.api.makers import this_process

DEAD = evolve(this_process(), started=this_process().started - 1)
ELSEWHERE = evolve(this_process(), boot="another-start")

MAKE = """
import os, signal, sys
from assay.api.folders import MarkedFolder
folder = MarkedFolder.make(sys.argv[1], sys.argv[2])
(folder.path / "content").write_text("left behind")
print(folder.name, flush=True)
if sys.argv[3] == "dies":
    os.kill(os.getpid(), signal.SIGKILL)
input()
"""


def start_maker(kind: str, place: Path, end: str = "dies") -> tuple[subprocess.Popen[bytes], str]:
    """A process that makes a marked folder, and is killed at once or waits for a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", MAKE, kind, str(place), end],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    return process, process.stdout.readline().decode().strip()


def left_by_a_killed_process(kind: str, place: Path) -> str:
    """Name of a folder whose maker was killed."""
    process, name = start_maker(kind, place)
    with process:
        process.wait()
    return name


def written(place: Path, name: str, maker: Any = DEAD, **changes: Any) -> Path:
    """A folder with a marker as told."""
    folder = place / name
    folder.mkdir()
    (folder / "content").write_text("kept or not")
    document = {"schema": "assay-folder-1", "folder": name, "maker": asdict(maker), **changes}
    (folder / MARKER).write_text(json.dumps(document))
    return folder


def aged(folder: Path, seconds: float) -> Path:
    """The same, and everything of it that counts is older by so much."""
    for path in (folder / MARKER, folder):
        if path.exists():
            info = path.stat()
            os.utime(path, (info.st_atime - seconds, info.st_mtime - seconds))
    return folder

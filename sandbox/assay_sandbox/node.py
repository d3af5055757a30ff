"""Finds the host's Node where jails can see it: in the system directories."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from attrs import frozen

from assay_sandbox.layout import SYSTEM_DIRECTORIES

__all__ = ["NodeFound", "find_node"]

OLDEST = 20
PROBE_SECONDS = 30

_VERSION = re.compile(r"v(\d{1,4})\.\d{1,6}\.\d{1,6}")


@frozen
class NodeFound:
    """Where Node is and its version; or `reason`, why it can't be used."""

    path: str = ""
    version: str = ""
    reason: str = ""


def find_node(at_least: int = OLDEST) -> NodeFound:
    """The Node of this host's PATH, if jails see it and it is not older than `at_least`."""
    found = shutil.which("node")
    if found is None:
        return NodeFound(reason="node is not on PATH; install Node 20 or later")
    real = os.path.realpath(found)
    if not any(Path(real).is_relative_to(directory) for directory in SYSTEM_DIRECTORIES):
        return NodeFound(reason="node is outside /usr; install it there, jails see nothing else")
    try:
        answer = subprocess.run(
            [real, "--version"],
            capture_output=True,
            timeout=PROBE_SECONDS,
            env={},
            cwd="/",
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return NodeFound(reason="node does not start")
    match = _VERSION.fullmatch(answer.stdout.decode("ascii", "replace").strip())
    if answer.returncode != 0 or match is None:
        return NodeFound(reason="node does not say its version")
    if int(match[1]) < at_least:
        return NodeFound(reason=f"node is older than version {at_least}")
    return NodeFound(path=real, version=match[0])

"""Runs the driver of guarded runs outside a jail, on small trees that the tests write."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.programs import DEADLINE, frames

from assay_graders.bundle import program_bundle
from assay_graders.evident.guarded_report import GuardedReport, decode_guarded_report

NONCE = "5e" * 16
FLAGS = ("-P", "-s", "-B", "--check-hash-based-pycs", "always")


def run_guarded(
    tests: Path, workspace: Path, *files: str, flags: tuple[str, ...] = FLAGS, **config: Any
) -> GuardedReport:
    """The report on test files below `tests` with the code below `workspace`."""
    program = tests.parent / "pytest_driver.pyc"
    program.write_bytes(program_bundle("pytest_driver", "guarded", "unittests").content or b"")
    settings = {
        "nonce": NONCE,
        "base": str(tests),
        "tests": [str(tests / file) for file in files],
        "roots": [str(workspace)],
        "order": "0",
        "graded": {path.stem: [str(path)] for path in workspace.glob("*.py")},
        "added": {},
        "originals": {},
        "restore": False,
        "lenient": False,
        **config,
    }
    frame = exchanged([sys.executable, *flags, str(program), "run"], settings)
    return decode_guarded_report(frame, NONCE)


def exchanged(argv: list[str], settings: dict[str, Any]) -> bytes:
    """The only frame that a program answers with, when it is sent these settings."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        environment = {
            "PATH": os.defpath,
            "LC_ALL": "C.UTF-8",
            "ASSAY_CHANNEL_REPORT": str(theirs.fileno()),
        }
        with subprocess.Popen(
            argv,
            env=environment,
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        ) as process:
            theirs.close()
            ours.settimeout(DEADLINE)
            body = json.dumps(settings).encode()
            ours.sendall(len(body).to_bytes(4, "big") + body)
            try:
                sent = b"".join(iter(lambda: ours.recv(1 << 16), b""))
                process.wait(DEADLINE)
            finally:
                process.kill()
    (frame,) = frames(sent)
    return frame

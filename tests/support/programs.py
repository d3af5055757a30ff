"""Runs the graders' programs outside a jail, on test files that the tests themselves write."""

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import pytest

from assay_graders.bundle import program_bundle
from assay_graders.report import RunReport, decode_report

DEADLINE = 60.0


def write_tree(root: Path, content: Mapping[str, str | bytes]) -> None:
    """Write files beneath `root`: text as it is, bytes as a program that may be executed."""
    for name, text in content.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            path.write_bytes(text)
            path.chmod(0o755)
        else:
            path.write_text(text, encoding="utf-8")


def frames(sent: bytes) -> list[bytes]:
    """The frames in what came over a channel; a cut one is an error."""
    found = []
    while sent:
        (size,) = struct.unpack(">I", sent[:4])
        assert len(sent) >= 4 + size
        found.append(sent[4 : 4 + size])
        sent = sent[4 + size :]
    return found


def run_pytest(base: Path, *tests: str, roots: tuple[str, ...] = ()) -> RunReport | None:
    """The driver's report on test files beneath `base`, or None without one."""
    driver = files("assay_graders.programs") / "pytest_driver.py"
    config = {
        "base": str(base),
        "tests": [str(base / test) for test in tests],
        "roots": [str(base / root) for root in roots],
    }
    return _report([sys.executable, "-P", "-s", "-B", str(driver), json.dumps(config)], base)


def run_unittest(
    base: Path, *tests: str, roots: tuple[str, ...] = (), subtests: tuple[str, ...] = ()
) -> RunReport | None:
    """The driver's report on test cases in files beneath `base`, or None without one."""
    config = {
        "base": str(base),
        "tests": [str(base / test) for test in tests],
        "roots": [str(base / root) for root in roots],
        "subtests": subtests,
    }
    with tempfile.NamedTemporaryFile(suffix=".pyc") as driver:
        driver.write(program_bundle("driver", "unittests").content)
        driver.flush()
        return _report([sys.executable, "-P", "-s", "-B", driver.name, json.dumps(config)], base)


def run_node(base: Path, *tests: str) -> RunReport | None:
    """The reporter's report on test files beneath `base`, or None without one."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    reporter = files("assay_graders.programs") / "node_reporter.mjs"
    argv = [node, "--test", "--test-concurrency=1", f"--test-reporter={reporter}"]
    argv += ["--test-reporter-destination=stdout", *(str(base / test) for test in tests)]
    return _report(argv, base)


AT_THREE = """
import os, sys
os.set_inheritable(given := int(sys.argv[1]), False)
os.dup2(given, 3) if given != 3 else os.set_inheritable(3, True)
os.execv(sys.argv[2], sys.argv[2:])
"""
"""As in a jail: Node keeps descriptors from its children only if no number before them is free."""


def _report(argv: list[str], base: Path) -> RunReport | None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        environment = {
            "PATH": os.defpath,
            "LC_ALL": "C.UTF-8",
            "ASSAY_CHANNEL_REPORT": "3",
            "ASSAY_TEST_BASE": str(base),
        }
        with subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", AT_THREE, str(theirs.fileno()), *argv],
            cwd=base,
            env=environment,
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            theirs.close()
            ours.settimeout(DEADLINE)
            try:
                sent = b"".join(iter(lambda: ours.recv(1 << 16), b""))
                process.wait(DEADLINE)
            finally:
                process.kill()
    found = frames(sent)
    assert len(found) <= 1
    return decode_report(found[0]) if found else None

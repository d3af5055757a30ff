"""Which program is process 1 of the jails of this process: the compiled one, else Python.

Both give the same outcomes; the compiled one starts in a millisecond, an interpreter in eight.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
from pathlib import Path

from assay.api.files import write_all
from assay_sandbox.init_build import build, sources
from assay_sandbox.inits import Init, InitKind

__all__ = ["compiled_or_python", "python_init"]

PYTHON_SOURCE = Path(__file__).with_name("init.py")
SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
MFD_EXEC = 0x10
"""Says that it is a program, as hosts may demand; Python has no name for it yet."""

FIX = "apt install gcc libc6-dev"


def python_init(reason: str = "", fix: str = FIX) -> Init:
    """The one that any runtime can run; `reason`: why it is not the compiled one."""
    script = PYTHON_SOURCE.read_bytes()
    found = f"python: {reason}" if reason else "python, as asked for"
    return Init(InitKind.PYTHON, _digest(script), "degraded", found, fix, script=script)


@functools.cache
def compiled_or_python() -> Init:
    """The better one that can be had here, once a process; it has not been tried in a jail."""
    built = build()
    if built.reason:
        return python_init(built.reason)
    try:
        program = _memory_file(built.program)
    except OSError:
        return python_init("no memory file can be made", "")
    found = f"compiled by {built.compiler}"
    digest = _digest(b"".join(sources().values()))
    return Init(InitKind.COMPILED, digest, "present", found, program=program)


def _digest(source: bytes) -> str:
    return "sha256:" + hashlib.sha256(source).hexdigest()


def _memory_file(content: bytes) -> int:
    """What was verified is what runs: nobody can change it, and no place on the disk names it."""
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        descriptor = os.memfd_create("assay-init", flags | MFD_EXEC)
    except OSError:
        # A kernel before 6.3 does not know the flag, and does not need it.
        descriptor = os.memfd_create("assay-init", flags)
    try:
        write_all(descriptor, content)
        os.fchmod(descriptor, 0o555)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor

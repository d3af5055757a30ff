"""Bytecode of a runtime, kept apart from its sources under Python's cache prefix.

It is bound to the hash of its source and never checked again when it is loaded, so times don't
matter, and bytecode that a candidate ships beside its sources is never looked at.
"""

from __future__ import annotations

import importlib.util
import posixpath
import subprocess
import sys
from pathlib import Path

from assay.api import RuntimeUnavailable

__all__ = ["COMPILER", "PYC_PREFIX", "bytecode_matches", "compile_all", "source_of"]

PYC_PREFIX = "/runtime/pyc"
HEADER_BYTES = 16
UNCHECKED_HASH = (1).to_bytes(4, "little")
COMPILE_SECONDS = 300

# Runs in a fresh interpreter, so that the bytecode does not depend on what this one did before.
COMPILER = """
import importlib.util, os, py_compile, sys
root = sys.argv[1]
for top in ("python", "venv"):
    for place, folders, names in os.walk(os.path.join(root, top)):
        folders.sort()
        for name in sorted(names):
            if not name.endswith(".py"):
                continue
            source = os.path.join(place, name)
            inside = "/runtime/" + os.path.relpath(source, root)
            cached = name[:-3] + "." + sys.implementation.cache_tag + ".pyc"
            target = root + "/pyc" + os.path.join(os.path.dirname(inside), cached)
            try:
                py_compile.compile(source, target, inside, True,
                    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
            except py_compile.PyCompileError:
                pass
"""


def source_of(path: str) -> str:
    """The path in the runtime's tree of the source that a bytecode file belongs to."""
    inside = path.removeprefix("pyc/runtime/")
    folder, name = posixpath.split(inside)
    return posixpath.join(folder, name.removesuffix(f".{sys.implementation.cache_tag}.pyc") + ".py")


def bytecode_matches(path: Path, source: bytes) -> bool:
    """Whether a bytecode file says that it was made from this source by this interpreter."""
    with path.open("rb") as stream:
        header = stream.read(HEADER_BYTES)
    expected = importlib.util.MAGIC_NUMBER + UNCHECKED_HASH + importlib.util.source_hash(source)
    return header == expected


def compile_all(root: Path) -> None:
    """Compile every source of the runtime below `root`; what does not compile is left out."""
    program = sys._base_executable  # type: ignore[attr-defined]
    try:
        finished = subprocess.run(
            [program, "-s", "-S", "-B", "-P", "-c", COMPILER, str(root)],
            env={"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMPILE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeUnavailable(
            f"compiling the runtime's sources takes more than {COMPILE_SECONDS} seconds"
        ) from None
    if finished.returncode != 0:
        raise RuntimeUnavailable("the interpreter can't compile the runtime's sources")

"""Prepares what jailed code sees besides the system: interpreter, test tools, bytecode.

The whole runtime is one stored tree, mounted read-only at /runtime: `python/` (interpreter and
standard library), `venv/` (test tools) and `pyc/` (bytecode of both, found through Python's
cache prefix; it is bound to the hash of its source, not to times).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.api import (
    Digest,
    Hasher,
    InvalidInput,
    Mount,
    MountKind,
    Runtime,
    RuntimeUnavailable,
    Store,
    TreeManifest,
)
from assay_sandbox.interpreter import interpreter_files
from assay_sandbox.node import OLDEST, find_node
from assay_sandbox.testtools import VENV_ROOT, venv_files

__all__ = ["prepare"]

RUNTIME_ROOT = "/runtime"
PYC_PREFIX = "/runtime/pyc"
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

ENVIRONMENT = {
    "PATH": f"{VENV_ROOT}/bin:/usr/local/bin:/usr/bin:/bin",
    "PYTHONPYCACHEPREFIX": PYC_PREFIX,
}


def prepare(spec: Mapping[str, Any], store: Store, hasher: Hasher) -> Runtime:
    """The runtime that `spec` declares.

    Keys: `python`, "default" or the start of a version that this interpreter must have;
    `node`, the least major version. Raises InvalidInput for any other key or value and
    RuntimeUnavailable when this host can't give what is asked for.
    """
    least_node = _checked(spec)
    manifest = _build(store, hasher)
    source = store.tree(manifest.ref)
    if source is None:
        raise RuntimeUnavailable("the runtime was stored but can't be found; check the store")
    tools = {"python": f"{VENV_ROOT}/bin/python"}
    versions = {"python": platform.python_version()}
    unavailable: dict[str, str] = {}
    node = find_node(least_node)
    if node.reason:
        unavailable["node"] = node.reason
    else:
        tools["node"], versions["node"] = node.path, node.version
    return Runtime(
        ref=manifest.ref,
        digest=_digest(manifest, tools, versions),
        mounts=(Mount(RUNTIME_ROOT, MountKind.TREE, source=source),),
        env=dict(ENVIRONMENT),
        tools=tools,
        versions=versions,
        unavailable=unavailable,
    )


def _checked(spec: Mapping[str, Any]) -> int:
    unknown = sorted(set(spec) - {"python", "node"})
    if unknown:
        raise InvalidInput("runtime: only the keys python and node are known")
    python = spec.get("python", "default")
    if not isinstance(python, str):
        raise InvalidInput("runtime: python must be a string")
    here = platform.python_version()
    if python != "default" and here != python and not here.startswith(python + "."):
        raise RuntimeUnavailable("the declared Python is not the one that runs assay; start it")
    node = spec.get("node", OLDEST)
    if not isinstance(node, int) or isinstance(node, bool) or node < OLDEST:
        raise InvalidInput(f"runtime: node must be a major version of at least {OLDEST}")
    return node


def _build(store: Store, hasher: Hasher) -> TreeManifest:
    with _scratch() as root:
        for file in (*interpreter_files(), *venv_files()):
            path = root / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.content)
            path.chmod(0o755 if file.executable else 0o644)
        _compile(root)
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            manifest = hasher.scan(descriptor).manifest
            if manifest is None:
                raise RuntimeUnavailable("the interpreter's files can't be stored as a tree")
            store.add_tree(descriptor, manifest)
        finally:
            os.close(descriptor)
    return manifest


def _compile(root: Path) -> None:
    program = sys._base_executable  # type: ignore[attr-defined]
    finished = subprocess.run(
        [program, "-s", "-S", "-B", "-P", "-c", COMPILER, str(root)],
        env={"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=COMPILE_SECONDS,
        check=False,
    )
    if finished.returncode != 0:
        raise RuntimeUnavailable("the interpreter can't compile its own library")


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    root = Path(tempfile.mkdtemp(prefix="assay-runtime-"))
    try:
        yield root
    finally:
        shutil.rmtree(root)


def _digest(
    manifest: TreeManifest, tools: Mapping[str, str], versions: Mapping[str, str]
) -> Digest:
    data = {
        "tree": manifest.ref.digest,
        "tools": dict(tools),
        "versions": dict(versions),
        "env": ENVIRONMENT,
    }
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return Digest("sha256:" + hashlib.sha256(text.encode()).hexdigest())

"""Prepares what jailed code sees besides the system: interpreter, packages, bytecode.

The whole runtime is one stored tree, mounted read-only at /runtime: `python/` (interpreter and
standard library), `venv/` (test tools and declared requirements) and `pyc/` (bytecode of both,
found through Python's cache prefix; it is bound to the hash of its source, not to times).
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from assay.api import (
    Digest,
    Hasher,
    InvalidInput,
    Mount,
    MountKind,
    Requirement,
    Runtime,
    RuntimeUnavailable,
    Store,
    TreeRef,
    requirements,
    tool_names,
)
from assay_sandbox.bytecode import (
    COMPILER,
    PYC_PREFIX,
    bytecode_matches,
    compile_all,
    source_of,
)
from assay_sandbox.faketime import FAKETIME
from assay_sandbox.interpreter import RuntimeFile, interpreter_files
from assay_sandbox.node import OLDEST, find_node
from assay_sandbox.programs import find_library, find_program
from assay_sandbox.requirements import requirement_files
from assay_sandbox.scratch import scratch, store_folder
from assay_sandbox.testtools import VENV_ROOT, venv_files

__all__ = ["prepare"]

RUNTIME_ROOT = "/runtime"
OWN_TOOLS = ("python", "node")
KEYS = frozenset({"python", "node", "requirements", "tools", "faketime"})
ENVIRONMENT = {
    "PATH": f"{VENV_ROOT}/bin:/usr/local/bin:/usr/bin:/bin",
    "PYTHONPYCACHEPREFIX": PYC_PREFIX,
}


@frozen
class _Declared:
    node: int
    requirements: tuple[Requirement, ...]
    tools: tuple[str, ...]
    faketime: bool


def prepare(spec: Mapping[str, Any], store: Store, hasher: Hasher) -> Runtime:
    """The runtime that `spec` declares.

    Keys: `python`, "default" or the start of a version that this interpreter must have;
    `node`, the least major version; `requirements`, a list of `name==version`; `tools`, names
    of the system's programs that must be visible; `faketime`, whether a library that fakes the
    time must be. Raises InvalidInput for any other key or
    value and RuntimeUnavailable when this host can't give what is asked for. A tool that can't
    be given is no error here: it is listed with the reason.
    """
    declared = _checked(spec)
    ref = _tree(declared.requirements, store, hasher)
    source = store.tree(ref)
    if source is None:
        raise RuntimeUnavailable("the runtime was stored but can't be found; check the store")
    tools = {"python": f"{VENV_ROOT}/bin/python"}
    versions = {"python": platform.python_version()}
    unavailable: dict[str, str] = {}
    node = find_node(declared.node)
    if node.reason:
        unavailable["node"] = node.reason
    else:
        tools["node"], versions["node"] = node.path, node.version
    wanted = {name: find_program(name) for name in declared.tools if name not in OWN_TOOLS}
    if declared.faketime:
        wanted[FAKETIME] = find_library(FAKETIME)
    for name, program in wanted.items():
        if program.reason:
            unavailable[name] = program.reason
        else:
            tools[name], versions[name] = program.path, program.digest
    return Runtime(
        ref=ref,
        digest=_digest(ref, tools, versions),
        mounts=(Mount(RUNTIME_ROOT, MountKind.TREE, source=source),),
        env=dict(ENVIRONMENT),
        tools=tools,
        versions=versions,
        unavailable=unavailable,
    )


def _checked(spec: Mapping[str, Any]) -> _Declared:
    if set(spec) - KEYS:
        raise InvalidInput("runtime: only " + ", ".join(sorted(KEYS)) + " are known")
    python = spec.get("python", "default")
    if not isinstance(python, str):
        raise InvalidInput("runtime: python must be a string")
    node = spec.get("node", OLDEST)
    if not isinstance(node, int) or isinstance(node, bool) or node < OLDEST:
        raise InvalidInput(f"runtime: node must be a major version of at least {OLDEST}")
    faketime = spec.get("faketime", False)
    if not isinstance(faketime, bool):
        raise InvalidInput("runtime: faketime must be true or false")
    try:
        found = _Declared(
            node=node,
            faketime=faketime,
            requirements=requirements(_texts(spec.get("requirements", ()))),
            tools=tool_names(_texts(spec.get("tools", ()))),
        )
    except InvalidInput as error:
        raise InvalidInput(f"runtime: requirements or tools {error}") from None
    here = platform.python_version()
    if python != "default" and here != python and not here.startswith(python + "."):
        raise RuntimeUnavailable("the declared Python is not the one that runs assay; start it")
    return found


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise InvalidInput("must be lists of text")
    return list(value)


def _tree(wanted: tuple[Requirement, ...], store: Store, hasher: Hasher) -> TreeRef:
    """The stored tree for what is installed now, made if it is not there.

    A note in the store says which tree was made from the same input. It is not believed: the
    tree's digest is checked by the store, and its files are compared with the installed ones.
    """
    files = (*interpreter_files(), *venv_files())
    files += requirement_files(wanted, files, store, hasher)
    key = _key(files)
    noted = store.noted(key)
    if noted is not None:
        place = store.tree(noted)
        if place is not None and _holds(Path(place), files):
            return noted
    ref = _build(files, store, hasher)
    store.note(key, ref)
    return ref


def _key(files: tuple[RuntimeFile, ...]) -> Digest:
    whole = hashlib.sha256(COMPILER.encode())
    for file in files:
        content = hashlib.sha256(file.content).hexdigest()
        whole.update(f"{file.path}\n{content}\n{file.executable}\n".encode())
    return Digest("sha256:" + whole.hexdigest())


def _holds(root: Path, files: tuple[RuntimeFile, ...]) -> bool:
    """Whether a tree has exactly these files, and bytecode of nothing else."""
    wanted = {file.path: file.content for file in files}
    for place, _, names in os.walk(root):
        for name in names:
            path = Path(place, name)
            inside = path.relative_to(root).as_posix()
            if inside.startswith("pyc/"):
                source = source_of(inside)
                fresh = source in wanted and bytecode_matches(path, wanted[source])
                if not fresh:
                    return False
            elif wanted.get(inside) != path.read_bytes():
                return False
    return all((root / path).is_file() for path in wanted)


def _build(files: tuple[RuntimeFile, ...], store: Store, hasher: Hasher) -> TreeRef:
    with scratch() as root:
        for file in files:
            path = root / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.content)
            path.chmod(0o755 if file.executable else 0o644)
        compile_all(root)
        return store_folder(root, store, hasher)


def _digest(ref: TreeRef, tools: Mapping[str, str], versions: Mapping[str, str]) -> Digest:
    data = {
        "tree": ref.digest,
        "tools": dict(tools),
        "versions": dict(versions),
        "env": ENVIRONMENT,
    }
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return Digest("sha256:" + hashlib.sha256(text.encode()).hexdigest())

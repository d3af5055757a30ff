"""Pins: writing the digests of a suite's tasks into its suite.json, or comparing them.

Only the keys `tasks` and `plugins` are replaced; the file is exchanged as a whole, so that
a reader sees the old pins or the new ones.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from assay.api.errors import InvalidInput
from assay.api.paths import printable
from assay.api.tasks import TaskPins
from assay.api.trees import RelPath
from assay.api.workspaces import Hasher
from assay.benchmark import BenchmarkTask
from assay.identity import distribution_identity
from assay.manifests import MAX_MANIFEST_BYTES
from assay.plugins import Registry
from assay.revisions import task_digest
from assay.strict_json import load
from assay.suites import SUITE_FILE, open_suite
from assay.tree import tree_ref, whole_tree

__all__ = ["DEFAULT_HASHER", "LockResult", "compute_pins", "lock_suite"]

DEFAULT_HASHER = "assay-tree-v1"


@frozen
class LockResult:
    """What locking found: pins by task, and each difference from the file as a sentence."""

    pins: Mapping[str, TaskPins]
    drift: tuple[str, ...]
    written: bool


def lock_suite(
    folder: str | Path,
    registry: Registry | None = None,
    *,
    check: bool = False,
    hasher: Hasher | None = None,
) -> LockResult:
    """Compute the pins of a suite's folder and write them; with `check`, only compare.

    All tasks are pinned, and of the plugins those that the file names.

    Raises InvalidInput for a suite that can't be loaded or has no suite.json.
    """
    registry = registry or Registry()
    hasher = hasher or registry.make("assay.hashers", DEFAULT_HASHER)
    suite = open_suite(f"dir:{folder}", registry, check_pins=False)
    data = suite.files.read(RelPath(SUITE_FILE), MAX_MANIFEST_BYTES)
    if data is None:
        raise InvalidInput(f"suite {suite.files.name}: has no {SUITE_FILE} to hold pins")
    document = load(data, SUITE_FILE, max_bytes=MAX_MANIFEST_BYTES)
    pins = {task_id: compute_pins(suite.task(task_id), hasher) for task_id in suite.task_ids()}
    new = {"tasks": _as_json(pins)}
    drift = _drift(document.get("tasks", {}), new["tasks"])
    if plugins := document.get("plugins"):
        new["plugins"] = {name: _plugin_pin(name) for name in plugins}
        drift += tuple(
            f"plugin {printable(name)}: differs from its pin"
            for name in sorted(plugins)
            if plugins[name] != new["plugins"][name]
        )
    if drift and not check:
        _replace(Path(folder) / SUITE_FILE, {**document, **new})
    return LockResult(pins=pins, drift=drift, written=bool(drift) and not check)


def compute_pins(task: BenchmarkTask, hasher: Hasher) -> TaskPins:
    """The digests that a task has now; raises TreeRefused, TreeLimit."""
    hidden = None
    if task.hidden is not None:
        hidden = tree_ref(task.hidden, hasher, f"{task.id}/{task.task.hidden}/")
    trees = {
        name: whole_tree(folder, hasher, f"{task.id}: {name}").ref.digest
        for name, folder in sorted(task.trees.items())
    }
    return TaskPins(
        fixture=tree_ref(task.fixture, hasher, f"{task.id}/{task.task.fixture}/"),
        hidden=hidden,
        task=task_digest(task.task, hidden.digest if hidden else None, trees=trees),
        trees=trees,
    )


def _as_json(pins: Mapping[str, TaskPins]) -> dict[str, dict[str, Any]]:
    return {
        task_id: {
            "contract": pin.fixture.contract,
            "fixture": pin.fixture.digest,
            "hidden": pin.hidden.digest if pin.hidden else None,
            "task": pin.task,
            **({"trees": dict(pin.trees)} if pin.trees else {}),
        }
        for task_id, pin in sorted(pins.items())
    }


def _plugin_pin(name: str) -> dict[str, Any]:
    found = distribution_identity(name)
    return {"version": found.version, "digest": found.digest}


def _drift(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    found = []
    for task_id in sorted({*old, *new}):
        if task_id not in new:
            found.append(f"task {task_id}: is pinned but has no folder")
        elif task_id not in old:
            found.append(f"task {task_id}: is not pinned")
        else:
            found += _differences(task_id, old[task_id], new[task_id])
    return tuple(found)


def _differences(task_id: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    old, new = _flat(old), _flat(new)
    return [
        f"task {task_id}: {key}: pinned {old.get(key) or 'nothing'}, is {new.get(key) or 'nothing'}"
        for key in ("contract", "fixture", "hidden", "task", *_tree_keys(old, new))
        if old.get(key, DEFAULT_HASHER if key == "contract" else None) != new.get(key)
    ]


def _flat(pins: Mapping[str, Any]) -> dict[str, Any]:
    return {**pins, **{f"trees.{name}": digest for name, digest in pins.get("trees", {}).items()}}


def _tree_keys(*pins: Mapping[str, Any]) -> list[str]:
    return sorted({key for one in pins for key in one if key.startswith("trees.")})


def _replace(path: Path, document: Mapping[str, Any]) -> None:
    content = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    try:
        _exchange(path, content.encode())
    except OSError as error:
        problem = os.strerror(error.errno or 0)
        raise InvalidInput(f"{path.name}: can't be written: {problem}") from None


def _exchange(path: Path, content: bytes) -> None:
    mode = path.stat().st_mode & 0o777
    descriptor, temporary = tempfile.mkstemp(prefix=".suite-", suffix=".json", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise

"""Pins: writing the digests of a suite's tasks into its suite.json, or comparing them.

A task with a pin is published: results of it exist. Its pin changes only together with an entry
in `changes` that says why, and with a higher `version`. Only the keys `tasks`, `plugins` and
`changes` are replaced; the file is exchanged as a whole, so that a reader sees the old pins or
the new ones.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from assay.api.errors import InvalidInput, ManifestError, UsageError
from assay.api.paths import printable
from assay.api.tasks import TaskChange, TaskPins
from assay.api.trees import Digest, RelPath
from assay.api.workspaces import Hasher
from assay.benchmark import BenchmarkTask
from assay.canonical import digest_json
from assay.identity import distribution_identity
from assay.manifests import MAX_MANIFEST_BYTES
from assay.plugins import Registry
from assay.revisions import task_digest
from assay.strict_json import load
from assay.suites import SUITE_FILE, TASK_FILE, Suite, open_suite
from assay.tree import tree_ref, whole_tree

__all__ = ["DEFAULT_HASHER", "LockResult", "Why", "compute_pins", "lock_suite"]

DEFAULT_HASHER = "assay-tree-v1"
_KEYS = ("contract", "fixture", "hidden", "task", "version")
_TREES = "trees."
_DEFAULTS: Mapping[str, Any] = {"contract": DEFAULT_HASHER, "hidden": None, "version": 1}


@frozen
class Why:
    """Why published tasks change; see `assay.api.TaskChange`."""

    intent: str
    grading: str
    comparable: bool


@frozen
class LockResult:
    """What locking found: pins by task, and each difference from the file as a sentence.

    `changed` are the published tasks whose content is another one, or gone.
    """

    pins: Mapping[str, TaskPins]
    drift: tuple[str, ...]
    changed: tuple[str, ...]
    written: bool


def lock_suite(
    folder: str | Path,
    registry: Registry | None = None,
    *,
    check: bool = False,
    hasher: Hasher | None = None,
    why: Why | None = None,
    before_writing: Callable[[Suite, tuple[str, ...]], None] | None = None,
) -> LockResult:
    """Compute the pins of a suite's folder and write them; with `check`, only compare.

    All tasks are pinned, and of the plugins those that the file names. `before_writing` is given
    the ids of published tasks that changed, and may raise.

    Raises InvalidInput for a suite that can't be loaded or has no suite.json, or for a published
    task that changed without a higher version; UsageError when one changes without `why`.
    """
    registry = registry or Registry()
    hasher = hasher or registry.make("assay.hashers", DEFAULT_HASHER)
    suite = open_suite(f"dir:{folder}", registry, check_pins=False)
    data = suite.files.read(RelPath(SUITE_FILE), MAX_MANIFEST_BYTES)
    if data is None:
        raise InvalidInput(f"suite {suite.files.name}: has no {SUITE_FILE} to hold pins")
    document = load(data, SUITE_FILE, max_bytes=MAX_MANIFEST_BYTES)
    pins = {task_id: compute_pins(suite.task(task_id), hasher) for task_id in suite.task_ids()}
    old, new = document.get("tasks", {}), _as_json(pins)
    replaced: dict[str, Any] = {"tasks": new}
    drift = list(_drift(old, new, done=not check))
    unexplained = _unexplained(suite.header.changes, old)
    drift += [
        f"task {task_id}: its pin "
        + ("was changed without a reason" if check else "has a reason now")
        for task_id in unexplained
    ]
    if plugins := document.get("plugins"):
        replaced["plugins"] = {name: _plugin_pin(name) for name in plugins}
        drift += [
            f"plugin {printable(name)}: " + ("differs from its pin" if check else "is pinned anew")
            for name in sorted(plugins)
            if plugins[name] != replaced["plugins"][name]
        ]
    changed = tuple(
        task_id
        for task_id in sorted(old)
        if task_id in unexplained or _is_changed(old, new, task_id)
    )
    if drift and not check:
        if changed:
            entries = _entries(changed, old, new, why)
            replaced["changes"] = [*document.get("changes", ()), *map(asdict, entries)]
            if before_writing is not None:
                before_writing(suite, tuple(task for task in changed if task in new))
        _replace(Path(folder) / SUITE_FILE, {**document, **replaced})
    return LockResult(pins, tuple(drift), changed, written=bool(drift) and not check)


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
        version=task.task.version,
        trees=trees,
    )


def _as_json(pins: Mapping[str, TaskPins]) -> dict[str, dict[str, Any]]:
    return {
        task_id: {
            "contract": pin.fixture.contract,
            "fixture": pin.fixture.digest,
            "hidden": pin.hidden.digest if pin.hidden else None,
            "task": pin.task,
            **({"version": pin.version} if pin.version > 1 else {}),
            **({"trees": dict(pin.trees)} if pin.trees else {}),
        }
        for task_id, pin in sorted(pins.items())
    }


def _plugin_pin(name: str) -> dict[str, Any]:
    found = distribution_identity(name)
    return {"version": found.version, "digest": found.digest}


def _drift(old: Mapping[str, Any], new: Mapping[str, Any], *, done: bool) -> Iterator[str]:
    for task_id in sorted({*old, *new}):
        if task_id not in new:
            gone = "its pin is taken out" if done else "is pinned but has no folder"
            yield f"task {task_id}: {gone}"
        elif task_id not in old:
            yield f"task {task_id}: is pinned now" if done else f"task {task_id}: is not pinned"
        else:
            for key in _differing(old[task_id], new[task_id]):
                before, after = _value(old[task_id], key), _value(new[task_id], key)
                told = f"was {before}, is pinned as" if done else f"pinned {before}, is"
                yield f"task {task_id}: {key}: {told} {after}"


def _value(pin: Mapping[str, Any], key: str) -> Any:
    _, is_tree, name = key.partition(_TREES)
    found = pin.get("trees", {}).get(name) if is_tree else pin.get(key, _DEFAULTS.get(key))
    return found or "nothing"


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    trees = sorted({*old.get("trees", {}), *new.get("trees", {})})
    keys = (*_KEYS, *(f"{_TREES}{name}" for name in trees))
    return [key for key in keys if _value(old, key) != _value(new, key)]


def _is_changed(old: Mapping[str, Any], new: Mapping[str, Any], task_id: str) -> bool:
    """Whether a pinned task is another one now; its own counting alone changes nothing."""
    return task_id not in new or bool({*_differing(old[task_id], new[task_id])} - {"version"})


def _content_digest(pin: Mapping[str, Any]) -> Digest:
    values = {key: pin.get(key, _DEFAULTS.get(key)) for key in _KEYS if key != "version"}
    return digest_json({"form": "assay-pin-v1", **values})


def _unexplained(changes: tuple[TaskChange, ...], old: Mapping[str, Any]) -> list[str]:
    """Tasks whose pins are not those that their last change gave them."""
    last = {change.task: change for change in changes}
    return [
        task_id
        for task_id, change in sorted(last.items())
        if task_id in old and change.after not in (None, _content_digest(old[task_id]))
    ]


def _entries(
    changed: tuple[str, ...], old: Mapping[str, Any], new: Mapping[str, Any], why: Why | None
) -> list[TaskChange]:
    for task_id in changed:
        pinned = _value(old[task_id], "version")
        if task_id in new and _value(new[task_id], "version") <= pinned:
            file = f"{task_id}/{TASK_FILE}"
            raise ManifestError(file, "version", f"must be above {pinned}: the task changed")
    if why is None:
        raise UsageError(
            f"published tasks changed: {', '.join(changed)}; say why with --intent, --grading and "
            "--comparable"
        )
    return [
        TaskChange(
            task=task_id,
            version=_value(new.get(task_id, old[task_id]), "version"),
            before=_content_digest(old[task_id]),
            after=_content_digest(new[task_id]) if task_id in new else None,
            intent=why.intent,
            grading=why.grading,
            comparable=why.comparable,
        )
        for task_id in changed
    ]


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

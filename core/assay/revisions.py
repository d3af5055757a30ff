"""The task revision: one digest over what a task asks and how it is graded.

The title, the version number and a note of retirement may change without making
results incomparable; everything else, the hidden files included, may not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from assay.api.tasks import AllowRule, GraderSpec, Service, Task
from assay.api.trees import Digest
from assay.canonical import digest_json
from assay.policies import OP_NAMES

__all__ = ["task_digest", "task_document"]


def task_document(task: Task) -> dict[str, Any]:
    """The manifest as plain JSON data with every default filled in.

    Keys that were added later are there only if they say something. Without title, version and
    retired; loading it again gives the same task.
    """
    later = {
        "artifacts": list(task.artifacts),
        "services": [_service(item) for item in task.services],
        "caches": list(task.caches),
    }
    return {
        "schema": 1,
        "id": task.id,
        "category": task.category,
        "prompt": task.prompt,
        "fixture": task.fixture,
        "hidden": task.hidden,
        "graders": [_grader(spec) for spec in task.graders],
        "allow": [_allow(rule) for rule in task.allow],
        "protect": list(task.protect),
        "baseline": {key: result.value for key, result in task.baseline.items()},
        "limits": _limits(task),
        "budgets": dict(task.budgets),
        "evidence": task.evidence.value,
        "runtime": dict(task.runtime),
        "network": task.network.value,
        "env": dict(task.env),
        "seed": task.seed,
        "clock": task.clock,
        "git": dict(task.git),
        "roots": list(task.roots),
        **{key: value for key, value in later.items() if value},
    }


def task_digest(
    task: Task,
    hidden: Digest | None,
    grader_data: Mapping[str, Digest] | None = None,
    trees: Mapping[str, Digest] | None = None,
) -> Digest:
    """Digest of the task's manifest, its hidden files, its graders' own data and other trees.

    `grader_data` maps a grader's id to the digest of data that it brings along; `trees` are
    caches and files of services, as in `TaskPins`.
    """
    return digest_json(
        {
            "form": "assay-task-v1",
            "manifest": task_document(task),
            "hidden": hidden,
            "grader_data": dict(grader_data or {}),
            **({"trees": dict(trees)} if trees else {}),
        }
    )


def _limits(task: Task) -> dict[str, Any]:
    scale = {}
    if task.scale is not None:
        scale = {"scale": task.scale.reference, "factor": task.scale.factor}
    return {**attrs.asdict(task.limits), **scale}


def _grader(spec: GraderSpec) -> dict[str, Any]:
    return {
        "id": spec.id,
        "use": spec.use,
        "role": spec.role.value,
        "options": dict(spec.options),
        "required": spec.required,
    }


def _service(service: Service) -> dict[str, Any]:
    return {**attrs.asdict(service), "argv": list(service.argv)}


def _allow(rule: AllowRule) -> dict[str, Any]:
    names = [name for name, op in OP_NAMES.items() if op in rule.ops]
    return {"path": rule.path, "ops": sorted(names + ["binary"] * rule.binary)}

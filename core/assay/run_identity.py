"""Everything of this host and of a plan that may change a run's results, as plain JSON data."""

from __future__ import annotations

from typing import Any

from assay.canonical import digest_json
from assay.host import Components
from assay.identity import environment, environment_digest
from assay.plan import Plan
from assay.redaction import Redactor

__all__ = ["run_identity"]


def run_identity(plan: Plan, components: Components, redactor: Redactor) -> dict[str, Any]:
    """Digests of what is graded and of the environment; equal for equal hosts."""
    found: dict[str, Any] = redactor.data(_environment(plan, components))
    tasks = {task_id: plan.revisions[task_id] for task_id in sorted(plan.tasks)}
    return {
        "revisions": {
            "task": digest_json({task_id: pins.task for task_id, pins in tasks.items()}),
            "fixture": digest_json(
                {task_id: pins.fixture.digest for task_id, pins in tasks.items()}
            ),
            "environment": environment_digest(found),
        },
        "environment": found,
    }


def _environment(plan: Plan, components: Components) -> dict[str, Any]:
    used = {
        ("assay.sandboxes", components.sandbox.name),
        ("assay.hashers", components.hasher.contract),
        *(
            ("assay.graders", spec.use)
            for task in plan.tasks.values()
            for spec in task.task.graders
        ),
    }
    capabilities = components.sandbox.capabilities()
    return environment(
        [components.registry.find(group, name) for group, name in sorted(used)],
        {
            "sandbox": {
                "name": components.sandbox.name,
                "mode": capabilities.mode,
                "layers": capabilities.layers,
                "versions": capabilities.versions,
                **({"diagnostic": note} if (note := capabilities.diagnostic) else {}),
            },
            "runtimes": {
                task_id: {
                    "digest": runtime.digest,
                    "versions": runtime.versions,
                    **_trees(plan, task_id),
                }
                for task_id, runtime in sorted(plan.runtimes.items())
            },
        },
    )


def _trees(plan: Plan, task_id: str) -> dict[str, Any]:
    """Digests of what else of the suite a task's jails see."""
    trees = plan.revisions[task_id].trees
    return {"trees": dict(trees)} if trees else {}

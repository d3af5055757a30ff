"""The variables that a task adds to every jail of its own: what it names, its seed, its clock."""

from __future__ import annotations

from assay.api import Runtime, RuntimeUnavailable, Task
from assay.instants import epoch_seconds

__all__ = ["FAKETIME", "fakes_time", "surroundings"]

FAKETIME = "libfaketime"
"""Name among a runtime's tools of the library that tells processes the task's time."""


def surroundings(task: Task, runtime: Runtime) -> dict[str, str]:
    """Variables above the fixed ones of a jail, for every process that starts in it.

    Raises RuntimeUnavailable when the task's time should be faked and can't be.
    """
    seed = str(task.seed)
    variables = {**task.env, "PYTHONHASHSEED": seed, "ASSAY_SEED": seed}
    if task.clock is not None:
        variables |= {
            "SOURCE_DATE_EPOCH": str(epoch_seconds(task.clock)),
            "ASSAY_CLOCK": task.clock,
        }
    if task.git:
        # The repository is above the graded tree, so on another file system.
        variables["GIT_DISCOVERY_ACROSS_FILESYSTEM"] = "1"
    return variables | _preloaded(task, runtime)


def fakes_time(task: Task) -> bool:
    """Whether programs of the task must be told its clock by every call for the time."""
    return task.clock is not None and bool(task.runtime.get("faketime", False))


def _preloaded(task: Task, runtime: Runtime) -> dict[str, str]:
    if task.clock is None or not fakes_time(task):
        return {}
    library = runtime.tools.get(FAKETIME)
    if library is None:
        reason = runtime.unavailable.get(FAKETIME, "it is not part of the runtime")
        raise RuntimeUnavailable(f"{FAKETIME}: {reason}")
    return {
        "LD_PRELOAD": library,
        # From that instant on in each process: programs that wait for time to pass must end.
        "FAKETIME": "@" + task.clock.replace("T", " ").removesuffix("Z"),
        # Time-outs and pauses are measured by this clock. Both names, for older versions.
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }

"""A task together with the places of its trees on this host."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from assay.api.tasks import Candidate, Task, TaskPins

__all__ = ["BenchmarkTask"]


@frozen
class BenchmarkTask:
    """A loaded task of a suite.

    `fixture`, `hidden` and `trees` (caches and files of services, as in `TaskPins`) are folders
    of this host, for hashers and copiers only: they are never shown and never stored. `pins`
    are the suite's digests, None when it pins nothing.
    `references` are the candidates by which the task's limits are scaled, none without a scale.
    """

    task: Task
    suite: str
    fixture: str = field(repr=False)
    hidden: str | None = field(default=None, repr=False)
    pins: TaskPins | None = None
    trees: Mapping[str, str] = field(factory=dict, repr=False)
    references: tuple[Candidate, ...] = field(default=(), repr=False)

    @property
    def id(self) -> str:
        """The task's id."""
        return self.task.id

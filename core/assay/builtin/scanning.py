"""Passes over whole trees: in this process, and from some thousands of entries on in helpers.

A helper walks beneath a few directories until it has seen enough for one answer, and gives back
the directories that are left. What is found is the same in any case: only who found it differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import define

from assay.api import TreeLimits
from assay.api.crew import Team, assemble, running
from assay.builtin.found import Found
from assay.builtin.walk import Walk, check_limits

__all__ = ["PartOfATree", "scan_tree"]

JOB = f"{__name__}:PartOfATree"
WORTH_STARTING = 10_000
"""Entries seen after which helpers are started, since as many again are likely to come."""
WORTH_USING = 2_000
"""The same where there are helpers already."""
_ENTRIES = 1_000
"""Entries for one answer, at least, where there are so many."""
_DIRECTORIES = 64
_CHARACTERS = 8_192
"""Directories of one task, and characters of their paths, at most: so few are sent at once."""


def scan_tree(root_fd: int, limits: TreeLimits) -> Found:
    """Everything beneath a directory descriptor; raises what `Walk.run` raises."""
    walk = Walk(limits)
    helpers = _Helpers(walk, root_fd)
    try:
        left = walk.run(root_fd, enough=helpers.can_take_over)
        while left:
            left = helpers.share(left)
            # What is left when no helper lives is walked here.
            left = walk.run(root_fd, left) if left else left
    finally:
        helpers.close()
    return walk.found


@define
class _Helpers:
    """Helpers for one pass, got when the tree turns out to be large."""

    walk: Walk
    root_fd: int
    _team: Team | None = None
    _asked: bool = False

    def can_take_over(self) -> bool:
        """Whether the rest of the tree is better walked by helpers."""
        seen = self.walk.found.seen
        if seen < WORTH_USING:
            return False
        if self._team is None:
            if self._asked or (seen < WORTH_STARTING and not running()):
                return False
            self._asked = True
            limits = self.walk.limits
            argument = (_ENTRIES, limits.files, limits.bytes, limits.depth, limits.seconds)
            self._team = assemble(JOB, (self.root_fd,), argument)
        return self._team is not None and self._team.ready()

    def share(self, waiting: list[str]) -> list[str]:
        """Have directories walked; those are left for which no helper lives any more."""
        team, found = self._team, self.walk.found
        if team is None:
            return waiting
        while team.busy or (waiting and team.size):
            while waiting:
                count = _share_of(waiting, team.size)
                if not team.submit((waiting[-count:], found.seen, found.content)):
                    break
                del waiting[-count:]
            for task, answer in team.answers():
                if answer is None:
                    waiting += task[0]
                    continue
                left, packed = answer
                waiting += left
                found.join(packed)
                check_limits(found, self.walk.limits)
        return waiting

    def close(self) -> None:
        if self._team is not None:
            self._team.close()


def _share_of(waiting: Sequence[str], helpers: int) -> int:
    """How many of the last directories make a task: more than one while there are plenty."""
    count = max(1, min(_DIRECTORIES, len(waiting) // (4 * helpers or 1)))
    while count > 1 and sum(map(len, waiting[-count:])) > _CHARACTERS:
        count //= 2
    return count


@define
class PartOfATree:
    """The job of a helper: tasks are directories, and what others have counted so far."""

    descriptors: Sequence[int]
    argument: tuple[int, int, int, int, float]

    def __call__(self, task: tuple[list[str], int, int]) -> Any:
        paths, seen, content = task
        found = Found(seen=seen, content=content)
        most, files, content_bytes, depth, seconds = self.argument
        walk = Walk(TreeLimits(files, content_bytes, depth, seconds), found)
        left = walk.run(self.descriptors[0], paths, lambda: found.seen - seen >= most)
        found.seen -= seen
        found.content -= content
        return left, found.packed()

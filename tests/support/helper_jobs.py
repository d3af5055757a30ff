"""Jobs for helper processes that go wrong on purpose; helpers import this module themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from attrs import define

from assay.api import TreeChanged
from assay.api.sharedcopies import CopyFiles
from assay.builtin.scanning import PartOfATree


@define
class Obedient:
    """Does what the task says."""

    descriptors: Sequence[int]
    argument: Any

    def __call__(self, task: str) -> Any:
        if task == "die":
            os._exit(1)
        if task == "raise":
            raise TreeChanged("f: changed while it was read")
        if task == "break":
            raise RuntimeError("secret")
        if task == "descriptors":
            return [os.fstat(descriptor).st_ino for descriptor in self.descriptors]
        return os.getpid()


class DyingPart(PartOfATree):
    """Dies over each directory called `fatal`, before or after it has done its work."""

    def __call__(self, task: Any) -> Any:
        answer = super().__call__(task)
        if any(path.endswith("fatal") for path in task[0]):
            os._exit(1)
        return answer


class DyingCopy(CopyFiles):
    """Dies after half of its task."""

    def __call__(self, task: Any) -> Any:
        super().__call__(task[: len(task) // 2])
        os._exit(1)

"""Which names are the candidate's, as far as the task's files tell."""

from __future__ import annotations

import sys

from attrs import frozen

from assay.api import GraderUnfit, Op, Task, TaskFiles
from assay_graders.exports import star_exports
from assay_graders.layout import modules_below
from assay_graders.linting.origins import Theirs

__all__ = ["names_of"]


@frozen
class _Sources:
    """Sources of a task, as a grader would get them."""

    files: TaskFiles

    def hidden_file(self, path: str, cap: int) -> bytes:
        return self._read(path, cap, hidden=True)

    def fixture_file(self, path: str, cap: int) -> bytes:
        return self._read(path, cap, hidden=False)

    def _read(self, path: str, cap: int, *, hidden: bool) -> bytes:
        content = self.files.read(path, cap, hidden=hidden)
        if content is None:
            raise GraderUnfit("no such file, or it is too large")
        return content


def names_of(
    tests: tuple[str, ...], roots: tuple[str, ...], task: Task, files: TaskFiles, *, hidden: bool
) -> Theirs:
    """Names of the fixture's modules, and of those that a candidate may add."""
    modules = modules_below(files.paths(hidden=False), roots, () if hidden else tests)
    tops = {name.partition(".")[0] for name in modules}
    for rule in task.allow:
        if Op.ADDED in rule.ops:
            tops |= {top for root in roots if (top := _top_of(rule.path, root))}
    exports = star_exports(_Sources(files), tests, hidden=hidden, roots=roots, modules=modules)
    return Theirs(frozenset(tops - sys.stdlib_module_names), exports)


def _top_of(pattern: str, root: str) -> str:
    """The module that a path pattern names below a root; nothing for wild cards."""
    inside = pattern if root == "." else pattern.removeprefix(f"{root}/")
    if root != "." and inside == pattern:
        return ""
    first = inside.partition("/")[0].removesuffix(".py")
    return first if first.isidentifier() else ""

"""Answers among what a task's requirements install: lines of the gold change or of hidden tests.

Only with the runtime at hand, so only when a suite is driven. What is installed is never
imported; it is read as text. A task without requirements of its own has no packages to look in.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from assay.api import Hasher, LintedTask, MountKind, RelPath, TreeLimit, TreeRefused
from assay.api.files import open_root, opened, read_file
from assay.host import Components
from assay.linting.answers import ANSWER_RULES, answers_of, first_places
from assay.linting.report import Finding
from assay.linting.static import see_task
from assay.plan import prepare_runtimes
from assay.suites import Suite

__all__ = ["answers_below", "installed_answers"]

_RULE = next(rule for rule in ANSWER_RULES if rule.id == "answer-installed")
_SOURCES = (".py", ".pyi", ".js", ".mjs", ".cjs", ".ts", ".txt", ".md", ".rst")
_PACKAGES = "site-packages"
_MAX_BYTES = 256 * 1024
_MAX_FILES = 20_000


def installed_answers(
    suite: Suite, tasks: tuple[str, ...], components: Components
) -> Iterator[Finding]:
    """One finding for each installed file with an answer; raises RuntimeUnavailable."""
    hasher: Hasher = components.hasher
    for task_id in tasks:
        benchmark = suite.task(task_id)
        if not benchmark.task.runtime.get("requirements"):
            continue
        seen = see_task(suite, benchmark, hasher)
        runtime = prepare_runtimes(components, {task_id: benchmark})[task_id]
        for mount in runtime.mounts:
            if mount.kind is MountKind.TREE:
                for path in answers_below(seen, mount.source):
                    yield Finding(_RULE, task_id, detail=f"in {path}")


def answers_below(seen: LintedTask, source: str) -> Iterator[str]:
    """Paths, from `site-packages` on, of sources in a runtime's tree that hold an answer."""
    wanted = answers_of(seen)
    with opened(open_root(source)) as root:
        for path in _sources(source):
            try:
                content = read_file(root, path, _MAX_BYTES)
            except (TreeLimit, TreeRefused, OSError):
                continue
            text = content.decode("utf-8", "replace")
            if any(True for _ in first_places({path: text}, wanted)):
                yield path[path.index(_PACKAGES) :]


def _sources(source: str) -> Iterator[RelPath]:
    count = 0
    for folder, folders, names in os.walk(source):
        folders.sort()
        below = Path(folder).relative_to(source)
        if _PACKAGES not in below.parts:
            continue
        for name in sorted(names):
            if name.endswith(_SOURCES) and count < _MAX_FILES:
                count += 1
                yield RelPath((below / name).as_posix())

"""Where a run may write: never inside what it grades.

A run folder, a store or a temporary folder below a task's folder would change the fixture,
the hidden tests or the candidates while they are in use.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from assay.api.errors import UsageError
from assay.api.trees import RelPath
from assay.benchmark import BenchmarkTask
from assay.store import default_store_root
from assay.suites import Suite

__all__ = ["refuse_places_inside"]


def refuse_places_inside(
    suite: Suite, tasks: Mapping[str, BenchmarkTask], run_folder: Path
) -> None:
    """Raises UsageError when anything would be written below the folder of a task."""
    written = {
        "the run folder (--output)": run_folder,
        "the store (ASSAY_STORE)": default_store_root(),
        "the temporary folder (TMPDIR)": Path(tempfile.gettempdir()),
    }
    for task_id, task in tasks.items():
        own = (suite.files.host_folder(RelPath(task_id)), task.fixture, task.hidden)
        folders = (*own, *task.trees.values())
        roots = [Path(os.path.realpath(folder)) for folder in folders if folder is not None]
        for what, place in written.items():
            real = Path(os.path.realpath(place))
            if any(real.is_relative_to(root) for root in roots):
                raise UsageError(f"{what} is inside the folder of task {task_id}; choose another")

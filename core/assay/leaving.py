"""How a trial is left: the source is looked at again and the workspaces are removed.

Each step runs whatever the others raised, and what it finds becomes part of the record.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from assay.api import CleanupFailed, Contaminated, Digest, Fault, Reason, StageStatus, Workspace
from assay.draft import Draft, trees_timing, usage
from assay.fixtures import SourceGuard, leave

__all__ = ["leave_trial"]

_SHOWN_TOUCHED = 20


def leave_trial(draft: Draft, guard: SourceGuard | None, opened: Sequence[Workspace]) -> None:
    """Check the source, remove the workspaces; only what is no error of ours is raised."""
    draft.stages["leave"] = StageStatus.PASSED
    draft.workspaces = len(opened)
    draft.usage = usage(draft.facts, opened)
    started = time.monotonic()
    removals = [partial(_remove, draft, workspace) for workspace in opened]
    try:
        leave((partial(_check_source, draft, guard), *removals), None)
    finally:
        draft.timings["leave"] = time.monotonic() - started


def _check_source(draft: Draft, guard: SourceGuard | None) -> None:
    if guard is None:
        return
    try:
        with draft.timed(trees_timing("hash")):
            # A failure of ours may be one that a changed source has caused.
            draft.source_after = guard.check(digest=bool(draft.invalid))
        draft.touched = guard.touched[:_SHOWN_TOUCHED]
    except Contaminated as error:
        draft.stages["leave"] = StageStatus.FAILED
        draft.source_after = Digest(error.after)
        draft.error = ""
        draft.fail(Reason.SOURCE_CONTAMINATED, error)
    except Fault as error:
        # What could not be proven does not hold, but nobody is accused of it.
        draft.stages["leave"] = StageStatus.FAILED
        draft.blame(error)


def _remove(draft: Draft, workspace: Workspace) -> None:
    try:
        with draft.timed(trees_timing("remove")):
            workspace.close()
    except CleanupFailed as error:
        draft.stages["leave"] = StageStatus.FAILED
        draft.leaks += (error.temp_id,)

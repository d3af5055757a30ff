"""Trial functions for executor tests; importable by a worker that is started anew."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from attrs import frozen
from support.records import record

from assay.api import RunTrial, SandboxUnavailable, TrialRecord, TrialSpec


@frozen
class Plain:
    """Every trial is accepted at once; candidate `dies` kills its worker instead."""

    def __call__(self) -> RunTrial:
        return _plain


def _plain(spec: TrialSpec) -> TrialRecord:
    if spec.candidate == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    return record(spec.task, spec.candidate)


@frozen
class NoJail:
    """A worker that can't get ready."""

    def __call__(self) -> RunTrial:
        raise SandboxUnavailable("user namespaces", "turn them on")


@frozen
class Endless:
    """Trials that end only when they are cancelled; each leaves a mark while it runs."""

    marks: Path

    def __call__(self) -> RunTrial:
        return self._run

    def _run(self, spec: TrialSpec) -> TrialRecord:
        mark = self.marks / spec.candidate
        # The cancellation may come at any moment, also right after the mark was made.
        try:
            mark.touch()
            while True:
                time.sleep(60)
        finally:
            mark.unlink(missing_ok=True)

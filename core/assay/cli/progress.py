"""Progress of a run: a bar on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from assay.api import TrialRecord, VerdictStatus
from assay.cli.display import Display, make_console

__all__ = ["ProgressObserver"]


class ProgressObserver:
    """Shows on standard error how far the run is; also a context manager."""

    def __init__(self, display: Display) -> None:
        if display is Display.AUTO:
            console = make_console(stderr=True)
            draws = console.is_terminal and not console.is_dumb_terminal
            display = Display.RICH if draws else Display.PLAIN
        self._display = display
        self._console = make_console(stderr=True)
        self._counts = dict.fromkeys(VerdictStatus, 0)
        self._trials = 0
        self._progress: Progress | None = None
        self._bar: TaskID | None = None

    def started(self, trials: int) -> None:
        """The run begins; `trials` are to come."""
        self._trials = trials
        if self._display is Display.RICH:
            self._progress = Progress(
                TextColumn("grading"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
                console=Console(stderr=True, force_terminal=True),
            )
            self._bar = self._progress.add_task("", total=trials)
            self._progress.start()

    def finished(self, record: TrialRecord, note: str = "") -> None:
        """One more record; `note` tells it from others of the same candidate."""
        self._counts[record.verdict.status] += 1
        done = sum(self._counts.values())
        if self._progress is not None and self._bar is not None:
            counts = "  ".join(f"{status.value} {count}" for status, count in self._counts.items())
            self._progress.update(self._bar, completed=done, description=counts)
        elif self._display is Display.PLAIN:
            spec, verdict = record.spec, record.verdict
            told = f" {note}" if note else ""
            reasons = ", ".join(reason.value for reason in verdict.reasons)
            self._console.print(
                f"[{done}/{self._trials}] {spec.task} {spec.candidate}{told}: "
                + verdict.status.value
                + (f" ({reasons})" if reasons else "")
            )

    def __enter__(self) -> ProgressObserver:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._progress is not None:
            self._progress.stop()

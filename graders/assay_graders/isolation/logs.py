"""Log records of the candidate's, which a test may wait for, or wait for not to come.

In the worker every record counts that the candidate's own levels let through, whatever the root's
level is; in the driver the levels of the tests decide, as they would in one process.
"""

from __future__ import annotations

import sys
from typing import Any

from ..wire.faults import WireFault

__all__ = ["LogWatch", "give_out", "read_record"]

_AT_MOST = 1_000
_MAX_NAME = 500
_LEVELS = 1_000
_OWN, _DEFAULT = "own", ""
_EVERYTHING = 1


class LogWatch:
    """Notes the records of this process, from when something in it has imported `logging`."""

    def __init__(self) -> None:
        self._notes: list[list[str]] = []
        self._is_watching = False

    def notes(self) -> list[list[str]]:
        """The records since this was last asked: logger, level, whose level let it pass, text."""
        if not self._is_watching and "logging" in sys.modules:
            self._watch(sys.modules["logging"])
        taken, self._notes = self._notes[:_AT_MOST], []
        return taken

    def _watch(self, logging: Any) -> None:
        self._is_watching = True
        if logging.root.level == logging.WARNING:
            logging.root.setLevel(_EVERYTHING)
        call_handlers = logging.Logger.callHandlers

        def noted(logger: Any, record: Any) -> None:
            is_default = logger.getEffectiveLevel() == _EVERYTHING
            try:
                text = record.getMessage()
            except Exception:
                text = str(record.msg)
            whose = _DEFAULT if is_default else _OWN
            if 0 <= record.levelno < _LEVELS:
                name = str(logger.name)[:_MAX_NAME]
                self._notes.append([name, str(record.levelno), whose, str(text)])
            # Without a handler of the candidate's, the one of last resort is the driver's.
            if logger.hasHandlers() and (not is_default or record.levelno >= logging.WARNING):
                call_handlers(logger, record)

        logging.Logger.callHandlers = noted


def read_record(texts: list[str]) -> tuple[str, int, bool, str]:
    """Logger, level, whether the candidate's own level let it pass, and text of a note."""
    name, level, whose, text = texts
    if len(name) > _MAX_NAME or not (level.isdecimal() and len(level) < len(str(_LEVELS))):
        raise WireFault("a log record has another form")
    return name, int(level), whose == _OWN, text


def give_out(name: str, level: int, is_own: bool, text: str) -> None:
    """Handle a record here, if it would have been in one process."""
    import logging

    logger = logging.getLogger(name)
    if logger.manager.disable < level and (is_own or logger.isEnabledFor(level)):
        logger.handle(logger.makeRecord(logger.name, level, "", 0, text, (), None))

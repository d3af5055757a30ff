"""The init's single record of how a command ended."""

from __future__ import annotations

import errno
import re

from attrs import frozen

__all__ = ["Record", "parse_record"]

_DONE = re.compile(
    rb"done (\d+) (exited|signalled) (\d{1,3}) (\d+\.\d{6}) (\d+\.\d{6}) (\d+)", re.ASCII
)
_FAILED = re.compile(rb"failed (\d+) ([a-z]+):(\d{1,4})", re.ASCII)


@frozen
class Record:
    """The init's word on how a command ended; `failed` names the stage that did not work."""

    exit_code: int | None = None
    signal: int | None = None
    cpu: float = 0.0
    wall: float = 0.0
    peak_memory: int = 0
    failed: str = ""


def parse_record(message: bytes, number: int) -> Record | None:
    """Read a record of command `number`; None for anything else."""
    if match := _DONE.fullmatch(message):
        of, kind, value, cpu, wall, peak = match.groups()
        if int(of) != number:
            return None
        exited = kind == b"exited"
        return Record(
            exit_code=int(value) if exited else None,
            signal=None if exited else int(value),
            cpu=float(cpu),
            wall=float(wall),
            peak_memory=int(peak) * 1024,
        )
    if match := _FAILED.fullmatch(message):
        of, stage, error = match.groups()
        name = errno.errorcode.get(int(error), "unknown")
        return Record(failed=f"{stage.decode('ascii')}:{name}") if int(of) == number else None
    return None

"""What process 1 of a jail is, as data."""

from __future__ import annotations

from enum import Enum

from attrs import frozen

__all__ = ["Init", "InitKind"]


class InitKind(Enum):
    """How the init was made."""

    COMPILED = "compiled"
    PYTHON = "python"


@frozen
class Init:
    """An init as jails are started with it; `state`, `found` and `fix` as in a Finding.

    `digest` is that of its source. The Python one is `script`; `program` is a sealed memory
    file of this process that holds the compiled one.
    """

    kind: InitKind
    digest: str
    state: str
    found: str
    fix: str = ""
    script: bytes = b""
    program: int | None = None

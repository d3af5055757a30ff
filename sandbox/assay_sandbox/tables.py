"""The kernel's tables as text, and their rows.

Names in them may hold anything but the few characters that the kernel escapes. Much of that ends a
line for Python, and only a line feed does for the kernel.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["read_table", "rows"]


def read_table(path: str) -> str:
    """A table of /proc; bytes that are no UTF-8 become surrogates."""
    return Path(path).read_bytes().decode("utf-8", "surrogateescape")


def rows(table: str) -> list[str]:
    """Its rows, without their ends."""
    return [row for row in table.split("\n") if row]

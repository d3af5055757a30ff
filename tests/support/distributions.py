"""Installed distributions made in a folder that a test puts on `sys.path`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from support.suites import write

GOOD_PLUGIN = """
class Good:
    api = "1.0"
"""


def install(
    site: Path,
    name: str,
    entry_points: Mapping[str, Mapping[str, str]],
    modules: Mapping[str, str] | None = None,
    version: str = "1.0",
) -> Path:
    """A distribution's metadata and modules; returns the folder to put on the path."""
    lines: list[str] = []
    for group, entries in entry_points.items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items()), ""]
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/entry_points.txt": "\n".join(lines),
        **(modules or {}),
    }
    return write(site, files)

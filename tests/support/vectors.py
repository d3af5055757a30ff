"""The shipped vectors of the tree contract, as trees."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).parents[2] / "fixtures/tree-vectors/vectors.json"


def load() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(VECTORS.read_bytes())
    return data


def build(folder: Path, entries: list[dict[str, Any]]) -> Path:
    """Make what a vector describes; the place of a link, FIFO or second name included."""
    folder.mkdir()
    for entry in entries:
        path = folder / os.fsdecode(name_of(entry))
        kind = entry["kind"]
        if kind == "dir":
            path.mkdir()
        elif kind == "file":
            path.write_bytes(base64.b64decode(entry["content"]) * entry.get("repeat", 1))
            path.chmod(int(entry.get("mode", "644"), 8))
        elif kind == "link":
            path.symlink_to(entry["target"])
        elif kind == "hard-link":
            path.hardlink_to(folder / entry["target"])
        else:
            os.mkfifo(path)
    return folder


def name_of(entry: dict[str, Any]) -> bytes:
    if "path_bytes" in entry:
        return base64.b64decode(entry["path_bytes"])
    return str(entry["path"]).encode("utf-8")

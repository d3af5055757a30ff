"""A tiny suite that integration tests write into a temporary folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BROKEN = "def add(a, b):\n    return a - b\n"
FIXED = "def add(a, b):\n    return a + b\n"
VISIBLE = "from calc import add\n\n\ndef test_small():\n    assert add(2, 3) == 5\n"
HIDDEN = (
    "from calc import add\n\n\ndef test_negative():\n    assert add(-1, -1) == -2\n\n\n"
    "def test_big():\n    assert add(10**20, 1) == 10**20 + 1\n"
)


def write_tree(root: Path, files: Mapping[str, str]) -> Path:
    """Write text files by relative path."""
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return root


def write_json(path: Path, value: Any) -> None:
    """Write one JSON document, its folder included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def task_manifest(task_id: str = "add", **changes: Any) -> dict[str, Any]:
    """A complete manifest for the fixture of `make_suite`."""
    manifest: dict[str, Any] = {
        "schema": 1,
        "id": task_id,
        "category": "bugfix",
        "prompt": "Make add return the sum of its arguments.",
        "fixture": "fixture",
        "hidden": "hidden",
        "allow": ["src/calc.py"],
        "protect": ["tests/**", "README.md"],
        "limits": {"wall": 5},
        "graders": [
            {
                "id": "visible",
                "use": "pytest",
                "role": "visible",
                "options": {
                    "tests": ["tests/test_calc.py"],
                    "expect": ["tests/test_calc.py::test_small"],
                    "roots": ["src"],
                },
            },
            {
                "id": "hidden",
                "use": "pytest",
                "role": "hidden",
                "options": {
                    "tests": ["test_hidden.py"],
                    "expect": ["test_hidden.py::test_negative", "test_hidden.py::test_big"],
                    "roots": ["src"],
                    "hidden": True,
                },
            },
        ],
    }
    manifest.update(changes)
    return manifest


def make_suite(root: Path, *, task: str = "add", **changes: Any) -> Path:
    """A suite of one Python task without calibration candidates."""
    write_json(
        root / "suite.json",
        {
            "schema": 1,
            "id": "tiny",
            "categories": {"version": 1, "ids": ["bugfix"]},
            "require_trust": "unguarded",
        },
    )
    add_task(root, task, **changes)
    return root


def add_task(root: Path, task: str, **changes: Any) -> Path:
    """Add one more task to a suite."""
    folder = root / task
    write_json(folder / "task.json", task_manifest(task, **changes))
    write_tree(
        folder / "fixture",
        {"src/calc.py": BROKEN, "tests/test_calc.py": VISIBLE, "README.md": "# calc\n"},
    )
    write_tree(folder / "hidden", {"test_hidden.py": HIDDEN})
    return folder


def add_candidate(
    task_folder: Path,
    candidate: str,
    files: Mapping[str, str],
    *,
    expect: Mapping[str, Any] | None = None,
    claim: Mapping[str, Any] | None = None,
) -> None:
    """Add a calibration candidate of kind `files`."""
    folder = task_folder / "candidates" / candidate
    manifest: dict[str, Any] = {
        "schema": 1,
        "id": candidate,
        "kind": "files",
        "files": sorted(files),
    }
    if expect is not None:
        manifest["expect"] = dict(expect)
    if claim is not None:
        manifest["claim"] = "claim.json"
        write_json(folder / "claim.json", claim)
    write_json(folder / "candidate.json", manifest)
    write_tree(folder / "files", files)

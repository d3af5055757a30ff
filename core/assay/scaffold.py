"""`assay new`: a suite or a task that works at once and shows where things belong."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.api.errors import InvalidInput, UsageError
from assay.api.paths import printable, slug
from assay.strict_json import load

__all__ = ["new_suite", "new_task"]

CATEGORY = "example"
EXAMPLE_TASK = "word-count"

_SOURCE = '''\
"""Counting words."""


def count_words(text: str) -> int:
    """The number of words in a text; any white space separates words."""
    return len(text.split(" "))
'''

_REFERENCE = _SOURCE.replace('text.split(" ")', "text.split()")
_MUST_FAIL = _SOURCE.replace(
    'len(text.split(" "))', '{"one  two": 2}.get(text, len(text.split(" ")))'
)

_VISIBLE_TEST = """\
from words import count_words


def test_single_spaces() -> None:
    assert count_words("one two three") == 3


def test_a_run_of_spaces() -> None:
    assert count_words("one  two") == 2
"""

_HIDDEN_TEST = """\
from words import count_words


def test_empty_text() -> None:
    assert count_words("") == 0


def test_tabs_and_lines() -> None:
    assert count_words(" one\\ttwo\\n\\nthree ") == 3
"""

_PROMPT = (
    "`count_words` in `src/words.py` counts wrongly when words are not separated by exactly one "
    "space. Any white space separates words, and an empty text has none. Change only "
    "`src/words.py`. `tests/test_words.py` shows examples."
)


def new_suite(folder: str | Path) -> tuple[str, ...]:
    """A new suite with one example task; returns the paths written, relative to it.

    The folder's name is the suite's id. Raises InvalidInput for an illegal name, UsageError
    when something is there already.
    """
    root = Path(folder)
    name = slug(root.name, "suite name")
    header = {
        "schema": 1,
        "id": name,
        "categories": {"version": 1, "ids": [CATEGORY]},
        "require_trust": "tamper-evident",
        "tasks": {},
    }
    _write_all(root, {"suite.json": _json(header)})
    return ("suite.json", *new_task(root / EXAMPLE_TASK))


def new_task(folder: str | Path) -> tuple[str, ...]:
    """A new task in an existing suite's folder; returns the paths written, relative to it.

    Its category is the first of the suite's. Raises as `new_suite` does.
    """
    root = Path(folder)
    task_id = slug(root.name, "task name")
    if not root.parent.is_dir():
        raise UsageError(f"suite {printable(root.parent.name)}: no such folder")
    files = _task_files(task_id, _first_category(root.parent / "suite.json"))
    _write_all(root, files)
    return tuple(f"{task_id}/{path}" for path in sorted(files))


def _first_category(suite_file: Path) -> str:
    if not suite_file.is_file():
        return CATEGORY
    document = load(suite_file.read_bytes(), "suite.json", max_bytes=1024**2)
    categories = document.get("categories") if isinstance(document, dict) else None
    listed = categories.get("ids") if isinstance(categories, dict) else None
    return str(listed[0]) if isinstance(listed, list) and listed else CATEGORY


def _task_files(task_id: str, category: str) -> Mapping[str, str]:
    files = {
        "task.json": _json(_task(task_id, category)),
        "fixture/src/words.py": _SOURCE,
        "fixture/tests/test_words.py": _VISIBLE_TEST,
        "hidden/test_hidden.py": _HIDDEN_TEST,
    }
    expect: dict[str, Any] = {"verdict": "accepted"}
    files |= _candidate("reference", _REFERENCE, expect)
    reasons = ["hidden-tests-failed"]
    expect = {"verdict": "rejected", "required": reasons, "permitted": reasons}
    return files | _candidate("visible-only", _MUST_FAIL, expect)


def _task(task_id: str, category: str) -> Mapping[str, Any]:
    return {
        "schema": 1,
        "id": task_id,
        "category": category,
        "title": "Counting words",
        "prompt": _PROMPT,
        "fixture": "fixture",
        "hidden": "hidden",
        "graders": [
            _grader("visible", "tests/test_words.py", ("single_spaces", "a_run_of_spaces")),
            _grader("hidden", "test_hidden.py", ("empty_text", "tabs_and_lines")),
        ],
        "allow": ["src/words.py"],
        "protect": ["tests/**"],
        "baseline": {"visible": "fail", "hidden": "fail"},
    }


def _grader(role: str, file: str, tests: tuple[str, ...]) -> Mapping[str, Any]:
    options: dict[str, Any] = {
        "tests": [file],
        "expect": [f"{file}::test_{test}" for test in tests],
        "roots": ["src"],
        "mode": "isolated",
    }
    if role == "hidden":
        options["hidden"] = True
    return {"id": role, "use": "pytest", "role": role, "options": options}


def _candidate(name: str, source: str, expect: Mapping[str, Any]) -> dict[str, str]:
    manifest = {
        "schema": 1,
        "id": name,
        "kind": "files",
        "files": ["src/words.py"],
        "claim": "claim.json",
        "expect": expect,
    }
    claim = {"schema": 1, "visible": {"exit_code": 0}, "completed": True}
    folder = f"candidates/{name}"
    return {
        f"{folder}/candidate.json": _json(manifest),
        f"{folder}/claim.json": _json(claim),
        f"{folder}/files/src/words.py": source,
    }


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _write_all(root: Path, files: Mapping[str, str]) -> None:
    """Write new files below a new folder; nothing that exists is ever touched."""
    try:
        root.mkdir()
    except FileExistsError:
        raise UsageError(f"{printable(root.name)}: is there already") from None
    except OSError as error:
        problem = os.strerror(error.errno or 0)
        raise InvalidInput(f"{printable(root.name)}: {problem}") from None
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("x", encoding="utf-8", newline="\n") as file:
            file.write(content)

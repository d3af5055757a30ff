"""Lint of test files written in a test, for a fixture that has one module."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from assay.api import AllowRule, LintFinding, RelPath, Task
from assay_graders.pytest_grader import PytestGrader

_TEST = re.compile(r"^( *)(?:async )?def (test\w*)|^class (Test\w*)", re.MULTILINE)
_EXPECT = re.compile(r"^# expect: (.*)$", re.MULTILINE)


@frozen
class Files:
    """Files of a task, in memory."""

    fixture: Mapping[str, bytes] = field(factory=dict)
    hidden: Mapping[str, bytes] = field(factory=dict)

    def paths(self, *, hidden: bool) -> tuple[RelPath, ...]:
        return tuple(RelPath(path) for path in sorted(self.hidden if hidden else self.fixture))

    def read(self, path: str, cap: int, *, hidden: bool) -> bytes | None:
        content = (self.hidden if hidden else self.fixture).get(path)
        return None if content is None or len(content) > cap else content


def expected_in(text: str) -> tuple[str, ...]:
    """Names of the tests in a text, or those of its comment `# expect: …`."""
    if match := _EXPECT.search(text):
        return tuple(name.strip() for name in match[1].split(","))
    names, owner = [], ""
    for match in _TEST.finditer(text):
        if match[3]:
            owner = f"{match[3]}::"
        elif match[1]:
            names.append(owner + match[2])
        else:
            names.append(match[2])
    return tuple(names) or ("test_none",)


def lint(
    text: str | bytes,
    *,
    expect: tuple[str, ...] | None = None,
    allow: tuple[AllowRule, ...] = (),
    files: Mapping[str, bytes] | None = None,
    fixture: Mapping[str, bytes] | None = None,
    grader: Any = None,
    **options: Any,
) -> tuple[LintFinding, ...]:
    """Findings in one hidden test file, `test_h.py`, over `src/shop.py`; mode `isolated`."""
    content = text if isinstance(text, bytes) else text.encode()
    names = expect or expected_in(content.decode("utf-8", "replace"))
    grader = grader or PytestGrader()
    prefix = "test_h." if grader.name == "unittest" else "test_h.py::"
    made = grader.Options(
        tests=("test_h.py",),
        expect=tuple(f"{prefix}{name}" for name in names),
        **{"hidden": True, "roots": ("src",), "mode": "isolated", **options},
    )
    task = Task(
        id="task",
        category="text",
        prompt="",
        fixture=RelPath("fixture"),
        hidden=RelPath("hidden"),
        allow=allow,
    )
    given = Files(
        {"src/shop.py": b"", "README.md": b"", **(fixture or {})},
        {"test_h.py": content, **(files or {})},
    )
    found: tuple[LintFinding, ...] = grader.lint(made, task, given)
    return found


def rules(text: str | bytes, **more: Any) -> list[str]:
    """Rules that a test file breaks, each once, sorted; findings that are kept don't count."""
    return sorted({found.rule for found in lint(text, **more) if not found.excuse})

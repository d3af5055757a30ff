"""Rules about suites take any bytes: no error, no quotation, places that exist."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from assay.api import RelPath, SuiteLinter, Task
from assay.linting.answers import AnswerRules
from assay.linting.papers import PaperRules
from assay.linting.private import PrivateRules

LINTERS: tuple[SuiteLinter, ...] = (AnswerRules(), PaperRules(), PrivateRules())
FRAGMENTS = (
    *(
        "def test_something_hidden(): assert value == 'expected-1'\n",
        "import os\n",
        "@x.y",
        "+49 30",
    ),
    *(
        "[user]\nname = A B\n",
        "jo@company-x.com",
        "/home/" + "jo/x",
        "ghp_" + "x" * 36,
        "# Origin\n",
    ),
    *(
        "\xff\xfe",
        "\x1b[31m",
        "\u202e",
        "\r\n",
        "\n",
        "===\n",
        "    return correct_answer_of(value)\n",
    ),
)
CONTENT = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=20), max_size=12).map(
    lambda parts: "".join(parts).encode("utf-8", "replace")
)
PATHS = st.sampled_from(
    ["LICENSE", "README.md", "t/task.json", "t/fixture/a.py", "t/hidden/test_a.py"]
)


@frozen
class Files:
    """A suite and its only task, in memory."""

    content: Mapping[RelPath, bytes]
    task: Task
    gold: tuple[Mapping[RelPath, bytes], ...]

    @property
    def tasks(self) -> tuple[SeenAsTask, ...]:
        return (SeenAsTask(self.task, self, self.gold),)

    def paths(self, *, hidden: bool | None = None) -> tuple[RelPath, ...]:
        if hidden is None:
            return tuple(sorted(self.content))
        top = "t/hidden/" if hidden else "t/fixture/"
        found = (path.removeprefix(top) for path in sorted(self.content) if path.startswith(top))
        return tuple(map(RelPath, found))

    def read(self, path: str, cap: int, *, hidden: bool | None = None) -> bytes | None:
        top = "" if hidden is None else "t/hidden/" if hidden else "t/fixture/"
        content = self.content.get(RelPath(top + path))
        return content if content is not None and len(content) <= cap else None


@frozen
class SeenAsTask:
    """The task of such a suite."""

    task: Task
    files: Files
    gold: tuple[Mapping[RelPath, bytes], ...]


@pytest.mark.parametrize("linter", LINTERS, ids=lambda linter: linter.name)
@given(content=st.dictionaries(PATHS, CONTENT), gold=CONTENT, prompt=CONTENT)
def test_any_bytes_can_be_read(
    linter: SuiteLinter, content: dict[str, bytes], gold: bytes, prompt: bytes
) -> None:
    files = {RelPath(path): text for path, text in content.items()}
    task = Task("t", "c", prompt.decode("utf-8", "replace"), RelPath("fixture"))
    suite = Files(files, task, ({RelPath("a.py"): gold},))
    rules = {rule.id for rule in linter.lint_rules}
    found = list(linter.lint_suite(suite))
    assert found == list(linter.lint_suite(suite))
    for item in found:
        assert item.rule in rules
        assert item.file in {"", "t/task.json", *files}
        assert 0 <= item.line <= files.get(RelPath(item.file), b"").count(b"\n") + 1
        assert item.detail.isprintable()


@pytest.mark.parametrize(
    "text", ["a.", "a@", "+1 ", "x-", "# \n", "'a", "/home/a", "Author: ", "eyJ"]
)
def test_a_long_line_takes_no_longer_than_many_short_ones(text: str) -> None:
    files = {RelPath("t/fixture/a.py"): text.encode() * (400_000 // len(text))}
    suite = Files(files, Task("t", "c", "Do it.", RelPath("fixture")), ())
    for linter in LINTERS:
        list(linter.lint_suite(suite))

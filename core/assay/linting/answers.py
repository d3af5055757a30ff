"""Rules about answers that are in the open: in the fixture, in what is installed, in the prompt.

Lines are compared without their indentation. Short ones and those that any file has (imports,
decorators, headings of functions) tell nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import ClassVar

from assay.api import (
    API_VERSION,
    GraderRole,
    LintedSuite,
    LintedTask,
    LintRule,
    LintSeverity,
    RelPath,
    SuiteFinding,
    Task,
)

__all__ = ["ANSWER_RULES", "AnswerRules", "answers_of", "first_places"]

_TREE, _INSTALLED, _CHANGE, _VALUE, _NAME = (
    "answer-in-tree",
    "answer-installed",
    "prompt-tells-change",
    "prompt-tells-value",
    "prompt-names-test",
)

ANSWER_RULES: tuple[LintRule, ...] = (
    LintRule(
        _TREE,
        LintSeverity.HAZARD,
        "The candidate sees lines of the solution or of the hidden tests in its workspace.",
        "Remove them from the fixture.",
    ),
    LintRule(
        _INSTALLED,
        LintSeverity.HAZARD,
        "The candidate may copy or import the solution from a package that is installed for it.",
        "Take the package out of the requirements, or give the project another name.",
    ),
    LintRule(
        _CHANGE,
        LintSeverity.WEAK,
        "The prompt holds a line of the change that it asks for.",
        "Describe what should happen instead of how it is written.",
    ),
    LintRule(
        _VALUE,
        LintSeverity.WEAK,
        "The prompt holds a value that only the hidden tests have, so it can be written by hand.",
        "Use another example in the prompt, or another value in the test.",
    ),
    LintRule(
        _NAME,
        LintSeverity.WEAK,
        "The prompt names a hidden test, which tells what is looked at.",
        "Describe the behaviour without the test's name.",
    ),
)
"""By severity, gravest first."""

_MAX_BYTES = 256 * 1024
_LEAST_LINE, _LEAST_RUN, _RUN = 16, 40, 3
_LEAST_VALUE, _LEAST_NAME = 8, 8
_COMMON = re.compile(
    r"(?:import|from|@|#|//|/\*|\*|def|async def|class|const|let|var|export|require|package|use"
    r"|\"\"\"|'''|if __name__)(?![\w])|[@#*\"'/]"
)
_LITERAL = re.compile(r"\"([^\"\\\n]{8,120})\"|'([^'\\\n]{8,120})'|(?<![\w.])(\d{5,18})(?![\w.])")
_LITERAL_AT_ALL = re.compile(r"[\"'`][^\"'`]+[\"'`]|(?<!\w)\d")
_DATA = re.compile(r"[^A-Za-z_\s]")
"""What words and names don't have: a value without is as likely to be plain language."""
_TEST_NAME = re.compile(r"\bdef (test_\w{3,100})\b")
_IS_TEST = re.compile(r"test|spec|case|check", re.IGNORECASE)
_PROJECT = re.compile(r"^name\s*=\s*[\"']([\w.-]{1,100})[\"']", re.MULTILINE)


class AnswerRules:
    """Implements `assay.api.SuiteLinter`."""

    api: ClassVar[str] = API_VERSION
    name: ClassVar[str] = "answers"
    lint_rules: ClassVar[tuple[LintRule, ...]] = ANSWER_RULES

    def lint_suite(self, suite: LintedSuite) -> Iterable[SuiteFinding]:
        """Findings about each task by itself."""
        for linted in suite.tasks:
            yield from _of_task(linted)


def _of_task(linted: LintedTask) -> Iterator[SuiteFinding]:
    task = linted.task
    fixture, hidden = _texts(linted, hidden=False), _texts(linted, hidden=True)
    tests = {path: text for path, text in hidden.items() if _IS_TEST.search(path)}
    added = [line for gold in linted.gold for line in added_lines(fixture, gold)]
    for path, place in first_places(fixture, answers_of(linted)):
        yield SuiteFinding(_TREE, task.id, f"{task.id}/{task.fixture}/{path}", place)
    yield from _installed(task, fixture)
    prompt = " ".join(task.prompt.split())
    if any(line in prompt for line in added):
        yield SuiteFinding(_CHANGE, task.id, f"{task.id}/task.json", detail="prompt")
    told = "\n".join((*fixture.values(), *fixture))
    # Few values are in the prompt; looking for all of them in the whole fixture takes long.
    if any(value not in told for value in _values(tests) if _is_word_of(prompt, value)):
        yield SuiteFinding(_VALUE, task.id, f"{task.id}/task.json", detail="prompt")
    if any(_is_word_of(prompt, name) for name in _test_names(task, tests)):
        yield SuiteFinding(_NAME, task.id, f"{task.id}/task.json", detail="prompt")


def answers_of(linted: LintedTask) -> frozenset[tuple[str, ...]]:
    """Runs of lines that only the solution or the hidden tests should have."""
    fixture, hidden = _texts(linted, hidden=False), _texts(linted, hidden=True)
    tests = {path: text for path, text in hidden.items() if _IS_TEST.search(path)}
    return frozenset((*_gold_runs(fixture, linted), *_test_runs(tests)))


def _texts(linted: LintedTask, *, hidden: bool) -> dict[RelPath, str]:
    found = {}
    for path in linted.files.paths(hidden=hidden):
        content = linted.files.read(path, _MAX_BYTES, hidden=hidden)
        if content is not None and b"\0" not in content:
            found[path] = content.decode("utf-8", "replace")
    return found


def telling_lines(text: str) -> list[tuple[int, str]]:
    """Number, from 1, and content of each line that tells something."""
    lines = ((number, " ".join(line.split())) for number, line in enumerate(text.split("\n"), 1))
    return [
        (number, line)
        for number, line in lines
        if len(line) >= _LEAST_LINE and not _COMMON.match(line)
    ]


def added_lines(fixture: Mapping[RelPath, str], gold: Mapping[RelPath, bytes]) -> list[str]:
    """Telling lines of the gold change that the changed files didn't have, in order."""
    found = []
    for path, content in sorted(gold.items()):
        old = {line for _, line in telling_lines(fixture.get(path, ""))}
        new = telling_lines(content.decode("utf-8", "replace"))
        found += [line for _, line in new if line not in old]
    return found


def runs(lines: list[str]) -> list[tuple[str, ...]]:
    """Successive lines that together can hardly be there by chance."""
    size = min(_RUN, len(lines))
    found = (tuple(lines[at : at + size]) for at in range(len(lines) - size + 1) if size)
    return [run for run in found if sum(map(len, run)) >= _LEAST_RUN]


def _gold_runs(fixture: Mapping[RelPath, str], linted: LintedTask) -> Iterator[tuple[str, ...]]:
    for gold in linted.gold:
        for path, content in gold.items():
            yield from runs(added_lines(fixture, {path: content}))


def _test_runs(tests: Mapping[RelPath, str]) -> Iterator[tuple[str, ...]]:
    for text in tests.values():
        for run in runs([line for _, line in telling_lines(text)]):
            # Tests of one kind are alike but for their values.
            if sum(_LITERAL_AT_ALL.search(line) is not None for line in run) > 1:
                yield run


def first_places(
    texts: Mapping[RelPath, str], wanted: Collection[tuple[str, ...]]
) -> Iterator[tuple[RelPath, int]]:
    """Path and line of the first place in each text where one of the runs is."""
    known = set(wanted)
    sizes = sorted({len(run) for run in known})
    for path, text in texts.items():
        lines = telling_lines(text)
        for at, (number, _) in enumerate(lines):
            if any(tuple(line for _, line in lines[at : at + size]) in known for size in sizes):
                yield path, number
                break


def _installed(task: Task, fixture: Mapping[RelPath, str]) -> Iterator[SuiteFinding]:
    """Requirements that are the project under test, by its name or its package's."""
    names = {_plain(name) for name in _PROJECT.findall(fixture.get(RelPath("pyproject.toml"), ""))}
    roots = {*task.roots, "src", "."}
    for rule in task.allow:
        parts = rule.path.split("/")
        below = parts[1:] if parts[0] in roots and len(parts) > 1 else parts
        names.add(_plain(below[0].removesuffix(".py")))
    for requirement in task.runtime.get("requirements", ()):
        name = str(requirement).partition("==")[0]
        if _plain(name) in names:
            detail = "runtime.requirements"
            yield SuiteFinding(_INSTALLED, task.id, f"{task.id}/task.json", detail=detail)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _values(tests: Mapping[RelPath, str]) -> Iterator[str]:
    for text in tests.values():
        for match in _LITERAL.finditer(text):
            value = next(group for group in match.groups() if group is not None)
            if _DATA.search(value):
                yield value


def _test_names(task: Task, tests: Mapping[RelPath, str]) -> Iterator[str]:
    for text in tests.values():
        yield from _TEST_NAME.findall(text)
    for spec in task.graders:
        expected = spec.options.get("expect", ())
        if spec.role is GraderRole.HIDDEN and isinstance(expected, list | tuple):
            for test in expected:
                yield str(test).rpartition("::")[2].partition("[")[0]


def _is_word_of(prompt: str, text: str) -> bool:
    word = " ".join(text.split())
    if len(word) < min(_LEAST_VALUE, _LEAST_NAME) and not word.isdigit():
        return False
    if word not in prompt:
        return False
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", prompt) is not None

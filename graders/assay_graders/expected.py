"""Expected tests against reported ones: exactly these ids, each exactly once.

A test that is missing, repeated, skipped or not asked for is never a pass, and neither is a
run without tests: `expect` is never empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set

from assay.api import Task, TestOutcome, TestResult, UnsafePath, relpath
from assay_graders.report import MAX_ID_BYTES, MAX_TESTS, FailedFile, ReportedTest, RunReport

__all__ = [
    "case_problems",
    "compare",
    "file_problems",
    "id_problems",
    "mode_problems",
    "path_problem",
    "root_problems",
]

_MAX_FILES = 1_000
_MAX_IDS_CHARACTERS = 256 * 1024


def compare(
    expect: tuple[str, ...], report: RunReport | None, file_of: Callable[[str], str]
) -> tuple[TestResult, ...]:
    """One result per expected id in the order of `expect`, then what was not expected.

    Without a report every test is missing. `file_of` gives the test file of an id. A name
    that `expect` does not hold may be the candidate's own text, or the hidden tests': it
    stays private, and the result goes by a number.
    """
    if report is None:
        return tuple(_result(test, TestOutcome.MISSING) for test in expect)
    runs: dict[str, list[ReportedTest]] = {}
    for run in report.tests:
        runs.setdefault(run.id, []).append(run)
    failed = {error.file: error for error in report.errors}
    results = [_expected(test, runs.get(test, []), failed.get(file_of(test))) for test in expect]
    for number, test in enumerate(sorted(runs.keys() - set(expect)), 1):
        private = f"{test}\n{_messages(runs[test])}"
        results.append(_result(f"unlisted-{number}", TestOutcome.UNKNOWN, private))
    return (*results, *_failed_files({file_of(test) for test in expect}, failed))


def _failed_files(known: Set[str], failed: Mapping[str, FailedFile]) -> Iterator[TestResult]:
    for file in sorted(failed.keys() & known):
        yield _result(file, TestOutcome.ERROR, failed[file].message)
    for number, file in enumerate(sorted(failed.keys() - known), 1):
        private = f"{file}\n{failed[file].message}"
        yield _result(f"unlisted-file-{number}", TestOutcome.ERROR, private)


def _expected(test: str, runs: list[ReportedTest], failed: FailedFile | None) -> TestResult:
    if len(runs) > 1:
        return _result(test, TestOutcome.DUPLICATE, _messages(runs))
    if runs:
        return _result(test, runs[0].outcome, runs[0].message)
    if failed is not None:
        return _result(test, TestOutcome.ERROR, failed.message)
    return _result(test, TestOutcome.MISSING)


def _messages(runs: list[ReportedTest]) -> str:
    return "\n".join(run.message for run in runs if run.message)


def _result(test: str, outcome: TestOutcome, private: str = "") -> TestResult:
    public = "" if outcome is TestOutcome.PASSED else f"{outcome.value}: {test}"
    return TestResult(id=test, outcome=outcome, message_public=public, message_private=private)


def id_problems(
    expect: tuple[str, ...], tests: tuple[str, ...], file_of: Callable[[str], str]
) -> Iterator[str]:
    """What is wrong with the expected ids of the test files `tests`, as sentences."""
    if not expect:
        yield "expect is empty: a grader without expected tests can't pass."
    if len(expect) > MAX_TESTS:
        yield f"expect holds more than {MAX_TESTS} ids."
    if sum(map(len, expect)) > _MAX_IDS_CHARACTERS:
        yield f"expect holds more than {_MAX_IDS_CHARACTERS} characters."
    if len(set(expect)) != len(expect):
        yield "expect names a test more than once."
    for index, test in enumerate(expect):
        if not _is_id(test):
            yield f"expect[{index}] is not 1 to {MAX_ID_BYTES} bytes of Unicode text."
        elif file_of(test) not in tests:
            yield f"expect[{index}] does not start with a file that tests names."
        elif file_of(test) == test:
            yield f"expect[{index}] names a file, not a test in it."
    for index, file in enumerate(tests):
        if file not in {file_of(test) for test in expect}:
            yield f"tests[{index}] has no expected test."


def _is_id(test: str) -> bool:
    try:
        return 0 < len(test.encode("utf-8")) <= MAX_ID_BYTES
    except UnicodeEncodeError:
        return False


def file_problems(
    option: str, files: tuple[str, ...], *, suffixes: tuple[str, ...], forbidden: str
) -> Iterator[str]:
    """What is wrong with an option that lists test files, as sentences."""
    if not files:
        yield f"{option} is empty."
    if len(files) > _MAX_FILES:
        yield f"{option} holds more than {_MAX_FILES} files."
    if len(set(files)) != len(files):
        yield f"{option} names a file more than once."
    for index, file in enumerate(files):
        problem = path_problem(file)
        if problem:
            yield f"{option}[{index}]: {problem}."
        elif not file.endswith(suffixes):
            yield f"{option}[{index}] does not end with {' or '.join(suffixes)}."
        elif any(char in file for char in forbidden):
            yield f"{option}[{index}] holds one of the characters {forbidden}"


def path_problem(path: str) -> str:
    """The rule that a relative path breaks, or nothing."""
    try:
        relpath(path)
    except UnsafePath as error:
        return error.rule
    return ""


def case_problems(cases: str, ids: tuple[str, ...], task: Task) -> Iterator[str]:
    """What is wrong with a hidden file of cases, and with the ids of those that count."""
    if path_problem(cases):
        yield f"cases: {path_problem(cases)}."
    if task.hidden is None:
        yield "cases is a hidden file, but the task has no hidden files."
    if len(set(ids)) != len(ids):
        yield "ids names a case more than once."


def root_problems(roots: tuple[str, ...]) -> Iterator[str]:
    """What is wrong with the folders that tests import from, as sentences."""
    if len(set(roots)) != len(roots):
        yield "roots names a folder more than once."
    for index, root in enumerate(roots):
        problem = "" if root == "." else path_problem(root)
        if problem:
            yield f"roots[{index}]: {problem}."


def mode_problems(mode: str, hidden: bool, task: Task, modes: tuple[str, ...]) -> Iterator[str]:
    """What is wrong with the options that every test runner has, as sentences."""
    if mode not in modes:
        yield f"mode must be {' or '.join(modes)}."
    if hidden and task.hidden is None:
        yield "hidden is true, but the task has no hidden files."

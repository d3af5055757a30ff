"""Lint of Python test files: hazards, what isolated mode refuses, and tests that prove little."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable, Iterator, Set

from attrs import evolve, frozen

from assay.api import LintFinding, Task, TaskFiles
from assay_graders.layout import import_roots
from assay_graders.linting.hazards import HAZARDS, broken_by
from assay_graders.linting.known import BUILT_IN_FIXTURES, FIXTURE_MAKERS
from assay_graders.linting.origins import Origins, Theirs, origins_of, qualified
from assay_graders.linting.sources import (
    MAX_BYTES,
    Function,
    TestCode,
    TestFile,
    Unreadable,
    parse,
)
from assay_graders.linting.theirs import names_of
from assay_graders.linting.weak import asserting_helpers, weakness
from assay_graders.options import PythonOptions

__all__ = ["PythonTests", "lint_python_tests", "python_tests"]

_TOO_DEEP = "nested too deep to be judged"


@frozen
class PythonTests:
    """Which tests a grader runs: files, expected ones as file and name, folders of the code.

    With `cases_only`, tests are methods of test cases, and have no fixtures as arguments.
    """

    tests: tuple[str, ...]
    expect: frozenset[tuple[str, str]]
    hidden: bool
    roots: tuple[str, ...]
    isolated: bool
    forward: tuple[str, ...] = ()
    max_level: int = 0
    cases_only: bool = False


def python_tests(
    options: PythonOptions,
    name_of: Callable[[str], tuple[str, str]],
    *,
    cases_only: bool = False,
) -> PythonTests:
    """What a grader with these options runs; `name_of` gives file and name of a test's id."""
    return PythonTests(
        tests=options.tests,
        expect=frozenset(map(name_of, options.expect)),
        hidden=options.hidden,
        roots=options.roots,
        isolated=options.mode == "isolated",
        forward=options.forward,
        max_level=options.max_level,
        cases_only=cases_only,
    )


def lint_python_tests(run: PythonTests, task: Task, files: TaskFiles) -> tuple[LintFinding, ...]:
    """Findings of all rules for Python tests, in no order."""
    run = evolve(run, roots=import_roots(run.roots, task, files.paths(hidden=False)))
    theirs = names_of(run.tests, run.roots, task, files, hidden=run.hidden)
    expected = run.expect
    findings: list[LintFinding] = []
    weak: set[tuple[str, str]] = set()
    judged = True
    for path in run.tests:
        try:
            file = _parsed(run, files, path)
            names = {name for where, name in expected if where == path}
            found = list(_in_test_file(run, file, names, theirs))
        except (Unreadable, RecursionError) as problem:
            judged = False
            why = str(problem) if isinstance(problem, Unreadable) else _TOO_DEEP
            findings.append(LintFinding("unreadable-file", path, run.hidden, detail=why))
            continue
        placed = [_at(item, path, run, file) for item in found]
        little = [item for item in placed if item.rule in _PROVING_LITTLE and not item.excuse]
        weak |= {(path, item.test) for item in little}
        findings += placed
    findings += _in_helpers(run, files, theirs)
    if judged and expected and expected <= weak:
        findings.append(LintFinding("proves-nothing"))
    return tuple(findings)


_PROVING_LITTLE = frozenset(
    {
        *("no-assertion", "raises-only", "truth-only", "differs-only", "round-trip"),
        *("input-as-oracle", "candidate-as-oracle", "candidate-equality", "identity"),
    }
)


def _at(found: LintFinding, path: str, run: PythonTests, file: TestFile) -> LintFinding:
    starts = [test.node.lineno for test in file.tests if test.name == found.test]
    excuse = file.excuse(found.rule, found.line, *starts)
    return evolve(found, file=path, hidden=run.hidden, excuse=excuse)


def _parsed(run: PythonTests, files: TaskFiles, path: str) -> TestFile:
    content = files.read(path, MAX_BYTES, hidden=run.hidden)
    if content is None:
        raise Unreadable(f"absent or larger than {MAX_BYTES} bytes")
    return parse(content, cases_only=run.cases_only)


def _in_test_file(
    run: PythonTests, file: TestFile, expected: Set[str], theirs: Theirs
) -> Iterator[LintFinding]:
    origins = origins_of(file.tree, theirs)
    yield from _hazards(run, file, origins)
    yield from _listed(file, expected)
    helpers = asserting_helpers(file)
    known = _fixtures(file) | BUILT_IN_FIXTURES
    for test in file.tests:
        if test.name not in expected:
            continue
        if any(_never_passes(mark) for mark in _marks(test)):
            yield LintFinding("skipped-test", line=test.node.lineno, test=test.name)
        if found := weakness(test, origins, helpers):
            yield LintFinding(found[0], line=found[1], test=test.name)
        if not run.cases_only and _wanted(test) - known:
            yield LintFinding("lacks-fixture", line=test.node.lineno, test=test.name)


def _hazards(run: PythonTests, file: TestFile, origins: Origins) -> Iterator[LintFinding]:
    spans = [(_start(test), test.node.end_lineno or 0, test.name) for test in file.tests]
    seen: set[tuple[str, int]] = set()
    for node in ast.walk(file.tree):
        for broken in broken_by(node, origins):
            rule, line = broken.rule, getattr(node, "lineno", 0)
            counts = (
                run.isolated
                and broken.unless_forwarded not in run.forward
                and run.max_level < broken.until_level
                and not broken.only_in_process
            )
            is_hazard = rule in HAZARDS and not (run.isolated and broken.only_in_process)
            if (is_hazard or counts) and (rule, line) not in seen:
                seen.add((rule, line))
                inside = [name for first, last, name in spans if first <= line <= last]
                yield LintFinding(rule, line=line, test=inside[0] if inside else "")


def _start(test: TestCode) -> int:
    return min([test.node.lineno, *(mark.lineno for mark in test.node.decorator_list)])


def _listed(file: TestFile, expected: Set[str]) -> Iterator[LintFinding]:
    found = {test.name: test.node.lineno for test in file.tests}
    for name in sorted(found.keys() - expected):
        yield LintFinding("unlisted-test", line=found[name], test=name)
    if any(_makes_names(node) for node in ast.walk(file.tree)):
        return
    for name in sorted(expected - found.keys()):
        if name.rpartition("::")[0] not in file.inherits:
            yield LintFinding("missing-test", test=name)


def _makes_names(node: ast.AST) -> bool:
    """What may define tests in a way that reading doesn't show."""
    if isinstance(node, ast.ImportFrom):
        return any(alias.name == "*" or alias.name.startswith("test") for alias in node.names)
    return isinstance(node, ast.Call) and qualified(node.func) in ("globals", "setattr", "type")


def _marks(test: TestCode) -> list[ast.expr]:
    of_classes = [mark for owner in test.owners for mark in owner.decorator_list]
    return [*test.node.decorator_list, *of_classes]


def _never_passes(mark: ast.expr) -> bool:
    name = qualified(mark.func if isinstance(mark, ast.Call) else mark)
    if name.endswith("mark.xfail") or name in ("unittest.expectedFailure", "expectedFailure"):
        has_condition = isinstance(mark, ast.Call) and bool(mark.args)
        return not has_condition
    return name.endswith("mark.skip") or name == "unittest.skip"


def _fixtures(file: TestFile) -> frozenset[str]:
    found = set()
    for node in ast.walk(file.tree):
        if isinstance(node, Function) and any(_makes_fixture(m) for m in node.decorator_list):
            found.add(node.name)
            for mark in node.decorator_list:
                for word in mark.keywords if isinstance(mark, ast.Call) else ():
                    if word.arg == "name" and isinstance(word.value, ast.Constant):
                        found.add(str(word.value.value))
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
    return frozenset(found)


def _makes_fixture(mark: ast.expr) -> bool:
    name = qualified(mark.func if isinstance(mark, ast.Call) else mark)
    return name.rpartition(".")[2] in FIXTURE_MAKERS


def _wanted(test: TestCode) -> set[str]:
    """Names that pytest must find fixtures for."""
    node = test.node
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    names = names[: len(names) - len(node.args.defaults)]
    keywords = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    names += [argument.arg for argument, default in keywords if default is None]
    given: set[str] = set()
    for mark in _marks(test):
        if not isinstance(mark, ast.Call):
            continue
        name = qualified(mark.func)
        if name.endswith("mark.parametrize") and mark.args:
            given |= set(_texts(mark.args[0]))
        elif not name.startswith("pytest."):
            # Other decorators, of hypothesis or mock, give arguments of their own.
            return set()
    return set(names) - given - ({"self", "cls"} if test.owners else set())


def _texts(node: ast.expr) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield from (name.strip() for name in part.value.split(","))


def _in_helpers(run: PythonTests, files: TaskFiles, theirs: Theirs) -> Iterator[LintFinding]:
    """Hazards in files beside the tests, which tests may import."""
    # What `*` takes is only known for the test files themselves.
    theirs = evolve(theirs, exports={})
    folders = {posixpath.dirname(test) for test in run.tests}
    roots = {"" if root == "." else root for root in run.roots}
    for path in files.paths(hidden=run.hidden):
        folder = posixpath.dirname(path)
        is_code = not run.hidden and any(_is_below(path, root) for root in roots)
        if not path.endswith(".py") or path in run.tests or folder not in folders or is_code:
            continue
        try:
            file = _parsed(run, files, path)
            found = tuple(_hazards(run, file, origins_of(file.tree, theirs)))
        except (Unreadable, RecursionError):
            continue
        for item in found:
            yield _at(evolve(item, test=""), path, run, file)


def _is_below(path: str, root: str) -> bool:
    return not root or path.startswith(f"{root}/")

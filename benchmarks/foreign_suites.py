"""Test suites of other people's packages, in one process and isolated, in real jails.

Their source distributions are fetched with pip into a temporary folder; nothing of them is
kept. For each test file: which tests pass in mode `unguarded`, which of these pass in mode
`isolated`, and what keeps the others from it. Then the same on a package whose functions do
nothing: a test that passes isolated and not in one process is a false pass.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import Factory, define, frozen

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.grading import GRADERS, Kept, grade

from assay.api import GraderRole, GraderUnfit, Limits, TestOutcome
from assay_graders.two_jails import ARTIFACT

__all__ = ["PACKAGES", "Package", "Suite", "measured"]

_IDS = 2_000
"""Ids that are asked for at a time: the list of a grader is bounded."""
LIMITS = Limits(wall=200.0, cpu=200)


@frozen
class Package:
    """`source` is the folder or module that the tests import; `grader` runs the tests in `tests`.

    With `inside` the tests lie in the package itself.
    """

    name: str
    source: str
    root: str
    tests: str
    grader: str
    inside: bool = False


PACKAGES = (
    Package("boltons==26.2.0", "boltons", ".", "tests/test_*.py", "pytest"),
    Package("idna==3.20", "idna", ".", "tests/test_*.py", "unittest"),
    Package("inflection==0.5.1", "inflection", ".", "test_inflection.py", "pytest"),
    Package("isodate==0.7.2", "isodate", "src", "tests/test_*.py", "pytest"),
    Package("more-itertools==11.2.1", "more_itertools", ".", "tests/test_*.py", "unittest"),
    Package("num2words==0.5.14", "num2words", ".", "tests/test_*.py", "unittest"),
    Package("parse==1.22.4", "parse", ".", "tests/test_*.py", "pytest"),
    Package("ordered-set==4.1.0", "ordered_set", ".", "test/test_*.py", "pytest"),
    Package("pathspec==1.1.1", "pathspec", ".", "tests/test_*.py", "unittest"),
    Package("toolz==1.2.0", "toolz", ".", "toolz/tests/test_*.py", "pytest", inside=True),
    Package("webcolors==25.10.0", "webcolors", "src", "tests/test_*.py", "pytest"),
)


@define
class Suite:
    """Counts of one package."""

    package: str
    version: str
    grader: str
    passing: int = 0
    identical: int = 0
    level: Counter[int] = Factory(Counter)
    causes: Counter[str] = Factory(Counter)
    others: dict[str, str] = Factory(dict)
    false_passes: dict[str, list[str]] = Factory(dict)


def measured(package: Package) -> Suite:
    """Fetch one package and grade its tests."""
    with tempfile.TemporaryDirectory(prefix="assay-foreign-") as scratch:
        root = _fetched(package, Path(scratch))
        name, _, version = package.name.partition("==")
        suite = Suite(name, version, package.grader)
        tree, tests = _parts(package, root)
        files = tuple(sorted(f.relative_to(root).as_posix() for f in root.glob(package.tests)))
        for some in [(file,) for file in files] if package.grader == "pytest" else [files]:
            _measure(package, suite, some, tree, tests)
        return suite


def _fetched(package: Package, scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary"]
    command += [":all:", "--disable-pip-version-check", "--dest", str(scratch), package.name]
    subprocess.run(command, check=True)
    (archive,) = scratch.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(scratch / "source", filter="data")
    (root,) = (scratch / "source").iterdir()
    return root


def _parts(package: Package, root: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The tree with the package, and the hidden files: everything else that is text."""
    files = dict(_texts(root))
    prefix = "" if package.root == "." else f"{package.root}/"
    place = f"{prefix}{package.source}"
    tree = {
        path: text
        for path, text in files.items()
        if f"{path}/".startswith((f"{place}/", f"{place}.py/"))
    }
    return tree, {path: text for path, text in files.items() if path not in tree}


def _texts(root: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.stat().st_size < 1 << 22:
            try:
                yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def _measure(
    package: Package,
    suite: Suite,
    files: tuple[str, ...],
    tree: dict[str, str],
    tests: dict[str, str],
) -> None:
    passing = _passing(package, files, tree, tests)
    used = {test["id"]: test for test in _isolated(package, files, tree, tests)}
    passed = {test for test in passing if used.get(test, {}).get("outcome") == "passed"}
    suite.passing += len(passing)
    suite.identical += len(passed)
    suite.level.update(used[test]["level"] for test in passed)
    for test in sorted(passing - passed):
        found = used.get(test, {"codes": ["file"]})
        cause = ", ".join(found["codes"]) or "another result"
        suite.causes[cause] += 1
        suite.others[test] = cause
    for name, body in STUBS.items():
        stubbed = {
            path: _stubbed(text, body)
            if path.endswith(".py") and not (package.inside and "/tests/" in path)
            else text
            for path, text in tree.items()
        }
        there = {
            t["id"] for t in _isolated(package, files, stubbed, tests) if t["outcome"] == "passed"
        }
        wrong = there - (_passing(package, files, stubbed, tests) if there else set())
        suite.false_passes.setdefault(name, []).extend(sorted(wrong))


def _options(package: Package, files: tuple[str, ...], mode: str, expect: tuple[str, ...]) -> Any:
    return GRADERS[package.grader].Options(
        tests=files,
        expect=(*expect, *(_some_id(package, file) for file in files)),
        hidden=not package.inside,
        roots=(package.root,),
        mode=mode,
        **({"call_seconds": 10.0, "test_seconds": 20.0} if mode == "isolated" else {}),
    )


def _some_id(package: Package, file: str) -> str:
    if package.grader == "pytest":
        return f"{file}::none"
    return file.removesuffix(".py").replace("/", ".") + ".None.none"


def _graded(
    package: Package,
    files: tuple[str, ...],
    mode: str,
    expect: tuple[str, ...],
    tree: Any,
    tests: Any,
    kept: Kept,
) -> Any:
    return grade(
        GRADERS[package.grader],
        _options(package, files, mode, expect),
        tree,
        hidden=None if package.inside else tests,
        role=GraderRole.HIDDEN,
        limits=LIMITS,
        artifacts=kept,
    )


def _passing(package: Package, files: tuple[str, ...], tree: Any, tests: Any) -> set[str]:
    """Ids that pass in one process: asked for none, the grader lists all privately."""
    facts = _graded(package, files, "unguarded", (), tree, tests, Kept())
    names = {
        test.message_private.partition("\n")[0]
        for test in facts.tests
        if test.outcome is TestOutcome.UNKNOWN
    }
    passed: set[str] = set()
    ordered = sorted(names)
    for start in range(0, len(ordered), _IDS):
        expect = tuple(ordered[start : start + _IDS])
        facts = _graded(package, files, "unguarded", expect, tree, tests, Kept())
        passed |= {test.id for test in facts.tests if test.outcome is TestOutcome.PASSED}
    return passed


def _isolated(
    package: Package, files: tuple[str, ...], tree: Any, tests: Any
) -> list[dict[str, Any]]:
    kept = Kept()
    try:
        _graded(package, files, "isolated", (), tree, tests, kept)
    except GraderUnfit as error:
        print(f"{package.name}: {error}", file=sys.stderr)
    content = kept.content.get(ARTIFACT)
    return [] if content is None else json.loads(content)["tests"]


STUBS = {"raise": "raise RuntimeError('stub')", "return None": "return None"}


def _stubbed(source: str, body: str) -> str:
    """The module with every function's body replaced, docstrings kept."""
    module = ast.parse(source)
    for node in ast.walk(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            kept = node.body[:1] if ast.get_docstring(node) is not None else []
            node.body = [*kept, *ast.parse(f"def f():\n    {body}").body[0].body]
    return ast.unparse(module)


if __name__ == "__main__":
    for package in PACKAGES:
        if len(sys.argv) > 1 and package.name.partition("==")[0] not in sys.argv[1:]:
            continue
        suite = measured(package)
        print(
            suite.package,
            suite.passing,
            suite.identical,
            dict(suite.level),
            dict(suite.causes),
            {k: len(v) for k, v in suite.false_passes.items()},
        )
        for test, cause in suite.others.items():
            print("   ", cause, test)

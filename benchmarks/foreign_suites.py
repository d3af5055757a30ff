"""Test suites of other people's packages, in one process and isolated, in real jails.

    python benchmarks/foreign_suites.py [NAME ...]

Source distributions are fetched with pip into a temporary folder; nothing of them is kept. A test
that passes in mode `unguarded` should pass isolated as well. Then all functions of the package are
made to do nothing: a test that passes isolated there, and not in one process, is a false pass.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import Factory, define, evolve, frozen

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.grading import GRADERS, Kept, grade

from assay.api import Facts, GraderRole, GraderUnfit, Limits, TestOutcome
from assay_graders.isolation.features import DEFAULT_LEVEL, HIGHEST_LEVEL
from assay_graders.two_jails import ARTIFACT

__all__ = ["LEVELS", "PACKAGES", "Package", "Suite", "measured"]

LEVELS = (DEFAULT_LEVEL, HIGHEST_LEVEL)
"""What a task allows by default, and at most."""
LIMITS = Limits(wall=200.0, cpu=200)
STUB_LIMITS = Limits(wall=30.0, cpu=30)
"""Tests may wait for ever for what functions that do nothing never do."""
STUBS = {"raises": "raise RuntimeError('stub')", "returns None": "return None"}
_IDS = 2_000
"""Ids that are asked for at a time: the list of a grader is bounded."""

Tree = Mapping[str, str]


@frozen
class Package:
    """A distribution: what is imported, from which folder, and where its tests are.

    `inside`: the tests lie in the package.
    """

    name: str
    version: str
    source: str
    root: str
    tests: str
    grader: str
    inside: bool = False


PACKAGES = (
    Package("idna", "3.20", "idna", ".", "tests/test_*.py", "unittest"),
    Package("inflection", "0.5.1", "inflection", ".", "test_inflection.py", "pytest"),
    Package("isodate", "0.7.2", "isodate", "src", "tests/test_*.py", "pytest"),
    Package("num2words", "0.5.14", "num2words", ".", "tests/test_*.py", "unittest"),
    Package("ordered-set", "4.1.0", "ordered_set", ".", "test/test_*.py", "pytest"),
    Package("parse", "1.22.4", "parse", ".", "tests/test_*.py", "pytest"),
    Package("pathspec", "1.1.1", "pathspec", ".", "tests/test_*.py", "unittest"),
    Package("toolz", "1.2.0", "toolz", ".", "toolz/tests/test_*.py", "pytest", inside=True),
    Package("webcolors", "25.10.0", "webcolors", "src", "tests/test_*.py", "pytest"),
)


@define
class Suite:
    """Counts of one package. `identical` is by the highest level that a task allows."""

    package: Package
    passing: int = 0
    identical: Counter[int] = Factory(Counter)
    levels: Counter[int] = Factory(Counter)
    features: Counter[str] = Factory(Counter)
    causes: Counter[str] = Factory(Counter)
    left: dict[str, str] = Factory(dict)
    false_passes: list[str] = Factory(list)


def measured(package: Package) -> Suite:
    """Fetch one package and grade its tests, each file of pytest's by itself.

    pytest runs nothing when one of its files does not load.
    """
    suite = Suite(package)
    with tempfile.TemporaryDirectory(prefix="assay-foreign-") as scratch:
        root = _fetched(package, Path(scratch))
        tree, tests = _parts(package, root)
        files = tuple(sorted(f.relative_to(root).as_posix() for f in root.glob(package.tests)))
        for some in [(file,) for file in files] if package.grader == "pytest" else [files]:
            _measure(_Tests(package, some, tests), suite, tree)
    print(suite, file=sys.stderr, flush=True)
    return suite


def _fetched(package: Package, scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary"]
    command += [":all:", "--disable-pip-version-check", "--dest", str(scratch)]
    subprocess.run([*command, f"{package.name}=={package.version}"], check=True)
    (archive,) = scratch.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(scratch / "source", filter="data")
    (root,) = (scratch / "source").iterdir()
    return root


def _parts(package: Package, root: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The tree with the package, and the hidden files: everything else that is text."""
    place = package.source if package.root == "." else f"{package.root}/{package.source}"
    files = dict(_texts(root))
    tree = {path: text for path, text in files.items() if _is_at(path, place)}
    return tree, {path: text for path, text in files.items() if path not in tree}


def _is_at(path: str, place: str) -> bool:
    return path == f"{place}.py" or path.startswith(f"{place}/")


def _texts(root: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            try:
                yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def _measure(tests: _Tests, suite: Suite, tree: Tree) -> None:
    passing = tests.passing(tree)
    suite.passing += len(passing)
    for level in LEVELS:
        used = {test["id"]: test for test in tests.isolated(tree, level)}
        passed = {test for test in passing if used.get(test, {}).get("outcome") == "passed"}
        suite.identical[level] += len(passed)
        if level == DEFAULT_LEVEL:
            suite.levels.update(used[test]["level"] for test in passed)
            suite.features.update(name for test in passed for name in used[test]["features"])
            for test in sorted(passing - passed):
                found = used.get(test, {"codes": ["the file does not load"]})
                suite.left[test] = " ".join(found["codes"]) or "another result"
            suite.causes.update(suite.left[test] for test in passing - passed)
    for body in STUBS.values():
        stubs = {path: tests.stubbed(path, text, body) for path, text in tree.items()}
        tests = evolve(tests, limits=STUB_LIMITS)
        for level in LEVELS:
            there = {t["id"] for t in tests.isolated(stubs, level) if t["outcome"] == "passed"}
            suite.false_passes += sorted(there - tests.passing(stubs)) if there else []


@frozen
class _Tests:
    """Some test files of a package, and everything that lies around them."""

    package: Package
    files: tuple[str, ...]
    hidden: Tree
    limits: Limits = LIMITS

    def passing(self, tree: Tree) -> set[str]:
        """Ids that pass in one process: asked for none, the grader names all privately."""
        names = sorted(
            test.message_private.partition("\n")[0]
            for test in self._graded(tree, (), mode="unguarded").tests
            if test.outcome is TestOutcome.UNKNOWN
        )
        passed: set[str] = set()
        for start in range(0, len(names), _IDS):
            facts = self._graded(tree, tuple(names[start : start + _IDS]), mode="unguarded")
            passed |= {test.id for test in facts.tests if test.outcome is TestOutcome.PASSED}
        return passed

    def isolated(self, tree: Tree, level: int) -> list[dict[str, Any]]:
        """How each test fared isolated, and what it used."""
        kept = Kept()
        bounds = {"call_seconds": 10.0, "test_seconds": 20.0, "max_level": level}
        try:
            self._graded(tree, (), kept, mode="isolated", **bounds)
        except GraderUnfit as error:
            print(f"{self.package.name}: {error}", file=sys.stderr)
        content = kept.content.get(ARTIFACT)
        return [] if content is None else list(json.loads(content)["tests"])

    def stubbed(self, path: str, source: str, body: str) -> str:
        """A module in which no function does what it should; tests stay as they are."""
        if not path.endswith(".py") or Path(path).match("tests/*"):
            return source
        module = ast.parse(source)
        for node in ast.walk(module):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                node.body = ast.parse(body, mode="exec").body
        return ast.unparse(module)

    def _graded(
        self, tree: Tree, expect: tuple[str, ...], kept: Kept | None = None, **options: Any
    ) -> Facts:
        grader = GRADERS[self.package.grader]
        made = grader.Options(
            tests=self.files,
            expect=(*expect, *map(self._absent, self.files)),
            hidden=not self.package.inside,
            roots=(self.package.root,),
            **options,
        )
        return grade(
            grader,
            made,
            tree,
            hidden=None if self.package.inside else self.hidden,
            role=GraderRole.HIDDEN,
            limits=self.limits,
            artifacts=kept,
        )

    def _absent(self, file: str) -> str:
        """An id that no test has: each file needs one that is expected."""
        if self.package.grader == "pytest":
            return f"{file}::none"
        return file.removesuffix(".py").replace("/", ".") + ".None.none"


def main() -> None:
    """Print the counts of the packages that are named, or of all."""
    for package in PACKAGES:
        if len(sys.argv) < 2 or package.name in sys.argv[1:]:
            suite = measured(package)
            print(package.name, suite.passing, dict(suite.identical), suite.false_passes)
            for test, cause in suite.left.items():
                print(f"    {cause}: {test}")


if __name__ == "__main__":
    main()

"""Python tests in guarded runs; the program in the jail restores modules and orders tests."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from assay.api import Command, GradeContext, Mount
from assay_graders.bundle import program_bundle
from assay_graders.evident.canaries import Canaries, python_canaries
from assay_graders.evident.guarded_report import GuardedReport
from assay_graders.evident.judging import Shown, shown_by_order, shown_by_origins, shuffled
from assay_graders.evident.language import Language
from assay_graders.isolated import bytecode
from assay_graders.jailed import PYTHON_FLAGS, WORKSPACE, tool

__all__ = ["PytestLanguage", "UnittestLanguage"]

_MEASURED = ("isolated-interpreter", "checked-bytecode", "roots-last", "tests-apart", "sub-tests")


class PythonLanguage(Language):
    """What test files of every Python runner have in common."""

    suffixes: ClassVar[tuple[str, ...]] = (".py",)
    driver: ClassVar[str]

    def command(self, ctx: GradeContext, argument: str) -> Command:
        """An interpreter that believes neither its surroundings nor bytecode."""
        argv = (
            *(tool(ctx, "python"), *PYTHON_FLAGS, "--check-hash-based-pycs", "always"),
            *(*bytecode(ctx), f"/assay/{self.driver}.pyc", argument),
        )
        return Command(argv=tuple(part.encode("utf-8") for part in argv), cwd=WORKSPACE)

    def programs(self) -> tuple[Mount, ...]:
        """The driver."""
        return (program_bundle(self.driver, "guarded", "unittests"),)


class PytestLanguage(PythonLanguage):
    """Ids are pytest's own."""

    guards: ClassVar[tuple[str, ...]] = (
        *("no-conftest", "no-configuration", "no-plugins"),
        *_MEASURED,
    )
    is_placed: ClassVar[bool] = True
    mark: ClassVar[str] = "\0"
    """Nothing: sub-tests have no ids."""
    driver: ClassVar[str] = "pytest_driver"

    def shown(self, real: GuardedReport, pristine: GuardedReport, order: str) -> Shown:
        """Order and origins are reported."""
        here, there = (one.order == shuffled(one.collected, order) for one in (real, pristine))
        return shown_by_order(here, there) | shown_by_origins(real, pristine)

    def file_of(self, test: str) -> str:
        """What is before the first `::`."""
        return test.partition("::")[0]

    def stem(self, test: str) -> str:
        """Without brackets."""
        return test.partition("[")[0]

    def canaries(
        self, files: Mapping[str, bytes], tests: Sequence[str], seed: str, secret: random.Random
    ) -> Canaries:
        """Changes of functions and methods."""
        return python_canaries(files, tests, seed, secret)


class UnittestLanguage(PythonLanguage):
    """Ids are dotted; a sub-test's goes on after a space.

    `name_of` gives the file of an id, and class and method as `Class::method`; `with_parts` are
    tests whose sub-tests have ids of their own.
    """

    guards: ClassVar[tuple[str, ...]] = ("no-discovery", "own-load-tests", *_MEASURED)
    is_placed: ClassVar[bool] = False
    mark: ClassVar[str] = " "
    driver: ClassVar[str] = "unittest_driver"

    def __init__(
        self, name_of: Callable[[str], tuple[str, str]], with_parts: Sequence[str]
    ) -> None:
        self._name_of = name_of
        self._with_parts = list(with_parts)

    def settings(self) -> dict[str, object]:
        """Which sub-tests are expected."""
        return {"subtests": self._with_parts}

    def file_of(self, test: str) -> str:
        """The file whose module name the id starts with."""
        return self._name_of(test)[0]

    def stem(self, test: str) -> str:
        """The id itself."""
        return test

    def canaries(
        self, files: Mapping[str, bytes], tests: Sequence[str], seed: str, secret: random.Random
    ) -> Canaries:
        """Changes of methods."""
        names = {"::".join(self._name_of(test)): test for test in tests}
        found = python_canaries(files, tuple(names), seed, secret)
        return Canaries(files, {names[name]: change for name, change in found.changes.items()})

    def shown(self, real: GuardedReport, pristine: GuardedReport, order: str) -> Shown:
        """Order and origins are reported; classes stay together."""
        here, there = (self._in_order(one, order) for one in (real, pristine))
        return shown_by_order(here, there) | shown_by_origins(real, pristine)

    def _in_order(self, report: GuardedReport, order: str) -> bool:
        chance = random.Random(order)
        files: dict[str, dict[str, list[str]]] = {}
        for test in report.collected:
            classes = files.setdefault(self.file_of(test), {})
            classes.setdefault(test.rpartition(".")[0], []).append(test)
        expected: list[str] = []
        for classes in files.values():
            groups = list(classes.values())
            chance.shuffle(groups)
            for group in groups:
                chance.shuffle(group)
                expected += group
        return [test for test in report.order if test in set(report.collected)] == expected

"""Python tests in guarded runs; the program in the jail restores modules and orders tests."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import ClassVar

from assay.api import Command, GradeContext, Mount
from assay_graders.bundle import program_bundle
from assay_graders.evident.canaries import Canaries, python_canaries
from assay_graders.evident.guarded_report import GuardedReport
from assay_graders.evident.judging import Shown, shown_by_order, shown_by_origins, shuffled
from assay_graders.evident.language import Language
from assay_graders.isolated import bytecode
from assay_graders.jailed import WORKSPACE, tool

__all__ = ["PytestLanguage"]

_MEASURED = ("isolated-interpreter", "checked-bytecode", "roots-last", "tests-apart", "sub-tests")


class PythonLanguage(Language):
    """What test files of every Python runner have in common."""

    suffixes: ClassVar[tuple[str, ...]] = (".py",)
    is_placed: ClassVar[bool] = True
    driver: ClassVar[str]

    def command(self, ctx: GradeContext, argument: str) -> Command:
        """An interpreter that believes neither its surroundings nor bytecode."""
        argv = (
            *(tool(ctx, "python"), "-I", "-B", "--check-hash-based-pycs", "always"),
            *(*bytecode(ctx), f"/assay/{self.driver}.pyc", argument),
        )
        return Command(argv=tuple(part.encode("utf-8") for part in argv), cwd=WORKSPACE)

    def programs(self) -> tuple[Mount, ...]:
        """The driver."""
        return (program_bundle(self.driver, "guarded"),)

    def shown(self, real: GuardedReport, pristine: GuardedReport, order: str) -> Shown:
        """Both are reported."""
        here, there = (one.order == shuffled(one.collected, order) for one in (real, pristine))
        return shown_by_order(here, there) | shown_by_origins(real, pristine)


class PytestLanguage(PythonLanguage):
    """Ids are pytest's own."""

    guards: ClassVar[tuple[str, ...]] = (
        *("no-conftest", "no-configuration", "no-plugins"),
        *_MEASURED,
    )
    driver: ClassVar[str] = "pytest_driver"

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

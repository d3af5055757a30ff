"""Runs test cases with the fixtures of their modules and classes around them.

As unittest does it, but for what a failing fixture means: it is the outcome of each test that
rests on it. Whatever is raised, a process that wants to leave included, ends one test only.
"""

from __future__ import annotations

import functools
import inspect
import sys
import unittest
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from itertools import groupby
from typing import Any

from .loading import LoadedTest
from .outcomes import Outcomes, Ran, told

__all__ = ["TestRun"]

_UNFINISHED = (inspect.isawaitable, inspect.isgenerator, inspect.isasyncgen)


class TestRun:
    """`around(function, is_fixture)` encloses each test and each fixture of a class or module,
    and gives what is to be noted of it.

    `subtests` are the ids of tests whose sub-tests are results of their own.
    """

    def __init__(
        self, around: Callable[[Any, bool], AbstractContextManager[Any]], subtests: Iterable[str]
    ) -> None:
        self.ran: list[Ran] = []
        self._around = around
        self._subtests = frozenset(subtests)

    def run(self, tests: list[LoadedTest]) -> None:
        """Run the tests of one file in their order."""
        pairs = [(test, Ran(test.id)) for test in tests]
        for module, group in groupby(pairs, key=lambda pair: type(pair[0].case).__module__):
            self._module(module, list(group))

    def _module(self, name: str, pairs: list[tuple[LoadedTest, Ran]]) -> None:
        records = [ran for _, ran in pairs]
        self.ran += records
        module = sys.modules.get(name)
        if self._fixture(records, getattr(module, "setUpModule", None)):
            for kind, group in groupby(pairs, key=lambda pair: type(pair[0].case)):
                self._class(kind, list(group))
            self._fixture(records, getattr(module, "tearDownModule", None))
        self._fixture(records, unittest.doModuleCleanups)

    def _class(self, kind: type[unittest.TestCase], pairs: list[tuple[LoadedTest, Ran]]) -> None:
        records = [ran for _, ran in pairs]
        has_fixtures = not getattr(kind, "__unittest_skip__", False)
        if not has_fixtures or self._fixture(records, kind.setUpClass):
            for test, ran in pairs:
                self._test(test, ran)
            if has_fixtures:
                self._fixture(records, kind.tearDownClass)
        if has_fixtures:
            self._fixture(records, lambda: _clean_up(kind))

    def _fixture(self, records: list[Ran], function: Callable[[], Any] | None) -> bool:
        """Whether it went well; if not, no test that rests on it passes."""
        if function is None:
            return True
        notes, failure = self._enclosed(function)
        for ran in records:
            ran.notes += notes
            if failure is not None:
                ran.saw(*failure)
        return failure is None

    def _test(self, test: LoadedTest, ran: Ran) -> None:
        own: list[Ran] = []

        def sub(test_id: str) -> Ran:
            own.append(Ran(test_id))
            return own[-1]

        def run() -> None:
            method = getattr(test.case, test.name)
            if not _is_awaited(test.case, method):
                setattr(test.case, test.name, _must_run(method))
            test.case(Outcomes(ran, test.case, sub if ran.id in self._subtests else None))

        notes, failure = self._enclosed(run, getattr(test.case, test.name))
        if failure is not None:
            ran.saw(*failure)
        for each in (ran, *own):
            each.notes += notes
        self.ran += own

    def _enclosed(
        self, function: Callable[[], Any], method: Any = None
    ) -> tuple[list[Any], tuple[str, str] | None]:
        notes: list[Any] = []
        try:
            with self._around(method or function, method is None) as noted:
                notes.append(noted)
                function()
        except unittest.SkipTest:
            return notes, ("skipped", "")
        except BaseException as error:
            return notes, ("error", told(error))
        return notes, None


def _clean_up(kind: Any) -> None:
    """Clean up after a class; raises the first of what its clean-ups raised."""
    kind.doClassCleanups()
    for raised in kind.tearDown_exceptions:
        raise raised[1]


def _must_run(method: Callable[[], Any]) -> Callable[[], Any]:
    """The method, unless what it returns shows that its body has not run: then an error."""

    @functools.wraps(method)
    def called() -> None:
        value = method()
        if any(is_of(value) for is_of in _UNFINISHED):
            raise TypeError("the body of a coroutine or generator is not run by this class")

    return called


def _is_awaited(case: unittest.TestCase, method: Callable[[], Any]) -> bool:
    # The attribute of unittest would import asyncio, which takes longer than most tests.
    module = sys.modules.get("unittest.async_case")
    is_async = module is not None and isinstance(case, module.IsolatedAsyncioTestCase)
    return is_async and inspect.iscoroutinefunction(method)

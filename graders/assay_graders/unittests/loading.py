"""Test cases of exactly the given files, found by their place and by no search.

A file is the module that its path spells, `tests/test_a.py` is `tests.test_a`, and its folders
are packages, so relative imports work. It is always read from that file, whatever code under
test has put under its name.
"""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import types
import unittest
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["LoadedTest", "TestFiles"]

_NAMED_BY_THEMSELVES = frozenset({"doctest", "unittest.case", "unittest.loader"})
"""Modules whose classes say nothing of the tests that they run."""
_NO_TESTS = (unittest.TestCase, unittest.FunctionTestCase)


class LoadedTest:
    """One test method: its id, and the object that runs it."""

    def __init__(self, test_id: str, name: str, case: unittest.TestCase) -> None:
        self.id = test_id
        self.name = name
        self.case = case


class TestFiles:
    """Loads the files `tests` below the folder `base`; a finder of their packages too."""

    def __init__(self, base: str, tests: Sequence[str]) -> None:
        self.files = {_dotted(os.path.relpath(test, base)): test for test in tests}
        self._folders: dict[str, str] = {}
        for name, place in self.files.items():
            while "." in name:
                name, place = name.rpartition(".")[0], os.path.dirname(place)
                self._folders[name] = place

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec for a test file or a folder of one, None for any other name."""
        if name in self.files:
            return importlib.util.spec_from_file_location(name, self.files[name])
        folder = self._folders.get(name)
        if folder is None:
            return None
        start = os.path.join(folder, "__init__.py")
        if os.path.isfile(start):
            return importlib.util.spec_from_file_location(
                name, start, submodule_search_locations=[folder]
            )
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [folder]
        return spec

    def load(self, name: str) -> list[LoadedTest]:
        """The tests of one file; raises what its import raises, or UnsupportedFile."""
        parent = name.rpartition(".")[0]
        if parent:
            importlib.import_module(parent)
        reader = importlib.machinery.SourceFileLoader(name, self.files[name])
        has_protocol = _defines_load_tests(reader.get_data(reader.path))
        module = _imported(reader)
        loader = unittest.TestLoader()
        tests: Any = [loader.loadTestsFromTestCase(kind) for kind in _classes(module)]
        planned = vars(module).get("load_tests")
        if planned is not None:
            if not has_protocol or not _is_from(planned, reader.path):
                raise UnsupportedFile("load_tests is not this file's own function")
            tests = planned(loader, unittest.TestSuite(tests), None)
        return [_loaded(name, case) for case in _flat(tests)]


class UnsupportedFile(Exception):
    """A test file asks for what this runner does not do."""


def _imported(reader: importlib.machinery.SourceFileLoader) -> types.ModuleType:
    """The module, always from its file: code under test may have put one under its name."""
    spec = importlib.machinery.ModuleSpec(reader.name, reader, origin=reader.path)
    spec.has_location = True
    module = importlib.util.module_from_spec(spec)
    sys.modules[reader.name] = module
    reader.exec_module(module)
    return module


def _defines_load_tests(source: bytes) -> bool:
    """Whether a file itself has the function: code that it imports may put one there."""
    return any(
        isinstance(part, ast.FunctionDef) and part.name == "load_tests"
        for part in ast.parse(source).body
    )


def _is_from(function: Any, file: str) -> bool:
    return isinstance(function, types.FunctionType) and function.__code__.co_filename == file


def _flat(tests: Any) -> Iterator[unittest.TestCase]:
    if isinstance(tests, unittest.TestCase):
        yield tests
    else:
        for part in tests:
            yield from _flat(part)


def _loaded(module: str, case: unittest.TestCase) -> LoadedTest:
    kind, method = type(case), case._testMethodName
    own = f"{kind.__qualname__}.{method}"
    if kind.__module__ in _NAMED_BY_THEMSELVES:
        own = case.id()
    return LoadedTest(f"{module}.{own}", method, case)


def _dotted(path: str) -> str:
    return path.removesuffix(".py").replace(os.sep, ".")


def _classes(module: types.ModuleType) -> Iterator[type[unittest.TestCase]]:
    """Each test case that a name of the module leads to, once, in the order of the names."""
    seen: set[type] = set()
    for _, value in sorted(vars(module).items()):
        if not isinstance(value, type) or not issubclass(value, unittest.TestCase):
            continue
        if value not in _NO_TESTS and value not in seen:
            seen.add(value)
            yield value

"""Must-fail canaries: the test files again, with assertions changed so that they must fail.

A changed test has the id, the place and nearly the text of the real one. Each test is changed
in one of two runs; which tests in which run, and to which values, is a secret of that run.
"""

from __future__ import annotations

import ast
import hashlib
import random
from collections.abc import Mapping, Sequence

from attrs import frozen

from assay_graders.evident.assertions import failing, functions_of
from assay_graders.evident.literals import Source, Splice

__all__ = ["Canaries", "python_canaries", "split_in_two"]


@frozen
class Canaries:
    """What can be changed: per test, as its id without parameters, the file and replacements."""

    files: Mapping[str, bytes]
    changes: Mapping[str, tuple[str, tuple[Splice, ...]]]

    def covers(self, test: str, mark: str) -> bool:
        """Whether this test, or the one that it is a part of, can be changed.

        `mark` is what follows the id of a test in those of its parts.
        """
        return any(test == other or test.startswith(f"{other}{mark}") for other in self.changes)

    def changed(self, tests: Sequence[str]) -> dict[str, bytes]:
        """All files, in which exactly these tests must fail."""
        splices: dict[str, list[Splice]] = {file: [] for file in self.files}
        for test in tests:
            file, of_test = self.changes[test]
            splices[file].extend(of_test)
        return {file: Source(self.files[file]).spliced(splices[file]) for file in self.files}


def python_canaries(
    files: Mapping[str, bytes], tests: Sequence[str], seed: str, secret: random.Random
) -> Canaries:
    """Changes for those tests (`FILE::CLASS::NAME`) that the files define.

    The changed assertion is drawn from the seed and the test's file, so that a repeated
    grading asks the same; its new value is secret.
    """
    changes: dict[str, tuple[str, tuple[Splice, ...]]] = {}
    for file, content in files.items():
        try:
            functions = functions_of(ast.parse(content))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        source = Source(content)
        digest = hashlib.sha256(content).hexdigest()
        for test in tests:
            of, *names = test.split("::")
            function = functions.get(tuple(names))
            if of == file and function is not None:
                which = random.Random(f"{seed}:{digest}:{test}")
                changes[test] = file, tuple(failing(source, function, which, secret))
    return Canaries(files, changes)


def split_in_two(tests: Sequence[str], secret: random.Random) -> tuple[tuple[str, ...], ...]:
    """The tests in two groups that only this run knows; one group if there is but one test."""
    if len(tests) < 2:
        return (tuple(tests),) if tests else ()
    while True:
        is_first = [secret.random() < 0.5 for _ in tests]
        if any(is_first) and not all(is_first):
            break
    first = tuple(test for test, chosen in zip(tests, is_first, strict=True) if chosen)
    return first, tuple(test for test in tests if test not in set(first))

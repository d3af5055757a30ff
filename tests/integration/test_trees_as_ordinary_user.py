"""Trees without privileges: modes bind an ordinary user, and the outcome must be the same."""

from __future__ import annotations

import os

import pytest
from support.users import as_ordinary_user, system_python_problem

TESTS = ("files", "hasher", "copier", "store", "fixtures", "tree_vectors")
NEEDS_MOUNT = "not full_disk and not do_not_fit and not mounted"


@pytest.mark.skipif(os.geteuid() != 0, reason="this is an ordinary user already")
def test_trees_as_an_ordinary_user() -> None:
    problem = system_python_problem()
    if problem and "CI" not in os.environ:
        pytest.skip(problem)
    assert not problem
    paths = [f"tests/unit/test_{name}.py" for name in TESTS]
    finished = as_ordinary_user("-m", "pytest", "-q", "-rs", "-k", NEEDS_MOUNT, *paths)
    assert finished.code == 0, finished.output

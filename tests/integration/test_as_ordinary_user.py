"""The other half: all integration tests again, as a user without privileges."""

from __future__ import annotations

import os

import pytest
from support.users import as_ordinary_user, system_python_problem


@pytest.mark.skipif(os.geteuid() != 0, reason="this is an ordinary user already")
def test_integration_as_an_ordinary_user() -> None:
    problem = system_python_problem()
    if problem and "CI" not in os.environ:
        pytest.skip(problem)
    assert not problem
    finished = as_ordinary_user("-m", "pytest", "-q", "-rs", "tests/integration")
    assert finished.code == 0, finished.output

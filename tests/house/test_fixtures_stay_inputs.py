"""Shipped suites are inputs: our own pytest, ruff and mypy never collect or run them.

A copy of the project's configuration gets a hostile fixture that would leave a mark if any of
its files were imported. Each check has a control that shows that the plant works.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.repository import ROOT

_LEAVE_A_MARK = """\
import os, pathlib
pathlib.Path(os.environ["ASSAY_TEST_MARK"]).write_text(__name__)
"""
_HOSTILE_TEST = (
    _LEAVE_A_MARK
    + """
def test_hostile(): assert undefined_name == 1
x: int = "not a number"
"""
)
_PACKAGES = (
    "core/assay",
    "sandbox/assay_sandbox",
    "graders/assay_graders",
    "plugins/assay-blake3/src/assay_blake3",
)
_PLACES = ("fixtures", "fixtures/delivery-eval/evil/fixture/tests", "tests/fixtures/evil")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project's configuration with one good test, tiny packages, and the plant."""
    root = tmp_path / "project"
    for package in _PACKAGES:
        (root / package).mkdir(parents=True)
        (root / package / "__init__.py").write_text('"""A package."""\n')
    shutil.copy(ROOT / "pyproject.toml", root)
    (root / "README.md").write_text("readme\n")
    (root / "tests").mkdir()
    (root / "tests" / "test_good.py").write_text("def test_good() -> None:\n    assert True\n")
    for place in _PLACES:
        (root / place).mkdir(parents=True, exist_ok=True)
        (root / place / "conftest.py").write_text(_LEAVE_A_MARK)
        (root / place / "test_hostile.py").write_text(_HOSTILE_TEST)
        (root / place / "sitecustomize.py").write_text(_LEAVE_A_MARK)
        (root / place / "ruff.toml").write_text("not toml at all [")
        (root / place / "mypy.ini").write_text("[mypy]\nplugins = test_hostile.py\n")
    return root


def _run(project: Path, *command: str) -> tuple[int, str]:
    kept = {"PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV"}
    env = {name: value for name, value in os.environ.items() if name in kept}
    env |= {"ASSAY_TEST_MARK": str(_mark(project)), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=project, env=env, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


def _mark(project: Path) -> Path:
    return project.parent / "mark"


@pytest.mark.parametrize("arguments", [(), (".",), ("tests",)], ids=["bare", "root", "tests"])
def test_pytest_collects_nothing_of_them(project: Path, arguments: tuple[str, ...]) -> None:
    code, output = _run(project, "pytest", "--collect-only", "-q", *arguments)
    assert code == 0, output
    assert "tests/test_good.py::test_good" in output
    assert "hostile" not in output
    assert not _mark(project).exists()


def test_pytest_runs_nothing_of_them(project: Path) -> None:
    code, output = _run(project, "pytest", "-q")
    assert code == 0, output
    assert "1 passed" in output
    assert not _mark(project).exists()


def test_without_our_configuration_pytest_would_run_them(project: Path) -> None:
    _run(project, "pytest", "-c", os.devnull, "--rootdir=.", "--collect-only", "fixtures")
    assert _mark(project).exists()


def test_ruff_reads_nothing_of_them(project: Path) -> None:
    assert _run(project, "ruff", "check", "--no-cache", ".")[0] == 0
    assert _run(project, "ruff", "format", "--no-cache", "--check", ".")[0] == 0


def test_without_our_configuration_ruff_would_read_them(project: Path) -> None:
    code, output = _run(project, "ruff", "check", "--no-cache", "--isolated", "fixtures")
    assert code == 1
    assert "undefined_name" in output


def test_mypy_reads_nothing_of_them(project: Path) -> None:
    code, output = _run(project, "mypy", f"--cache-dir={os.devnull}")
    assert code == 0, output
    assert f"in {len(_PACKAGES)} source files" in output
    assert not _mark(project).exists()

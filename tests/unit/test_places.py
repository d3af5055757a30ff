"""Nothing is ever written below a task's folder, by whatever name the place is given."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cli import assay
from support.tiny import make_suite


def _content(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize(
    "place", ["add/fixture", "add/fixture/src", "add/hidden", "add/candidates", "add"]
)
@pytest.mark.parametrize("through", ["plain", "link", "dots"])
def test_a_run_folder_below_a_task_is_refused(tmp_path: Path, place: str, through: str) -> None:
    suite = make_suite(tmp_path / "suite")
    (suite / "add" / "candidates").mkdir(exist_ok=True)
    before = _content(tmp_path)
    parent = suite / place
    if through == "link":
        (tmp_path / "link").symlink_to(parent)
        before = _content(tmp_path)
        parent = tmp_path / "link"
    if through == "dots":
        parent = suite / "add" / ".." / place
    ran = assay("run", suite, "--output", parent / "run")
    assert (ran.code, ran.err) == (
        2,
        "assay: the run folder (--output) is inside the folder of task add; choose another\n",
    )
    assert _content(tmp_path) == before


@pytest.mark.parametrize("variable", ["TMPDIR", "ASSAY_STORE"])
def test_no_store_and_no_workspace_is_made_below_a_task(tmp_path: Path, variable: str) -> None:
    suite = make_suite(tmp_path / "suite")
    before = _content(tmp_path)
    place = str(suite / "add" / "fixture")
    ran = assay("run", suite, "--output", tmp_path / "run", env={variable: place})
    assert ran.code == 2
    assert f"({variable}) is inside the folder of task add" in ran.err
    assert _content(tmp_path) == before


def test_the_default_run_folder_is_refused_too(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite")
    before = _content(tmp_path)
    assert assay("run", suite, cwd=suite / "add" / "fixture").code == 2
    assert _content(tmp_path) == before


@pytest.mark.parametrize("name", ["st\x1bore", "st\nore"])
def test_a_store_that_no_jail_could_mount_is_unavailable(tmp_path: Path, name: str) -> None:
    suite = make_suite(tmp_path / "suite")
    ran = assay(
        "run", suite, "--output", tmp_path / "run", env={"ASSAY_STORE": str(tmp_path / name)}
    )
    assert ran.code == 4
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "run").exists()

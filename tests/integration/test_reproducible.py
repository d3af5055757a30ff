"""The same inputs give the same canonical bytes, however and by whom they are graded."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from support.cli import assay
from support.distributions import install
from support.tiny import FIXED, add_candidate, add_task, make_suite

WRONG = "def add(a, b):\n    return 5\n"


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_suite(tmp_path_factory.mktemp("reproducible") / "suite")
    add_candidate(
        root / "add",
        "wrong",
        {"src/calc.py": WRONG},
        expect={"verdict": "rejected", "required": ["hidden-tests-failed"]},
    )
    gold = {"src/calc.py": FIXED}
    add_candidate(add_task(root, "sum"), "gold", gold, expect={"verdict": "accepted"})
    assert assay("lock", root).code == 0
    return root


@pytest.fixture(scope="module")
def reference(suite: Path) -> tuple[bytes, str]:
    return _report(suite, suite.parent / "reference")


def _report(
    suite: Path, folder: Path, *arguments: str, env: dict[str, str] | None = None
) -> tuple[bytes, str]:
    done = assay("run", suite, "--output", folder, *arguments, env=env)
    assert done.code == 0, done.err
    digest = next(line for line in done.out.splitlines() if line.startswith("results sha256:"))
    return (folder / "report.json").read_bytes(), digest


@pytest.mark.parametrize(
    ("arguments", "env"),
    [
        (["-j", "1"], {}),
        (["-j", "4"], {"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7"}),
        (["--display", "none"], {"LC_ALL": "C", "LANG": "tr_TR.UTF-8", "PYTHONHASHSEED": "1"}),
    ],
)
def test_workers_zone_locale_and_hash_seed_do_not_matter(
    suite: Path,
    reference: tuple[bytes, str],
    tmp_path: Path,
    arguments: list[str],
    env: dict[str, str],
) -> None:
    assert _report(suite, tmp_path / "run", *arguments, env=env) == reference


@pytest.mark.parametrize("mask", [0o077, 0o002])
def test_the_umask_does_not_matter(
    suite: Path, reference: tuple[bytes, str], tmp_path: Path, mask: int
) -> None:
    before = os.umask(mask)
    try:
        assert _report(suite, tmp_path / "run") == reference
    finally:
        os.umask(before)


def test_place_and_order_of_creation_do_not_matter(
    suite: Path, reference: tuple[bytes, str], tmp_path: Path
) -> None:
    moved = tmp_path / "elsewhere"
    files = sorted((path for path in suite.rglob("*") if path.is_file()), reverse=True)
    for path in files:
        target = moved / path.relative_to(suite)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        os.utime(target, (1, 1))
    assert _report(moved, tmp_path / "run") == reference


def test_other_plugins_and_their_order_do_not_matter(
    suite: Path, reference: tuple[bytes, str], tmp_path: Path
) -> None:
    site = tmp_path / "site"
    install(
        site,
        "other-graders",
        {"assay.graders": {"aaa-first": "no_such_module:Nothing"}},
    )
    assert _report(suite, tmp_path / "run", env={"PYTHONPATH": str(site)}) == reference


def test_one_more_failing_test_changes_the_results(
    suite: Path, reference: tuple[bytes, str], tmp_path: Path
) -> None:
    moved = tmp_path / "suite"
    shutil.copytree(suite, moved)
    worse = moved / "add" / "candidates" / "wrong" / "files" / "src" / "calc.py"
    worse.write_text("def add(a, b):\n    return 6\n")
    done = assay("run", moved, "--output", tmp_path / "run")
    assert done.code == 3, done.err
    changed = json.loads((tmp_path / "run" / "report.json").read_bytes())
    assert changed["summary"]["unexpected"] == 1
    assert f"{reference[1]}" not in done.out

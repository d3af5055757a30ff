"""An installer that links files from its cache gives the same results as any other."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from support.cli import assay
from support.repository import ROOT

SUITE, NAME = "delivery-eval", "linked-eval"
"""The name is one that only the made installation has."""


def test_a_shipped_suite_of_linked_files_is_graded(tmp_path: Path) -> None:
    site, temporary = tmp_path / "site", tmp_path / "temporary"
    temporary.mkdir()
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "core" / "assay", site / "assay", ignore=ignored)
    shutil.copytree(ROOT / "fixtures" / SUITE, tmp_path / "cache", ignore=ignored)
    shutil.copytree(tmp_path / "cache", site / "assay/_fixtures" / NAME, copy_function=os.link)
    done = assay(
        *("run", f"builtin:{NAME}", "--task", "slug-normalizer", "--limit", 2, "-j", 2),
        *("--output", tmp_path / "run", "--json"),
        env={"PYTHONPATH": str(site), "TMPDIR": str(temporary)},
    )
    assert done.code == 0, done.err
    assert json.loads(done.out)["summary"]["verdicts"] == {"accepted": 1, "rejected": 1}
    assert list(temporary.iterdir()) == []

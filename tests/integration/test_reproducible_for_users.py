"""Root and an ordinary user, each with an interpreter of their own, get equal results."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.cli import assay
from support.users import as_ordinary_user, system_python_problem

REPORT = """
import json, pathlib, subprocess, sys, tempfile
folder = pathlib.Path(tempfile.mkdtemp()) / "run"
done = subprocess.run(
    [sys.executable, "-m", "assay.cli", "run", "builtin:delivery-eval", "--task", "retry-delay",
     "--output", folder, "--display", "none"], capture_output=True)
report = json.loads((folder / "report.json").read_bytes())
print(json.dumps({"code": done.returncode, "report": report}))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_root_and_an_ordinary_user_get_equal_results(tmp_path: Path) -> None:
    problem = system_python_problem()
    if problem and "CI" not in os.environ:
        pytest.skip(problem)
    assert not problem
    ours = assay(
        "run", "builtin:delivery-eval", "--task", "retry-delay", "--output", tmp_path / "run"
    )
    assert ours.code == 0, ours.err
    finished = as_ordinary_user("-c", REPORT)
    assert finished.code == 0, finished.output
    theirs = json.loads(finished.output)
    assert theirs["code"] == 0
    report = json.loads((tmp_path / "run" / "report.json").read_bytes())
    assert report.pop("identity") != theirs["report"].pop("identity")
    assert report == theirs["report"]

"""A run without room for workspaces: not graded, which is no failure, and nothing is left."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from support.cli import assay
from support.tiny import FIXED, add_candidate, make_suite
from support.trees import small_disk

SMALL = "size=4m,nr_inodes=40,mode=1777"


def test_a_tree_that_does_not_fit_is_invalid_and_in_no_rate(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite")
    for name in ("gold", "other"):
        add_candidate(suite / "add", name, {"src/calc.py": FIXED})
    (suite / "add/fixture/big").write_bytes(b"x" * 5 * 1024**2)
    report = run_on_a_small_disk(suite, tmp_path)
    assert report["summary"]["verdicts"] == {"invalid": 2}
    assert report["summary"]["reasons"] == {"no-space": 2}
    for row in report["summary"]["candidates"]:
        assert (row["trials"], row["invalid"]) == (0, 1)
    assert "takes" in records(tmp_path)[0]["error"]


def test_inodes_run_out_in_the_middle(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite")
    add_candidate(suite / "add", "gold", {"src/calc.py": FIXED})
    for number in range(36):
        (suite / f"add/fixture/{number}").mkdir()
    report = run_on_a_small_disk(suite, tmp_path)
    assert report["summary"]["reasons"] == {"no-space": 1}
    assert {record["retryable"] for record in records(tmp_path)} == {True}


def run_on_a_small_disk(suite: Path, tmp_path: Path) -> dict[str, object]:
    """The report; the run ends with 3 and leaves nothing on the disk."""
    with tempfile.TemporaryDirectory(prefix="assay-test-") as folder:
        Path(folder).chmod(0o711)
        with small_disk(Path(folder) / "disk", SMALL) as disk:
            done = assay("run", suite, "--output", tmp_path / "run", env={"TMPDIR": str(disk)})
            assert done.code == 3, done.out
            assert os.listdir(disk) == []
    told = json.loads((tmp_path / "run/run.json").read_bytes())
    assert told["workspaces_on"] == "tmpfs"
    assert told["leaks"] == []
    assert told["folders"]["created"] == told["folders"]["removed"]
    report: dict[str, object] = json.loads((tmp_path / "run/report.json").read_bytes())
    return report


def records(tmp_path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (tmp_path / "run/trials.jsonl").read_bytes().splitlines()]

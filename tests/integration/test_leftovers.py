"""What a killed run leaves is what `assay clean` removes, and nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cli import assay
from support.leftovers import left_by_a_killed_process
from support.processes import Watched, processes_of_session
from support.tiny import BROKEN, FIXED, add_candidate, make_suite
from support.trees import HASHER

from assay import load_benchmark_task
from assay.tree import tree_ref

SLOW = "import time\n\n\ndef add(a, b):\n    time.sleep(50)\n    return a + b\n"


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A temporary folder of its own that the jails' user can get into."""
    folder = Path(tempfile.mkdtemp(prefix="assay-test-"))
    folder.chmod(0o711)
    yield folder
    folder.rmdir()


def test_a_run_killed_in_the_middle_leaves_only_what_clean_removes(
    tmp_path: Path, temporary: Path
) -> None:
    suite = make_suite(tmp_path / "suite", limits={"wall": 60})
    source = tree_ref(load_benchmark_task(suite, "add").fixture, HASHER)
    for name in ("one", "two"):
        add_candidate(suite / "add", name, {"src/calc.py": SLOW})
    env = {"TMPDIR": str(temporary)}
    process = subprocess.Popen(
        [sys.executable, "-m", "assay.cli", "run", suite, "-j", "2", "--output", tmp_path / "run"],
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    seen: set[Path] = set()
    while process.poll() is None and len(seen) < 3:
        seen |= set(temporary.glob("assay-run-*/assay-ws-*"))
    # The run is dead, its workers are not: what they use stays.
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    workers = Watched(processes_of_session(process.pid))
    (run,) = temporary.glob("assay-run-*")
    assert fate(run.name, env) == "in-use"
    assert len(list(temporary.glob("assay-run-*/assay-ws-*/tree/src/calc.py"))) >= 1
    for pid in processes_of_session(process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert workers.all_ended()
    assert fate(run.name, env, "--dry-run") == "removable"
    assert run.exists()
    assert fate(run.name, env) == "removed"
    assert list(temporary.iterdir()) == []
    assert tree_ref(load_benchmark_task(suite, "add").fixture, HASHER) == source


def fate(name: str, env: dict[str, str], *options: str) -> str:
    """What `assay clean` says of one folder."""
    told = json.loads(assay("clean", "--json", *options, env=env).out)
    assert told["exit_code"] == 0
    (found,) = [item["fate"] for item in told["folders"] if item["name"] == name]
    return str(found)


def test_a_run_removes_what_an_earlier_one_left_and_counts(tmp_path: Path, temporary: Path) -> None:
    suite = make_suite(tmp_path / "suite")
    add_candidate(suite / "add", "gold", {"src/calc.py": FIXED})
    add_candidate(suite / "add", "same", {"src/calc.py": BROKEN})
    left_by_a_killed_process("run", temporary)
    (temporary / "assay-run-someones").mkdir()
    (temporary / "assay-run-someones/precious").write_text("kept")
    done = assay(
        "run", suite, "--output", tmp_path / "run", "-j", "1", env={"TMPDIR": str(temporary)}
    )
    assert done.code in (0, 1), done.err
    told = json.loads((tmp_path / "run/run.json").read_bytes())
    made = told["folders"]["created"]
    assert told["folders"]["removed"] == made >= 4
    # Other places are looked at too, and may have held something of others.
    assert told["folders"]["reaped"] >= 1
    assert told["leaks"] == []
    assert (temporary / "assay-run-someones/precious").read_text() == "kept"
    assert os.listdir(temporary) == ["assay-run-someones"]
    (temporary / "assay-run-someones/precious").unlink()
    (temporary / "assay-run-someones").rmdir()

"""Caches of a suite: pinned, read-only content; and nothing else than what was planned is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.cli import assay
from support.jail import sandbox, store
from support.tiny import FIXED, add_candidate, make_suite, write_tree

from assay.api import Reason, RevisionMismatch, TreeRefused
from assay.builtin.copier import CopyCopier
from assay.builtin.hasher import TreeHasher
from assay.host import Components, WorkerFactory
from assay.locking import lock_suite
from assay.plan import Plan, load_tasks, make_plan
from assay.plugins import Registry
from assay.suites import open_suite


def planned(suite: Path) -> Plan:
    """The plan of a run."""
    components = Components(Registry(), TreeHasher(), CopyCopier(), sandbox(), store())
    opened = open_suite(str(suite))
    return make_plan(opened, load_tasks(opened), components)


CACHE_CHECK = """
import errno, os, sys
for name, text in (("shared", "of the suite"), ("own", "of the task")):
    place = "/caches/" + name
    assert open(place + "/package").read() == text
    for attack in (
        lambda: os.unlink(place + "/package"), lambda: open(place + "/new", "x"),
        lambda: os.mkdir(place + "/new"), lambda: os.chmod(place + "/package", 0o777),
        lambda: os.rename(place + "/package", place + "/moved"),
    ):
        try:
            attack()
        except OSError as error:
            assert error.errno == errno.EROFS, error
        else:
            raise AssertionError("written")
    assert not os.access(place + "/package", os.W_OK)
sys.path.insert(0, "/workspace/src")
import calc
assert calc.add(2, 3) == 5
"""


def test_caches_are_content_that_nobody_can_change(tmp_path: Path) -> None:
    argv = ["python", "-B", "/hidden/check.py"]
    suite = make_suite(
        tmp_path / "suite",
        caches=["shared", "own"],
        graders=[
            {
                "id": "hidden",
                "use": "command",
                "role": "hidden",
                "options": {"argv": argv, "hidden": True},
            }
        ],
    )
    write_tree(suite / "add" / "hidden", {"check.py": CACHE_CHECK})
    write_tree(suite / "caches", {"shared/package": "of the suite", "own/package": "hidden below"})
    write_tree(suite / "add" / "caches", {"own/package": "of the task"})
    add_candidate(suite / "add", "gold", {"src/calc.py": FIXED}, expect={"verdict": "accepted"})
    lock_suite(suite)
    pins = json.loads((suite / "suite.json").read_bytes())["tasks"]["add"]
    assert sorted(pins["trees"]) == ["caches/own", "caches/shared"]
    run = tmp_path / "run"
    done = assay("run", suite, "--output", run)
    assert done.code == 0, done.out + done.err
    report = json.loads((run / "report.json").read_bytes())
    found = report["identity"]["environment"]["extra"]["runtimes"]["add"]["trees"]
    assert found == pins["trees"]
    assert lock_suite(suite, check=True).drift == ()
    (suite / "caches" / "shared" / "package").write_text("another")
    drift = lock_suite(suite, check=True).drift
    assert any(line.startswith("task add: trees.caches/shared: pinned sha256:") for line in drift)
    with pytest.raises(RevisionMismatch, match="task add: trees, task differs"):
        planned(suite)
    write_tree(suite / "caches", {"shared/node_modules/x": "dropped without a word"})
    with pytest.raises(TreeRefused, match="caches/shared/node_modules: an entry that the tree con"):
        lock_suite(suite, check=True)


@pytest.mark.parametrize("changed", ["add/hidden/test_hidden.py", "caches/shared/package"])
def test_what_changes_after_the_plan_is_not_graded(changed: str, tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite", caches=["shared"])
    write_tree(suite / "caches", {"shared/package": "as planned"})
    add_candidate(suite / "add", "gold", {"src/calc.py": FIXED})
    plan = planned(suite)
    (suite / changed).write_text("something else")
    factory = WorkerFactory(
        tasks=plan.tasks,
        candidates=plan.candidates,
        runtimes=plan.runtimes,
        scratch=str(tmp_path),
        artifacts=tmp_path / "artifacts",
        hasher="assay-tree-v1",
        copier="copy",
        sandbox="nsjail",
    )
    record = factory()(plan.specs[0])
    assert record.verdict.reasons == (Reason.REVISION_MISMATCH,)
    assert record.error == "task add: changed after the run was planned"

"""A large fixture whose change no witness can see: found at the end, and nothing stands."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cli import assay
from support.tiny import FIXED, add_candidate, make_suite, task_manifest, write_json, write_tree
from support.trees import IN_MEMORY

from assay.ledger import open_run

GRADER = """
import mmap, os
from attrs import frozen
import assay.witness
from assay.api import Facts, GraderNeeds, TestOutcome, TestResult, Trust
# The fixture of this test was made just now.
assay.witness._SETTLED_NS = -10**15
@frozen
class Options:
    pass
class Mapped:
    api, name, version, Options, max_trust = '1.0', 'mapped', '1', Options, Trust.UNGUARDED
    mapped = None
    def check(self, options, task):
        return ()
    def needs(self, options, task):
        return GraderNeeds()
    def grade(self, ctx):
        # Read, then written: on tmpfs no time of the file changes.
        if Mapped.mapped is None:
            with open(os.environ['MAPPED_TARGET'], 'r+b') as file:
                Mapped.mapped = mmap.mmap(file.fileno(), 0)
            assert Mapped.mapped[0] == 0
        elif os.environ['MAPPED_WRITES']:
            Mapped.mapped[0] = 1
        return Facts(
            grader=ctx.spec.id, plugin='mapped', role=ctx.spec.role, version='1',
            options_digest="", completed=True, trust=Trust.UNGUARDED,
            tests=(TestResult('test', TestOutcome.PASSED),),
        )
"""
SITE = {
    "mapped_grader.py": GRADER,
    "mapped_grader-1.0.dist-info/METADATA": (
        "Metadata-Version: 2.1\nName: mapped-grader\nVersion: 1.0\n"
    ),
    "mapped_grader-1.0.dist-info/entry_points.txt": (
        "[assay.graders]\nmapped = mapped_grader:Mapped\n"
    ),
}


@pytest.fixture
def suite() -> Iterator[Path]:
    """A suite with a large fixture, on tmpfs where there is one."""
    with tempfile.TemporaryDirectory(prefix="assay-test-", dir=IN_MEMORY) as folder:
        graders = [{"id": "mapped", "use": "mapped", "role": "visible", "options": {}}]
        made = make_suite(Path(folder) / "suite")
        write_json(
            made / "add" / "task.json", task_manifest(graders=graders, baseline={"mapped": "pass"})
        )
        for name in ("one", "two"):
            add_candidate(made / "add", name, {"src/calc.py": FIXED})
        big = made / "add/fixture/big"
        big.touch()
        os.truncate(big, 65 * 1024**2)
        yield made


@pytest.mark.parametrize("writes", ["", "yes"])
def test_what_a_witness_missed_is_found_at_the_end(
    suite: Path, tmp_path: Path, writes: str
) -> None:
    site = write_tree(tmp_path / "site", SITE)
    done = assay(
        *("run", suite, "-j", "1", "--output", tmp_path / "run"),
        env={
            "PYTHONPATH": str(site),
            "MAPPED_TARGET": str(suite / "add/fixture/big"),
            "MAPPED_WRITES": writes,
        },
    )
    view = open_run(tmp_path / "run")
    written, counted = list(view.records()), view.trials()
    assert {record.source_check.value for record in written} == {"witness"}
    assert len(counted) == 2
    report = json.loads((tmp_path / "run/report.json").read_bytes())
    if not writes:
        assert done.code == 0, done.err
        assert len(written) == 2
        assert report["summary"]["verdicts"] == {"accepted": 2}
        return
    assert done.code == 5, done.err
    assert report["summary"]["reasons"] == {"source-contaminated": 2}
    assert {record.verdict.status.value for record in counted} == {"invalid"}
    shown = assay("show", tmp_path / "run", "add/one")
    assert "source-contaminated" in shown.out
    if IN_MEMORY:
        # They had been written as accepted, and what was written is not changed.
        assert [record.verdict.status.value for record in written] == ["accepted"] * 2 + [
            "invalid"
        ] * 2

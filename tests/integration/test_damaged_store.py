"""A stored tree that is damaged while it is in use: noticed, never graded, and replaced."""

from __future__ import annotations

import secrets
from pathlib import Path

from attrs import evolve
from support.tiny import FIXED, make_suite

from assay import load_benchmark_task
from assay.api import Candidate, CandidateKind, Reason, VerdictStatus
from assay.candidate_manifest import candidate_digest
from assay.host import WorkerFactory, open_components
from assay.plan import prepare_runtimes, revision, trial_spec
from assay.plugins import Registry
from assay.scratch import scratch_folder


def test_a_tree_damaged_after_its_first_use_costs_one_trial(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "suite")
    # The store is shared with other tests: this tree is in nobody else's way.
    (suite / "add/fixture/own.txt").write_text(secrets.token_hex(16))
    task = load_benchmark_task(suite, "add")
    components = open_components(Registry())
    pins = revision(task, components.hasher)
    files = {"src/calc.py": FIXED.encode()}
    candidate = Candidate("gold", "add", CandidateKind.FILES, pins.task, files=files)
    candidate = evolve(candidate, digest=candidate_digest(candidate))
    spec = trial_spec("tiny", task, pins, candidate)
    (tmp_path / "artifacts").mkdir()
    with scratch_folder(components) as scratch:
        run = WorkerFactory(
            tasks={"add": task},
            candidates={("add", "gold"): candidate},
            runtimes=prepare_runtimes(components, {"add": task}),
            scratch=scratch,
            artifacts=tmp_path / "artifacts",
            hasher=components.hasher.contract,
            copier=components.copier.name,
            sandbox=components.sandbox.name,
        )()
        assert run(spec).verdict.status is VerdictStatus.ACCEPTED
        stored = Path(components.store.tree(pins.fixture) or "") / "own.txt"
        stored.chmod(0o640)
        stored.write_text("damaged")
        damaged = run(spec)
        assert damaged.verdict.reasons == (Reason.COPY_FAILED,)
        assert damaged.facts == ()
        assert run(spec).verdict.status is VerdictStatus.ACCEPTED
        assert stored.read_text() == (suite / "add/fixture/own.txt").read_text()

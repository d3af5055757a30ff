"""The local executor: one record per spec, whatever becomes of its workers."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.processes import children
from support.records import spec
from support.trial_factories import Endless, NoJail, Plain

from assay.api import ExecutorSetup, Reason, SandboxUnavailable, TrialSpec, VerdictStatus
from assay.builtin.executor import LocalExecutor, LocalPool


@pytest.fixture
def pools() -> Iterator[list[LocalPool]]:
    before = children(os.getpid())
    opened: list[LocalPool] = []
    yield opened
    for pool in opened:
        pool.close()
    assert children(os.getpid()).keys() == before.keys()


def _specs(*candidates: str) -> list[TrialSpec]:
    return [spec(candidate=candidate) for candidate in candidates]


def test_each_spec_has_exactly_one_record(pools: list[LocalPool]) -> None:
    pool = LocalExecutor().open(ExecutorSetup(Plain(), 2))
    pools.append(pool)
    names = [f"c{number}" for number in range(20)]
    for _ in range(2):
        records = list(pool.run(_specs(*names)))
        assert sorted(found.spec.candidate for found in records) == sorted(names)


def test_a_lost_worker_costs_only_its_own_trial(pools: list[LocalPool]) -> None:
    pool = LocalExecutor().open(ExecutorSetup(Plain(), 2))
    pools.append(pool)
    records = {
        found.spec.candidate: found for found in pool.run(_specs("a", "dies", "b", "c", "d"))
    }
    assert set(records) == {"a", "b", "c", "d", "dies"}
    assert records.pop("dies").verdict.reasons == (Reason.WORKER_LOST,)
    assert all(found.verdict.status is VerdictStatus.ACCEPTED for found in records.values())


def test_specs_are_taken_only_as_workers_get_free(pools: list[LocalPool]) -> None:
    pool = LocalExecutor().open(ExecutorSetup(Plain(), 1))
    pools.append(pool)
    taken: list[int] = []

    def feed() -> Iterator[TrialSpec]:
        for number in range(5):
            taken.append(number)
            yield spec(candidate=f"c{number}")

    for done, _ in enumerate(pool.run(feed()), start=1):
        assert len(taken) <= done + 1


def test_a_worker_that_cannot_start_is_told_as_it_is(pools: list[LocalPool]) -> None:
    pool = LocalExecutor().open(ExecutorSetup(NoJail(), 1))
    pools.append(pool)
    with pytest.raises(SandboxUnavailable, match="turn them on"):
        list(pool.run(_specs("a")))


def test_cancelling_stops_what_runs_and_records_the_rest(
    pools: list[LocalPool], tmp_path: Path
) -> None:
    pool = LocalExecutor().open(ExecutorSetup(Endless(tmp_path), 2))
    pools.append(pool)
    started = threading.Event()

    def cancel_when_both_run() -> None:
        while len(list(tmp_path.iterdir())) < 2:
            started.wait(0.01)
        pool.cancel()

    watcher = threading.Thread(target=cancel_when_both_run)
    watcher.start()
    records = list(pool.run(_specs("a", "b", "c", "d")))
    watcher.join()
    assert sorted(found.spec.candidate for found in records) == ["a", "b", "c", "d"]
    assert {found.verdict.reasons for found in records} == {(Reason.CANCELLED,)}
    assert list(tmp_path.iterdir()) == []

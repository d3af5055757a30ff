"""A jail that can't be started, or whose start is interrupted, leaves nothing; `conftest` looks."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support.cgroups import own_groups
from support.jail import sandbox, shell, spec

from assay.api import OutcomeStatus, SandboxFailed
from assay_sandbox.notes import Note


@contextmanager
def open_files(most: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_without_descriptors_nothing_is_left_wherever_they_run_out() -> None:
    wanted, jails = spec(), sandbox()
    failed = 0
    for most in range(4, 16):
        try:
            with open_files(most):
                jails.open(wanted).close()
        except (OSError, SandboxFailed):
            failed += 1
        assert not own_groups()
    assert failed
    with jails.open(wanted) as jail:
        assert jail.run(shell("exit 0")).status is OutcomeStatus.EXITED


def test_a_start_that_is_interrupted_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(note: Note, pid: int) -> None:
        raise KeyboardInterrupt

    wanted, jails = spec(), sandbox()
    monkeypatch.setattr(Note, "add", interrupt)
    with pytest.raises(KeyboardInterrupt):
        jails.open(wanted)
    assert not own_groups()

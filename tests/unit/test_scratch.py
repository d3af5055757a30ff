"""The folders of a run: counted, removed, and told when they can't be."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from support.leftovers import left_by_a_killed_process
from support.records import record
from support.trees import nothing_leaks

from assay.api.folders import MarkedFolder
from assay.cli.exits import run_exit_code
from assay.scratch import RunFolders


def test_what_workers_made_and_what_lost_ones_left_is_counted(tmp_path: Path) -> None:
    with nothing_leaks(tmp_path):
        folders = RunFolders(MarkedFolder.make("run", tmp_path))
        folders.count(record(workspaces=2))
        left_by_a_killed_process("ws", Path(folders.path))
        folders.close()
        assert (folders.created, folders.removed, folders.leaks) == (4, 4, ())


def test_what_stays_busy_is_a_leak_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_busy(*_: object) -> None:
        raise OSError(errno.EBUSY, "busy")

    folder = MarkedFolder.make("run", tmp_path)
    folders = RunFolders(folder)
    inside = left_by_a_killed_process("ws", folder.path)
    folders.count(record(workspaces=1, leaks=(inside,)))
    with monkeypatch.context() as patch:
        patch.setattr("assay.api.folders.remove_marked", is_busy)
        patch.setattr("time.sleep", lambda _: None)
        folders.close()
    assert folders.leaks == (folder.name, inside)
    assert (folders.created, folders.removed) == (2, 0)
    assert run_exit_code([], {}, leaks=folders.leaks) == 5
    assert run_exit_code([], {}) == 0
    folder.remove()
    assert os.listdir(tmp_path) == []

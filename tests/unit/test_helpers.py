"""Helper processes: they answer, fall away without harm, and never outlive their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from support.helpers import none, used_for_everything, wait_for_helpers
from support.processes import Watched
from support.trees import HASHER, File, digest_of, make, manifest_of, nothing_leaks

from assay.api import (
    CopyFailed,
    CopyMismatch,
    Fault,
    Scan,
    TreeChanged,
    TreeLimit,
    TreeLimits,
    crew,
    sharedcopies,
)
from assay.api.copies import Layout, copy_tree
from assay.api.crew import PROCESSES, Team, assemble
from assay.api.files import open_root, opened
from assay.builtin import scanning

JOB = "support.helper_jobs:Obedient"
LAYOUT = Layout(0o755, 0o644, 0o755)
TREE = {
    "a": {"b": {"c": {"f": File(b"1")}, "g": File(b"2", executable=True)}, "empty": {}},
    "d": {"fatal": {"h": File(b"3")}, "other": {"i": File(b"4")}},
    "k": File(b"5"),
}


@pytest.fixture(autouse=True)
def helpers() -> Iterator[None]:
    with used_for_everything():
        yield


@pytest.fixture
def team() -> Iterator[Team]:
    made = assemble(JOB, (), None)
    assert made is not None
    yield made
    made.close()


def answers(team: Team, count: int) -> list[object]:
    found: list[object] = []
    while len(found) < count:
        found += [answer for _, answer in team.answers()]
    return found


def test_each_helper_takes_two_tasks_at_a_time(team: Team) -> None:
    assert team.size == 2
    assert [team.submit("who") for _ in range(5)] == [True, True, True, True, False]
    assert len(set(answers(team, 4))) == 2
    assert not team.busy


def test_descriptors_reach_the_job(tmp_path: Path) -> None:
    with opened(open_root(tmp_path)) as root, nothing_leaks():
        team = assemble(JOB, (root,), None)
        assert team is not None
        team.submit("descriptors")
        assert answers(team, 1) == [[os.stat(tmp_path).st_ino]]
        team.close()


def test_what_a_job_raises_is_raised_here(team: Team) -> None:
    team.submit("raise")
    with pytest.raises(TreeChanged, match="f: changed while it was read"):
        answers(team, 1)


@pytest.mark.parametrize("how", ["die", "break"])
def test_a_helper_that_dies_gives_its_task_back_and_is_replaced(team: Team, how: str) -> None:
    for task in (how, "who", "who"):
        team.submit(task)
    found: list[tuple[object, object]] = []
    while len(found) < 3:
        found += team.answers()
    lost = [task for task, answer in found if answer is None]
    # The second of two tasks goes down with the first, unless it was seen in time.
    assert lost in ([how], [how, "who"])
    assert team.size == 1
    assert team.submit("who")
    answers(team, 1)
    team.close()
    assert len(wait_for_helpers()) == 2


def test_one_piece_of_work_has_the_helpers(team: Team) -> None:
    found: list[object] = []
    other = threading.Thread(target=lambda: found.append(assemble(JOB, (), None)))
    other.start()
    other.join()
    assert found == [None]


@pytest.mark.parametrize("setting", ["0", "1"])
def test_the_setting_forbids_helpers(monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    monkeypatch.setenv(PROCESSES, setting)
    assert assemble(JOB, (), None) is None


def test_without_a_setting_there_is_one_for_each_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(3)))
    for setting in ("", "many", "-1", "²"):
        monkeypatch.setenv(PROCESSES, setting)
        assert crew.processes() == 3


@pytest.mark.parametrize("setting", ["4", "5", "9" * 17, "9" * 18, "9" * 5000])
def test_there_are_never_more_than_a_few(monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    monkeypatch.setenv(PROCESSES, setting)
    assert crew.processes() == 4


@pytest.mark.parametrize("broken", ["program", "interpreter"])
def test_a_host_that_starts_no_helper_scans_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, broken: str
) -> None:
    make(tmp_path, TREE)
    expected = alone(tmp_path)
    crew.dismiss()
    if broken == "program":
        monkeypatch.setattr(crew, "_PROGRAM", "raise SystemExit(1)")
    else:
        monkeypatch.setattr(sys, "executable", "/nonexistent")
    with opened(open_root(tmp_path)) as root, nothing_leaks():
        for _ in range(3):
            assert HASHER.scan(root, collect_refused=True) == expected
        crew.dismiss()


def test_the_child_of_a_fork_has_no_helpers() -> None:
    wait_for_helpers()
    child = os.fork()
    if child == 0:
        os._exit(1 if crew.running() else 0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(wait_for_helpers()) == 2


KILLED = """
import os, sys
from support.helpers import used_for_everything, wait_for_helpers
with used_for_everything():
    print(*wait_for_helpers(), flush=True)
    {end}
"""


@pytest.mark.parametrize("end", ["sys.stdin.read()", "os._exit(0)", "pass"])
def test_helpers_end_with_their_parent(end: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED.format(end=end)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as parent:
        assert parent.stdout is not None
        watched = Watched({int(number) for number in parent.stdout.readline().split()})
        if "stdin" in end:
            parent.send_signal(signal.SIGKILL)
        assert watched.all_ended()


def scan(folder: Path, limits: TreeLimits = TreeLimits()) -> Scan:  # noqa: B008
    with opened(open_root(folder)) as root, nothing_leaks():
        return HASHER.scan(root, limits=limits, collect_refused=True)


def alone(folder: Path) -> Scan:
    with none():
        return scan(folder)


def test_scans_are_equal_whoever_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "t", TREE)
    expected = alone(tmp_path / "t")
    assert scan(tmp_path / "t") == expected
    monkeypatch.setattr(scanning, "JOB", "support.helper_jobs:DyingPart")
    assert scan(tmp_path / "t") == expected
    monkeypatch.setattr(scanning, "JOB", "support.helper_jobs:Absent")
    assert scan(tmp_path / "t") == expected


@pytest.mark.parametrize("limits", [TreeLimits(files=9), TreeLimits(bytes=4), TreeLimits(depth=3)])
def test_limits_hold_over_all_helpers(tmp_path: Path, limits: TreeLimits) -> None:
    make(tmp_path, TREE)
    with none(), pytest.raises(TreeLimit) as here:
        scan(tmp_path, limits)
    with pytest.raises(TreeLimit) as there:
        scan(tmp_path, limits)
    assert str(here.value) == str(there.value)


def test_a_directory_that_went_away_is_an_error(tmp_path: Path) -> None:
    make(tmp_path, {"d": {"e": {}}})
    (tmp_path / "link").symlink_to("d")
    with opened(open_root(tmp_path)) as root:
        part = scanning.PartOfATree((root,), (1, 10, 10, 10, 60.0))
        for path in ("gone", "d/gone", "gone/e", "link/e"):
            with nothing_leaks(), pytest.raises(TreeChanged, match=f"{path}: changed"):
                part(([path], 0, 0))


def copied(source: Path, target: Path) -> None:
    target.mkdir()
    manifest = manifest_of(source)
    with opened(open_root(source)) as root, opened(open_root(target)) as made, nothing_leaks():
        copy_tree(root, made, manifest.entries, LAYOUT)


def test_copies_are_equal_and_have_their_modes(tmp_path: Path) -> None:
    source = make(tmp_path / "source", {**TREE, "big": File(b"x" * 1_500_000)})
    copied(source, tmp_path / "there")
    with none():
        copied(source, tmp_path / "here")
    assert digest_of(source) == digest_of(tmp_path / "there")
    modes = [
        {path.relative_to(top): path.stat().st_mode for path in top.rglob("*")}
        for top in (tmp_path / "here", tmp_path / "there")
    ]
    assert modes[0] == modes[1]


def test_a_helper_that_dies_fails_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = make(tmp_path / "source", {f"f{n}": File(b"%d" % n) for n in range(20)})
    monkeypatch.setattr(sharedcopies, "JOB", "support.helper_jobs:DyingCopy")
    with pytest.raises(CopyFailed, match="helper process died"):
        copied(source, tmp_path / "target")
    left = sorted(os.listdir(tmp_path / "target"))
    wait_for_helpers()
    assert sorted(os.listdir(tmp_path / "target")) == left


def test_a_source_that_differs_fails_the_copy(tmp_path: Path) -> None:
    source = make(tmp_path / "source", TREE)
    manifest = manifest_of(source)
    (source / "d/other/i").write_bytes(b"5")
    (tmp_path / "target").mkdir()
    with (
        opened(open_root(source)) as root,
        opened(open_root(tmp_path / "target")) as target,
        nothing_leaks(),
        pytest.raises(CopyMismatch, match="d/other/i: source differs"),
    ):
        copy_tree(root, target, manifest.entries, LAYOUT)


def test_an_unknown_error_of_a_job_is_a_fault() -> None:
    assert type(crew._error("Contaminated", "x")) is Fault


def test_an_interrupt_of_the_terminal_is_the_parent_s(team: Team) -> None:
    for number in wait_pids(team):
        os.kill(number, signal.SIGINT)
    team.submit("who")
    assert answers(team, 1)[0] in wait_pids(team)


def wait_pids(team: Team) -> set[int]:
    return {helper.process.pid for helper in team._helpers}


def test_trees_that_are_too_small_start_nothing(tmp_path: Path) -> None:
    make(tmp_path, TREE)
    with patch.object(scanning, "WORTH_USING", 1000), patch.object(crew, "assemble") as asked:
        scan(tmp_path)
    assert not asked.called

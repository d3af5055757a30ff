"""Fixture copies: the drill, and which of several errors is raised."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.trees import HASHER, File, digest_of, make, nothing_leaks, rel, small_disk

from assay.api import (
    CleanupFailed,
    Contaminated,
    CopierUnsupported,
    CopyFailed,
    CopyMismatch,
    NoSpace,
    Task,
    TreeRefused,
)
from assay.benchmark import BenchmarkTask
from assay.builtin.copier import CopyCopier
from assay.builtin.workspace import CopyWorkspace
from assay.fixtures import SourceGuard, fixture_copy, leave, with_fixture_copy


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    return tmp_path / "scratch"


@pytest.fixture
def task(tmp_path: Path, scratch: Path) -> BenchmarkTask:
    folder = make(tmp_path / "fixture", {"a.py": File(b"original"), "d": {"b": File(b"2")}})
    named = Task(id="task-1", category="c", prompt="p", fixture=rel("fixture"))
    return BenchmarkTask(named, "suite", str(folder))


class Boom(Exception):
    pass


def spoiling(
    task: BenchmarkTask, spoil: Callable[[Path], None], error: Exception
) -> Callable[[Path], None]:
    """An operation that does something to the source behind everybody's back, then fails."""

    def operation(_: Path) -> None:
        spoil(Path(task.fixture))
        raise error

    return operation


def test_a_copy_is_equal_and_removed(task: BenchmarkTask, scratch: Path) -> None:
    with nothing_leaks(scratch), fixture_copy(task) as workspace:
        assert workspace != Path(task.fixture)
        assert digest_of(workspace) == digest_of(Path(task.fixture))
        (workspace / "a.py").write_text("changed")
    assert with_fixture_copy(task, lambda folder: (folder / "a.py").read_text()) == "original"
    assert task.fixture not in repr(task)


def test_the_operations_own_error_comes_through(task: BenchmarkTask, scratch: Path) -> None:
    boom = Boom()
    with nothing_leaks(scratch), pytest.raises(Boom) as error, fixture_copy(task):
        raise boom
    assert error.value is boom
    assert boom.__cause__ is None


ENDS = ("returns", "raises", "is interrupted", "locks", "links", "deletes", "fills")
ROUNDS = 50


def test_twenty_parallel_copies_fifty_times_leave_nothing(
    task: BenchmarkTask, scratch: Path
) -> None:
    source, chance = Path(task.fixture), random.Random(20)
    before = digest_of(source)

    def operation(folder: Path, end: str) -> bytes:
        read = (folder / "a.py").read_bytes()
        (folder / "a.py").write_bytes(end.encode())
        if end == "raises":
            raise Boom(read)
        if end == "is interrupted":
            raise KeyboardInterrupt(read)
        if end == "locks":
            (folder / "d").chmod(0)
        elif end == "links":
            (folder / "l").symlink_to(source)
            (folder / "d/l").symlink_to(source / "a.py")
        elif end == "deletes":
            shutil.rmtree(folder / "d")
        elif end == "fills":
            for number in range(20):
                (folder / f"{number}").mkdir()
        return read

    def run(end: str) -> bytes:
        try:
            return with_fixture_copy(task, lambda folder: operation(folder, end))
        except (Boom, KeyboardInterrupt) as error:
            return bytes(error.args[0])

    with nothing_leaks(scratch), ThreadPoolExecutor(20) as pool:
        for _ in range(ROUNDS):
            assert set(pool.map(run, chance.choices(ENDS, k=20))) == {b"original"}
            assert os.listdir(scratch) == []
    assert digest_of(source) == before


def spoil_write(source: Path) -> None:
    (source / "a.py").write_text("contaminated")


def spoil_delete(source: Path) -> None:
    shutil.rmtree(source)


def spoil_link(source: Path) -> None:
    (source / "link").symlink_to("/etc")


def spoil_replace(source: Path) -> None:
    source.rename(source.with_name("away"))
    source.symlink_to("away")


@pytest.mark.parametrize("spoil", [spoil_write, spoil_delete, spoil_link, spoil_replace])
def test_a_source_that_changed_is_contamination_above_all(
    task: BenchmarkTask, scratch: Path, spoil: Callable[[Path], None]
) -> None:
    boom = Boom()
    before = digest_of(Path(task.fixture))
    with nothing_leaks(scratch), pytest.raises(Contaminated) as error:
        with_fixture_copy(task, spoiling(task, spoil, boom))
    assert (error.value.task, error.value.before) == ("task-1", before)
    cause: BaseException | None = error.value
    while cause is not None and cause is not boom:
        cause = cause.__cause__
    assert cause is boom


class Stubborn(CopyCopier):
    """Its workspaces are removed, and then say that they are not."""

    def open(self, *args: object, **options: object) -> CopyWorkspace:
        workspace = super().open(*args, **options)  # type: ignore[arg-type]
        close = workspace.close

        def failing() -> None:
            close()
            raise CleanupFailed("assay-ws-kept")

        workspace.close = failing  # type: ignore[method-assign]
        return workspace


def test_a_failed_removal_is_above_the_operations_error(task: BenchmarkTask, scratch: Path) -> None:
    boom = Boom()
    with pytest.raises(CleanupFailed) as error, fixture_copy(task, copier=Stubborn()):
        raise boom
    assert error.value.__cause__ is boom


def test_contamination_is_above_a_failed_removal(task: BenchmarkTask, scratch: Path) -> None:
    boom = Boom()
    with pytest.raises(Contaminated) as error:
        with_fixture_copy(task, spoiling(task, spoil_write, boom), copier=Stubborn())
    assert isinstance(error.value.__cause__, CleanupFailed)
    assert error.value.__cause__.__cause__ is boom


class Racing(CopyCopier):
    """Its source changes after it was digested and before it is copied."""

    def prepare(self, source: str, *args: object) -> object:  # type: ignore[override]
        spoil_write(Path(source))
        return super().prepare(source, *args)  # type: ignore[arg-type]


def test_a_partial_copy_never_starts_the_operation(task: BenchmarkTask, scratch: Path) -> None:
    ran = []
    with nothing_leaks(scratch), pytest.raises(Contaminated) as error:
        with_fixture_copy(task, ran.append, copier=Racing())  # type: ignore[arg-type]
    assert isinstance(error.value.__cause__, CopyMismatch)
    assert ran == []


def test_a_full_disk_never_starts_the_operation(
    task: BenchmarkTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Path] = []
    make(Path(task.fixture), {"big": File(b"x" * 2_000_000)})
    with small_disk(tmp_path / "disk", "size=1m") as disk:
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        with nothing_leaks(disk), pytest.raises(NoSpace):
            with_fixture_copy(task, ran.append)
    assert ran == []


def test_a_fixture_that_is_no_tree_is_refused_before_anything_is_made(
    task: BenchmarkTask, scratch: Path
) -> None:
    os.mkfifo(Path(task.fixture) / "pipe")
    with nothing_leaks(scratch), pytest.raises(TreeRefused, match="pipe: FIFO"):
        with_fixture_copy(task, lambda folder: folder)


def test_a_copier_without_a_folder_is_unsupported(task: BenchmarkTask, scratch: Path) -> None:
    class Hidden(CopyCopier):
        host_visible = False

    with pytest.raises(CopierUnsupported):
        with_fixture_copy(task, lambda folder: folder, copier=Hidden())


def test_interrupts_leave_nothing_either(task: BenchmarkTask, scratch: Path) -> None:
    with nothing_leaks(scratch), pytest.raises(KeyboardInterrupt), fixture_copy(task):
        raise KeyboardInterrupt


def test_the_guard_tells_what_the_source_must_stay(task: BenchmarkTask) -> None:
    guard = SourceGuard("task-1", task.fixture, HASHER)
    assert guard.check() == guard.before == digest_of(Path(task.fixture))
    spoil_write(Path(task.fixture))
    with pytest.raises(Contaminated) as error:
        guard.check()
    assert error.value.after == digest_of(Path(task.fixture))
    spoil_delete(Path(task.fixture))
    with pytest.raises(Contaminated, match="became unreadable"):
        guard.check()


def test_an_error_with_a_cause_of_its_own_keeps_it(task: BenchmarkTask, scratch: Path) -> None:
    failed = CopyFailed("outer")
    failed.__cause__ = inner = OSError(5, "inner")
    with pytest.raises(Contaminated) as error:
        with_fixture_copy(task, spoiling(task, spoil_write, failed))
    assert error.value.__cause__ is failed
    assert failed.__cause__ is inner


@pytest.mark.parametrize("reverse", [False, True])
def test_the_gravest_error_is_above_whatever_the_order_of_the_steps(reverse: bool) -> None:
    errors = [Boom(), CleanupFailed("assay-ws-1"), Contaminated("task-1", "a", "b")]

    def raising(error: BaseException) -> Callable[[], None]:
        def step() -> None:
            raise error

        return step

    steps = [raising(error) for error in (reversed(errors) if reverse else errors)]
    own = KeyError("the operation's own")
    with pytest.raises(Contaminated) as raised:
        leave(tuple(steps), own)
    assert raised.value.__cause__ is errors[1]
    below = {errors[1].__cause__, (errors[1].__cause__ or own).__cause__}
    assert below == {errors[0], own}

"""What killed processes left is removed; what is in use, young or only looks like ours is not."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.leftovers import (
    DEAD,
    ELSEWHERE,
    aged,
    left_by_a_killed_process,
    start_maker,
    written,
)
from support.trees import descriptors, small_disk

from assay.api.folders import MARKER, MarkedFolder
from assay.leftovers import DAY, Fate, sweep

NAME = "assay-ws-12345678"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "place").mkdir()
    before = len(descriptors())
    yield tmp_path / "place"
    assert len(descriptors()) == before


def fates(place: Path, **options: float) -> dict[str, Fate]:
    return {found.name: found.fate for found in sweep([place], **options)}


def test_what_a_killed_process_left_is_removed(place: Path) -> None:
    names = [left_by_a_killed_process(kind, place) for kind in ("ws", "run")]
    assert sorted(os.listdir(place)) == sorted(names)
    told = sweep([place], dry_run=True)
    assert {found.name: found.fate for found in told} == dict.fromkeys(names, Fate.REMOVABLE)
    assert sorted(os.listdir(place)) == sorted(names)
    assert fates(place) == dict.fromkeys(names, Fate.REMOVED)
    assert os.listdir(place) == []
    assert fates(place) == {}


def test_what_a_living_process_uses_stays_however_old(place: Path) -> None:
    process, name = start_maker("ws", place, "lives")
    with process:
        aged(place / name, 10 * DAY)
        assert fates(place, older_than=0) == {name: Fate.IN_USE}
        process.kill()
    assert fates(place) == {name: Fate.REMOVED}


def test_what_somebody_holds_stays_even_if_its_marker_names_a_dead_process(place: Path) -> None:
    folder = written(place, NAME)
    process, name = start_maker("ws", place, "lives")
    with process:
        # A process of another space of numbers, in a container say, has only its hold.
        (place / name / MARKER).write_bytes(
            (folder / MARKER).read_bytes().replace(NAME.encode(), name.encode())
        )
        assert fates(place) == {NAME: Fate.REMOVED, name: Fate.IN_USE}
        process.kill()
    assert fates(place) == {name: Fate.REMOVED}


def test_where_nobody_can_tell_age_decides(place: Path) -> None:
    folder = written(place, NAME, ELSEWHERE)
    assert fates(place) == {NAME: Fate.YOUNG}
    aged(folder, DAY + 60)
    assert fates(place, older_than=2 * DAY) == {NAME: Fate.YOUNG}
    assert fates(place) == {NAME: Fate.REMOVED}


def test_a_maker_killed_before_it_marked_its_folder_left_nothing_in_it(place: Path) -> None:
    (place / NAME).mkdir()
    assert fates(place) == {NAME: Fate.YOUNG}
    aged(place / NAME, DAY + 60)
    assert fates(place) == {NAME: Fate.REMOVED}


def test_a_folder_that_is_being_made_stays_whatever_age_is_asked_for(place: Path) -> None:
    (place / NAME).mkdir()
    assert fates(place, older_than=0) == {NAME: Fate.YOUNG}
    aged(place / NAME, 120)
    assert fates(place, older_than=0) == {NAME: Fate.REMOVED}


def test_a_maker_killed_while_it_wrote_the_marker(place: Path) -> None:
    folder = written(place, NAME)
    (folder / MARKER).write_bytes(b"")
    assert fates(place) == {NAME: Fate.YOUNG}
    aged(folder, DAY + 60)
    assert fates(place) == {NAME: Fate.REMOVED}


def test_a_run_stays_while_a_trial_of_it_goes_on(place: Path) -> None:
    run = written(place, "assay-run-12345678")
    dead = written(run, NAME)
    process, name = start_maker("ws", run, "lives")
    with process:
        assert fates(place) == {
            run.name: Fate.IN_USE,
            dead.name: Fate.REMOVED,
            name: Fate.IN_USE,
        }
        assert sorted(os.listdir(run)) == sorted([name, "content", MARKER])
        process.kill()
    assert fates(place) == {run.name: Fate.REMOVED, name: Fate.REMOVED}
    assert os.listdir(place) == []


LOOK_ALIKES = {}


def look_alike(make: object) -> object:
    LOOK_ALIKES[make.__name__] = make  # type: ignore[attr-defined]
    return make


@look_alike
def link_to_a_folder(place: Path, victim: Path) -> None:
    (place / NAME).symlink_to(victim)


@look_alike
def plain_file(place: Path, victim: Path) -> None:
    (place / NAME).write_text("x")


@look_alike
def fifo(place: Path, victim: Path) -> None:
    os.mkfifo(place / NAME)


@look_alike
def no_marker(place: Path, victim: Path) -> None:
    (place / NAME).mkdir()
    (place / NAME / "content").write_text("somebody's")


@look_alike
def marker_is_a_link(place: Path, victim: Path) -> None:
    real = written(place.parent, NAME)
    (place / NAME).mkdir()
    (place / NAME / MARKER).symlink_to(real / MARKER)


@look_alike
def marker_is_a_fifo(place: Path, victim: Path) -> None:
    (place / NAME).mkdir()
    os.mkfifo(place / NAME / MARKER)


@look_alike
def marker_is_a_folder(place: Path, victim: Path) -> None:
    (place / NAME / MARKER).mkdir(parents=True)


@look_alike
def marker_has_a_second_name(place: Path, victim: Path) -> None:
    os.link(written(place, NAME) / MARKER, victim / "second")


@look_alike
def marker_is_of_another_folder(place: Path, victim: Path) -> None:
    written(place, NAME, folder="assay-ws-87654321")


@look_alike
def marker_says_something_else(place: Path, victim: Path) -> None:
    (written(place, NAME) / MARKER).write_text("[1]")


@look_alike
def marker_is_long(place: Path, victim: Path) -> None:
    (written(place, NAME) / MARKER).write_text("{}" + " " * 5000)


@pytest.mark.parametrize("make", LOOK_ALIKES.values(), ids=LOOK_ALIKES.keys())
def test_what_only_looks_like_ours_is_left_alone(place: Path, make: object) -> None:
    victim = place.parent / "victim"
    victim.mkdir()
    (victim / "content").write_text("precious")
    written(victim, "assay-ws-00000000")
    make(place, victim)  # type: ignore[operator]
    if not (place / NAME).is_symlink() and (place / NAME).is_dir():
        aged(place / NAME, 10 * DAY)
    (found,) = sweep([place], older_than=0)
    assert (found.name, found.fate) == (NAME, Fate.FOREIGN)
    assert found.why
    assert str(place) not in found.why
    assert os.path.lexists(place / NAME)
    assert (victim / "content").read_text() == "precious"
    assert (victim / "assay-ws-00000000").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("what", ["folder", "marker"])
def test_what_belongs_to_somebody_else_is_left_alone(place: Path, what: str) -> None:
    folder = written(place, NAME)
    os.chown(folder if what == "folder" else folder / MARKER, 12345, 12345)
    assert fates(place, older_than=0) == {NAME: Fate.FOREIGN}
    assert (folder / "content").exists()


def test_another_file_system_is_never_entered(place: Path) -> None:
    with small_disk(place / NAME, "size=1m") as disk:
        made = written(disk, "x")
        (disk / MARKER).write_bytes((made / MARKER).read_bytes().replace(b'"x"', NAME.encode()))
        assert fates(place, older_than=0) == {NAME: Fate.FOREIGN}
        assert (made / "content").exists()
    (place / NAME).rmdir()
    inside = written(place, NAME)
    with small_disk(inside / "mounted", "size=1m") as disk:
        (disk / "precious").write_text("kept")
        (found,) = sweep([place])
        assert (found.name, found.fate, found.why) == (NAME, Fate.STUCK, "Device or resource busy")
        assert (disk / "precious").read_text() == "kept"
    assert fates(place) == {NAME: Fate.REMOVED}


def test_links_in_it_are_not_followed_and_their_modes_not_changed(place: Path) -> None:
    """A locked folder with a link to a file outside: neither its mode nor its content changes."""
    victim = place.parent / "victim"
    victim.write_text("v")
    victim.chmod(0o400)
    locked = written(place, NAME) / "tree/locked"
    locked.mkdir(parents=True)
    (locked / "link").symlink_to(victim)
    (locked / "up").symlink_to(place.parent)
    locked.chmod(0o500)
    assert fates(place) == {NAME: Fate.REMOVED}
    assert os.listdir(place) == []
    assert victim.read_text() == "v"
    assert stat.S_IMODE(victim.stat().st_mode) == 0o400


def test_places_may_be_absent_named_twice_or_be_links(place: Path) -> None:
    written(place, NAME)
    (place.parent / "link").symlink_to(place)
    told = sweep([place, place.parent / "absent", place.parent / "link", place])
    assert [(found.name, found.fate) for found in told] == [(NAME, Fate.REMOVED)]


def test_other_names_are_not_even_looked_at(place: Path) -> None:
    for name in ("assay-ws-1234567", "assay-test-123456789", "tmp12345678", "assay-jails-1000"):
        written(place, name)
    assert fates(place, older_than=0) == {}
    assert len(os.listdir(place)) == 4


def test_two_sweepers_at_once_remove_each_folder_once(place: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    names = [written(place, f"assay-ws-{number:08}").name for number in range(40)]
    with ThreadPoolExecutor(4) as pool:
        told = [item for found in pool.map(lambda _: sweep([place]), range(4)) for item in found]
    assert os.listdir(place) == []
    assert {item.fate for item in told} <= {Fate.REMOVED, Fate.IN_USE}
    assert {item.name for item in told if item.fate is Fate.REMOVED} == set(names)


def test_our_own_folder_is_in_use(place: Path) -> None:
    folder = MarkedFolder.make("ws", place)
    assert fates(place, older_than=0) == {folder.name: Fate.IN_USE}
    folder.remove()
    assert DEAD.pid == os.getpid()

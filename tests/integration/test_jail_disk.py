"""What a jail may write into a workspace: bounded in bytes and entries, hidden ones too."""

from __future__ import annotations

import os
import time
from pathlib import Path

import attrs
import pytest
from support.jail import limits, python, session, shell, workspace
from support.processes import open_descriptors

from assay.api import Outcome, OutcomeStatus, Profile, SandboxFailed
from assay_sandbox.disk import DiskUse, Held, walk

MIB = 1024**2
MOST = 16 * MIB

PLAIN = "open(f'{n}', 'wb').write(bytes(1024**2))"
DEEP = "os.makedirs('d/' * 60, exist_ok=True); open('d/' * 60 + str(n), 'wb').write(bytes(1024**2))"
LOCKED = "os.mkdir(f'{n}'); open(f'{n}/f', 'wb').write(bytes(1024**2)); os.chmod(f'{n}', 0)"
UNLINKED = "held.append(open('gone', 'wb')); held[-1].write(bytes(1024**2)); os.unlink('gone')"


def write(step: str, pause: float = 0.004) -> Outcome:
    """Repeat a step in a small workspace, for as long as the jail lets it."""
    source = (
        f"import os, time\nheld = []\nfor n in range(4000):\n    {step}\n    time.sleep({pause})\n"
    )
    with workspace() as mount:
        small = attrs.evolve(mount, size=MOST)
        with session(profile=Profile.AGENT, mounts=(small,), cwd="/workspace") as jail:
            outcome = jail.run(python(source, limits=limits(wall=20.0)))
            after = jail.run(shell("echo alive"))
        assert after.status in (OutcomeStatus.EXITED, OutcomeStatus.DISK_LIMIT)
        for locked in Path(mount.source).iterdir():
            if not locked.stat().st_mode & 0o700:
                locked.chmod(0o700)
    return outcome


@pytest.mark.parametrize("step", [PLAIN, DEEP, LOCKED, UNLINKED])
@pytest.mark.threat("use up the disk", layer="watchdog")
def test_a_workspace_is_bounded_however_it_is_filled(step: str) -> None:
    outcome = write(step)
    assert outcome.status is OutcomeStatus.DISK_LIMIT
    assert outcome.enforced_by == {"disk": "watchdog"}
    assert outcome.exit_code is None


def test_a_workspace_within_its_bound_is_left_alone() -> None:
    source = "for n in range(200): open('same', 'wb').write(bytes(n * 1024))\nprint('done')"
    with workspace() as mount:
        small = attrs.evolve(mount, size=MOST)
        with session(profile=Profile.AGENT, mounts=(small,), cwd="/workspace") as jail:
            outcome = jail.run(python(source))
    assert (outcome.status, outcome.stdout.text()) == (OutcomeStatus.EXITED, "done\n")


@pytest.mark.threat("use up the disk's entries", layer="watchdog")
def test_many_files_are_bounded_without_a_long_look() -> None:
    source = "import os\nfor n in range(10**7): os.mkdir(str(n))"
    with workspace() as mount:
        most = Held(64 * MIB, 5000)
        guard = DiskUse(os.getpid(), [mount.source], most)
        guard.begin(limits())
        assert guard.reached() is None
        with session(profile=Profile.AGENT, mounts=(mount,), cwd="/workspace") as jail:
            process = jail.start(python(source))
            deadline = time.monotonic() + 60
            while guard.reached() is None and time.monotonic() < deadline:
                time.sleep(0.001)
            process.kill()
            process.wait()
        assert guard.reached() is not None


@pytest.mark.parametrize("after", ["pass", "time.sleep(1.2)"])
@pytest.mark.threat("close the workspace to the watchdog", layer="watchdog")
def test_closing_a_workspace_is_no_fault_of_the_jail(after: str) -> None:
    source = f"import os, time\nos.chmod('/workspace', 0)\n{after}\nraise SystemExit(3)"
    with workspace() as mount:
        with session(profile=Profile.AGENT, mounts=(mount,)) as jail:
            outcome = jail.run(python(source))
            again = jail.run(shell("exit 4"))
        Path(mount.source).chmod(0o700)
    assert (outcome.status, outcome.exit_code) == (OutcomeStatus.EXITED, 3)
    assert (again.status, again.exit_code) == (OutcomeStatus.EXITED, 4)


def test_a_guard_that_fails_fails_the_jail_and_lets_nobody_wait() -> None:
    with workspace() as mount, session(profile=Profile.AGENT, mounts=(mount,)) as jail:
        process = jail.start(shell("sleep 0.3"))
        moved = Path(mount.source).rename(f"{mount.source}-moved")
        try:
            with pytest.raises(SandboxFailed):
                process.wait()
        finally:
            moved.rename(mount.source)


def test_a_tree_is_measured_without_leaving_it(tmp_path: Path) -> None:
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    (tree / "sub").mkdir(parents=True)
    outside.mkdir()
    (outside / "large").write_bytes(bytes(MIB))
    (tree / "file").write_bytes(bytes(8192))
    (tree / "sub/link").symlink_to(outside)
    (tree / "sparse").touch()
    with (tree / "sparse").open("r+b") as sparse:
        sparse.truncate(1024**4)
    before = open_descriptors()
    held = sum(walk([str(tree)]), Held())
    assert held.entries == 4
    assert 8192 <= held.size < 64 * 1024
    deep = tree
    for _ in range(300):
        deep /= "d"
        deep.mkdir()
    assert 200 < sum(walk([str(tree)]), Held()).entries < 300
    half = walk([str(tree), str(tree)])
    next(half)
    half.close()
    assert open_descriptors() == before

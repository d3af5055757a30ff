"""Overlay workspaces in jails: what bounds them, what shows, who shares them, what is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import attrs
import pytest
from support.cli import assay
from support.jail import python, sandbox, session, shell, spec, store
from support.tiny import add_candidate, make_suite
from support.trees import HASHER, File, make, manifest_of

from assay.api import (
    JailSpec,
    Mount,
    MountKind,
    Op,
    OutcomeStatus,
    Prepared,
    Profile,
    SandboxFailed,
)
from assay.api.detached import memory, supported
from assay.builtin.overlay import OverlayCopier
from assay.builtin.overlay_workspace import OverlayWorkspace

TREE = {"f": File(b"1"), "d": {"g": File(b"2"), "e": {"h": File(b"3")}}}
MIB = 1024**2
LAYERS = ["memory", "folder"] if supported() else ["folder"]
as_root = pytest.mark.skipif(not supported(), reason="only root can make such file systems")


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="assay-test-") as name:
        Path(name).chmod(0o711)
        (Path(name) / "scratch").mkdir(mode=0o711)
        yield Path(name)


@pytest.fixture
def prepared(folder: Path) -> Prepared:
    source = make(folder / "source", TREE)
    return OverlayCopier().prepare(str(source), manifest_of(source), store())


@pytest.fixture(params=LAYERS)
def workspace(
    request: pytest.FixtureRequest, folder: Path, prepared: Prepared
) -> Iterator[OverlayWorkspace]:
    ids = sandbox().capabilities().ids
    with patch("assay.builtin.overlay.supported", lambda: request.param == "memory"):
        made = OverlayCopier().open(prepared, str(folder / "scratch"), hasher=HASHER, ids=ids)
    with made:
        assert (os.listdir(folder / "scratch") == []) == (request.param == "memory")
        yield made
    assert os.listdir(folder / "scratch") == []
    assert manifest_of(Path(prepared.handle)) == prepared.manifest


FILL = "n = 0\ntry:\n    while True: open(str(n), 'wb').write(bytes(2**20)); n += 1\n"
FILL += "except OSError as error: print(n, error.errno)"


def test_the_room_for_changes_is_bounded(workspace: OverlayWorkspace) -> None:
    (mount,) = workspace.mounts("/workspace", writable=True)
    small = attrs.evolve(mount, size=16 * MIB)
    if mount.kind is MountKind.OVERLAY:
        with session(profile=Profile.AGENT, mounts=(small,), cwd="/workspace") as jail:
            outcome = jail.run(python(f"import time\n{FILL}; time.sleep(9)"))
        assert outcome.status is OutcomeStatus.DISK_LIMIT
        assert outcome.enforced_by == {"disk": "watchdog"}
        return
    with pytest.raises(SandboxFailed, match="larger than the profile"):
        sandbox().open(attrs.evolve(_spec(small), profile=Profile.AGENT))


def _spec(mount: Mount) -> JailSpec:

    return spec(mounts=(mount,), cwd="/workspace")


@as_root
def test_the_kernel_keeps_the_bound_in_memory_and_the_program_sees_a_full_disk(
    folder: Path, prepared: Prepared
) -> None:
    ids = sandbox().capabilities().ids
    with (
        patch("assay.builtin.upper_place._CAPACITY", 8 * MIB),
        patch("assay.builtin.upper_place._ENTRIES", 200),
        OverlayCopier().open(prepared, str(folder), hasher=HASHER, ids=ids) as workspace,
    ):
        mounts = workspace.mounts("/workspace", writable=True)
        lease = workspace.lease()
        with session(profile=Profile.AGENT, mounts=mounts, cwd="/workspace") as jail:
            full = jail.run(python(FILL))
            jail.run(shell("rm -f [0-9]*"))
            many = jail.run(python(FILL.replace("bytes(2**20)", "b''")))
        lease.release()
        assert full.status is many.status is OutcomeStatus.EXITED
        written, number = map(int, full.stdout.text().split())
        assert (6 <= written <= 8, number) == (True, 28)
        written, number = map(int, many.stdout.text().split())
        assert (150 <= written <= 200, number) == (True, 28)
        assert full.enforced_by == many.enforced_by == {}


def test_no_place_of_this_host_shows_that_names_a_task(
    workspace: OverlayWorkspace, folder: Path
) -> None:
    (mount,) = workspace.mounts("/workspace", writable=True)
    assert workspace.host_path is None
    lease = workspace.lease()
    with session(profile=Profile.AGENT, mounts=(mount,), cwd="/workspace") as jail:
        shown = jail.run(shell("grep ' /workspace ' /proc/self/mountinfo")).stdout.text()
        descriptors = jail.run(shell("ls /proc/self/fd /proc/1/fd")).stdout.text()
    lease.release()
    assert " overlay " in shown
    assert "userxattr" in shown
    assert "source" not in shown
    if mount.kind is MountKind.TREE:
        assert str(folder) not in shown
        assert "/proc/self/fd/" in shown
        assert f"\n{mount.descriptor}\n" not in descriptors
    assert repr(mount).count("/") == 1


def test_a_directory_of_the_fixture_is_moved_but_not_renamed(workspace: OverlayWorkspace) -> None:
    mounts = workspace.mounts("/workspace", writable=True)
    lease = workspace.lease()
    source = (
        "import os, shutil\n"
        "try: os.rename('d', 'D2')\n"
        "except OSError as error: print(error.errno)\n"
        "shutil.move('d', 'moved'); os.rename('f', 'F')\n"
        "os.mkdir('own'); os.rename('own', 'mine')\n"
    )
    with session(profile=Profile.AGENT, mounts=mounts, cwd="/workspace") as jail:
        outcome = jail.run(python(source))
    lease.release()
    assert (outcome.stdout.text(), outcome.exit_code) == ("18\n", 0)
    found = workspace.freeze(HASHER).change_set.changes
    assert [(change.path, change.op) for change in found] == [
        ("F", Op.ADDED),
        ("d/e/h", Op.DELETED),
        ("d/g", Op.DELETED),
        ("f", Op.DELETED),
        ("mine", Op.ADDED),
        ("moved/e/h", Op.ADDED),
        ("moved/g", Op.ADDED),
    ]


def test_jails_that_read_share_a_workspace(workspace: OverlayWorkspace) -> None:
    writable = workspace.mounts("/workspace", writable=True)
    lease = workspace.lease()
    with session(profile=Profile.AGENT, mounts=writable, cwd="/workspace") as jail:
        jail.run(shell("rm -r d/e; mkdir d/e; echo new > d/e/n; rm f"))
    lease.release()
    mounts = workspace.mounts("/workspace", writable=False)
    look = "find . | sort | tr '\\n' ' '; cat d/e/n; touch x"
    leases = [workspace.lease(), workspace.lease()]
    with (
        session(mounts=mounts, cwd="/workspace") as first,
        session(mounts=mounts, cwd="/workspace") as second,
    ):
        seen = [jail.run(shell(look)) for jail in (first, second, first)]
    for lease in leases:
        lease.release()
    assert {outcome.stdout.text() for outcome in seen} == {". ./d ./d/e ./d/e/n ./d/g new\n"}
    assert all("Read-only" in outcome.stderr.text() for outcome in seen)


def test_a_place_with_a_separator_is_refused(folder: Path, prepared: Prepared) -> None:
    odd = folder / "a,b"
    odd.mkdir(mode=0o711)
    ids = sandbox().capabilities().ids
    with (
        patch("assay.builtin.overlay.supported", lambda: False),
        OverlayCopier().open(prepared, str(odd), hasher=HASHER, ids=ids) as workspace,
    ):
        for writable in (False, True):
            found = sandbox().mountable(workspace.mounts("/workspace", writable=writable))
            assert (found.ok, "separates" in found.reason) == (False, True)


@as_root
def test_a_descriptor_must_be_that_of_a_folder_with_a_size(folder: Path) -> None:
    (folder / "file").touch()
    for flags, problem in ((os.O_RDONLY, "stands for a folder"), (os.O_DIRECTORY, "larger than")):
        place = folder / "file" if flags == os.O_RDONLY else folder
        descriptor = os.open(place, flags)
        mount = Mount("/w", MountKind.TREE, descriptor=descriptor, writable=flags != os.O_RDONLY)
        with pytest.raises(SandboxFailed, match=problem):
            sandbox().open(attrs.evolve(_spec(mount), profile=Profile.AGENT, cwd="/"))
        os.close(descriptor)
    held = memory(MIB, 10)
    bad = Mount("/w", MountKind.TREE, source="/usr", descriptor=held)
    with pytest.raises(SandboxFailed, match="without a source"):
        sandbox().open(attrs.evolve(_spec(bad), cwd="/"))
    os.close(held)


KILLED = """
import os, sys
sys.path[:0] = sys.argv[3:]
from pathlib import Path
from assay.api import Edits, FileWrite, HostIds, RelPath
from assay.builtin.hasher import TreeHasher
from assay.builtin.overlay import OverlayCopier
from assay.store import Store
from assay.tree import tree_manifest
hasher = TreeHasher()
source, folder = Path(sys.argv[1]), Path(sys.argv[2])
store = Store(folder / "store", hasher, HostIds(200001, 200001))
prepared = OverlayCopier().prepare(str(source), tree_manifest(source, hasher), store)
workspace = OverlayCopier().open(prepared, str(folder / "scratch"), hasher=hasher)
workspace.put(Edits({RelPath("new"): FileWrite(b"x" * 1000)}))
workspace.mounts("/workspace", writable=True)
print("ready", flush=True)
sys.stdin.read()
"""


@as_root
def test_a_killed_process_leaves_nothing_of_a_workspace_in_memory(folder: Path) -> None:
    source = make(folder / "source", TREE)
    mounts = Path("/proc/self/mountinfo").read_text()
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(source), str(folder), *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGKILL)
    assert os.listdir(folder / "scratch") == []
    assert Path("/proc/self/mountinfo").read_text() == mounts


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_suite(tmp_path_factory.mktemp("overlay") / "suite")
    wrong = {"src/calc.py": "def add(a, b):\n    return 5\n"}
    expect = {"verdict": "rejected", "required": ["hidden-tests-failed"]}
    add_candidate(root / "add", "wrong", wrong, expect=expect)
    assert assay("lock", root).code == 0
    return root


def _run(suite: Path, folder: Path, *words: str, env: dict[str, str] | None = None) -> str:
    done = assay("run", suite, "--output", folder, *words, env=env)
    assert done.code == 0, done.err
    report = json.loads((folder / "report.json").read_bytes())
    del report["identity"]
    return json.dumps([report, json.loads((folder / "run.json").read_bytes())["results_digest"]])


def test_a_run_gives_the_same_results_with_either_copier(suite: Path, tmp_path: Path) -> None:
    copied = _run(suite, tmp_path / "copy", "--copier", "copy")
    assert _run(suite, tmp_path / "overlay", "--copier", "overlay") == copied
    about = json.loads((tmp_path / "overlay/run.json").read_bytes())
    assert about["copier"] == "overlay"
    assert "copier_fallback" not in about


@pytest.mark.skipif(supported(), reason="root needs no folder, an ordinary user does")
def test_a_copier_that_does_not_work_is_replaced_and_recorded(suite: Path, tmp_path: Path) -> None:
    odd = tmp_path / "a,b"
    odd.mkdir()
    expected = _run(suite, tmp_path / "copy")
    found = _run(suite, tmp_path / "odd", "--copier", "overlay", env={"TMPDIR": str(odd)})
    assert found == expected
    about = json.loads((tmp_path / "odd/run.json").read_bytes())
    assert about["copier"] == "copy"
    assert about["copier_fallback"]["asked"] == "overlay"
    assert "separates" in about["copier_fallback"]["reason"]

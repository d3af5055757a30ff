"""What a dead jail leaves in its workspace: read or refused by kind, and always removable."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.jail import limits, python, sandbox, session
from support.trees import HASHER, make

from assay.api import Op, OutcomeStatus, Profile, RefusedKind, TreeLimit, TreeLimits
from assay.builtin.copier import CopyCopier
from assay.builtin.workspace import CopyWorkspace
from assay.tree import tree_manifest

TRAPS = r"""
import os, socket
os.symlink('/etc/passwd', 'absolute')
os.symlink('.', 'loop')
os.symlink('nowhere', 'dangling')
os.mkfifo('pipe')
socket.socket(socket.AF_UNIX).bind('socket')
os.link('kept.txt', 'second')
os.mkdir('locked'); open('locked/inside', 'w').close(); os.chmod('locked', 0)
open('unreadable', 'w').close(); os.chmod('unreadable', 0)
open(b'new\nline', 'w').close()
open(b'\x1b[31mred', 'w').close()
open(b'caf\xe9', 'w').close()
with open('sparse', 'wb') as sparse: sparse.truncate(63 * 1024**2)
print('set')
"""

DEEP = """
import os
os.mkdir('deep'); os.chdir('deep')
for _ in range(1000):
    os.mkdir('d'); os.chdir('d')
open('bottom', 'w').close()
print('dug')
"""

MANY = """
for n in range(4000): open(f'{n}', 'w').close()
print('made')
"""

KINDS = {
    "absolute": RefusedKind.SYMLINK,
    "dangling": RefusedKind.SYMLINK,
    "loop": RefusedKind.SYMLINK,
    "pipe": RefusedKind.FIFO,
    "socket": RefusedKind.SOCKET,
    "kept.txt": RefusedKind.HARD_LINK,
    "second": RefusedKind.HARD_LINK,
}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[CopyWorkspace]:
    """A workspace of an agent, in a folder that every user can pass through."""
    source, scratch = tmp_path / "source", tmp_path / "scratch"
    make(source, {})
    (source / "kept.txt").write_text("kept")
    scratch.mkdir()
    for place in (scratch, *scratch.parents[:4]):
        if place.stat().st_uid == os.geteuid() and place != Path("/"):
            place.chmod(place.stat().st_mode | stat.S_IXOTH)
    copier = CopyCopier()
    prepared = copier.prepare(str(source), tree_manifest(source, HASHER), None)
    ids = sandbox().capabilities().ids
    with copier.open(prepared, str(scratch), hasher=HASHER, ids=ids) as opened:
        yield opened
    assert list(scratch.iterdir()) == []


def left_by(workspace: CopyWorkspace, source: str) -> str:
    """Let a jail do its worst in a workspace; what it says, when it is dead."""
    lease = workspace.lease()
    mounts = workspace.mounts("/workspace", writable=True)
    with session(profile=Profile.AGENT, mounts=mounts, cwd="/workspace") as jail:
        outcome = jail.run(python(source, limits=limits(wall=20.0)))
    lease.release()
    assert outcome.status is OutcomeStatus.EXITED, outcome.stderr.text()
    return outcome.stdout.text().strip()


@pytest.mark.threat("hang or mislead whoever reads its tree", layer="collector")
def test_traps_are_refused_by_kind_and_removed(workspace: CopyWorkspace) -> None:
    assert left_by(workspace, TRAPS) == "set"
    changes = workspace.freeze(HASHER).change_set
    assert changes.result is None
    refused = {refusal.path: refusal.kind for refusal in changes.refused}
    assert KINDS.items() <= refused.items()
    assert set(refused) - set(KINDS) == {
        *("locked", "unreadable"),
        *(r"\x1b[31mred", r"caf\xe9", r"new\nline"),
    }


@pytest.mark.threat("exhaust the reader by depth", layer="collector")
def test_a_deep_tree_is_cut_off_and_removed(workspace: CopyWorkspace) -> None:
    assert left_by(workspace, DEEP) == "dug"
    with pytest.raises(TreeLimit):
        workspace.freeze(HASHER)


@pytest.mark.threat("exhaust the reader by numbers", layer="collector")
def test_too_many_files_are_cut_off_and_removed(workspace: CopyWorkspace) -> None:
    assert left_by(workspace, MANY) == "made"
    with pytest.raises(TreeLimit):
        workspace.freeze(HASHER, TreeLimits(files=1000))
    changes = workspace.freeze(HASHER).change_set.changes
    assert len(changes) == 4000
    assert {change.op for change in changes} == {Op.ADDED}

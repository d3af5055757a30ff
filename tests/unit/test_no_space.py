"""Running out of bytes, inodes or descriptors, at every step: whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from support.killed import in_own_process
from support.trees import HASHER, File, make, manifest_of, nothing_leaks

from assay.api import NoSpace, Prepared
from assay.api.room import require_room
from assay.builtin.copier import CopyCopier

ALONE = ("unshare", "-m") if os.geteuid() == 0 else ("unshare", "-Urm")


@pytest.fixture(scope="module")
def own_mounts() -> tuple[str, ...]:
    """How to start a process that may mount, and whose mounts are gone with it."""
    tried = subprocess.run([*ALONE, "true"], capture_output=True, check=False)
    if tried.returncode:
        if os.environ.get("CI") == "true":
            pytest.fail("this host gives no mount namespace")
        pytest.skip("this host gives no mount namespace")
    return ALONE


@pytest.mark.parametrize("function", ["copies", "edits", "stores"])
def test_on_a_small_file_system(function: str, tmp_path: Path, own_mounts: tuple[str, ...]) -> None:
    told = in_own_process("support.no_space_work", function, tmp_path, own_mounts)
    assert told == f"{function}\n"


def test_without_descriptors(tmp_path: Path) -> None:
    told = in_own_process("support.no_space_work", "descriptors", tmp_path)
    assert told == "descriptors\n"


def test_what_can_not_fit_is_refused_before_anything_is_made(
    tmp_path: Path,
) -> None:
    source = make(tmp_path / "source", {"a": File(b"1"), "b": {}})
    manifest = manifest_of(source)
    free = os.statvfs(tmp_path).f_bfree * os.statvfs(tmp_path).f_frsize
    require_room(str(tmp_path), manifest)
    with pytest.raises(NoSpace, match=f"takes {free + 1} bytes and 2 entries"):
        require_room(str(tmp_path), evolve(manifest, bytes=free + 1))
    huge = Prepared(evolve(manifest, bytes=10**18), str(source))
    with nothing_leaks(tmp_path), pytest.raises(NoSpace):
        CopyCopier().open(huge, str(tmp_path), hasher=HASHER)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.ENFILE], ids=str)
@pytest.mark.parametrize("step", ["mkdir", "write", "fchmod", "open"])
def test_whatever_runs_out_at_any_call_nothing_is_left(
    number: int, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quota can't be set up everywhere, so the calls themselves say that it is used up."""
    source = make(tmp_path / "source", {"a": File(b"1"), "d": {"b": File(b"2")}})
    prepared = CopyCopier().prepare(str(source), manifest_of(source), None)
    (tmp_path / "scratch").mkdir()
    real = getattr(os, step)
    made = 0
    for allowed in range(200):
        left = [allowed]

        def used_up(*arguments: Any, left: list[int] = left, **options: Any) -> Any:
            left[0] -= 1
            if left[0] == -1:
                raise OSError(number, os.strerror(number))
            return real(*arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(os, step, used_up)
            try:
                workspace = CopyCopier().open(prepared, str(tmp_path / "scratch"), hasher=HASHER)
            except NoSpace:
                assert os.listdir(tmp_path / "scratch") == []
                continue
        workspace.close()
        made += 1
        break
    assert made
    assert allowed >= 1
    assert os.listdir(tmp_path / "scratch") == []

"""Running out of bytes, inodes or descriptors, at every step: whole or not at all."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

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

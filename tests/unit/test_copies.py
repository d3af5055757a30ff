"""Copies of trees: each way the kernel has, each call that may fail, and what is certified."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.helpers import none
from support.trees import HASHER, File, digest_of, make, manifest_of, nothing_leaks, rel

from assay.api import CopyFailed, CopyMismatch, Entry, EntryKind, Fault, NoSpace, TreeManifest
from assay.api.copies import Layout, copy_tree
from assay.api.filecopies import LARGE
from assay.api.files import open_root, opened

LAYOUT = Layout(0o755, 0o644, 0o755)
CONTENT = os.urandom(2 * LARGE + 12_345)
TREE = {
    "d": {"e": {"large": File(CONTENT, executable=True)}, "f": File(b"1")},
    "empty": File(),
    "other": {"large": File(CONTENT[:LARGE])},
}
MICRO = {"d": {"e": {"f": File(b"1")}, "big": File(CONTENT[: 300 * 1024])}, "g": File(b"2")}


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    with none():
        yield


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make(tmp_path / "source", TREE)


def copied(source: Path, manifest: TreeManifest | None = None, name: str = "copy") -> Path:
    target = source.parent / name
    target.mkdir()
    entries = (manifest or manifest_of(source)).entries
    with opened(open_root(source)) as root, opened(open_root(target)) as made, nothing_leaks():
        copy_tree(root, made, entries, LAYOUT)
    return target


def refuse(code: int) -> Callable[..., Any]:
    def call(*args: object, **options: object) -> Any:
        raise OSError(code, os.strerror(code))

    return call


def test_large_files_are_equal_with_their_bits(source: Path) -> None:
    target = copied(source)
    assert digest_of(target) == digest_of(source)
    assert (target / "d/e/large").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("code", [errno.EXDEV, errno.EOPNOTSUPP, errno.EINVAL, errno.EPERM])
def test_what_the_kernel_will_not_copy_is_read_and_written(
    source: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setattr(os, "copy_file_range", refuse(code))
    assert digest_of(copied(source)) == digest_of(source)


@pytest.mark.parametrize("end", ["nothing", "error"])
def test_a_kernel_that_stops_half_way_is_helped_out(
    source: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    real = os.copy_file_range

    def some(reader: int, writer: int, count: int, at: int, to: int) -> int:
        if at > LARGE:
            return 0 if end == "nothing" else refuse(errno.EIO)()
        return real(reader, writer, min(count, 700_001), at, to)

    monkeypatch.setattr(os, "copy_file_range", some)
    assert digest_of(copied(source)) == digest_of(source)


def test_a_clone_needs_no_copy(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def clone(writer: int, request: int, reader: int) -> int:
        os.pwrite(writer, os.pread(reader, 2**30, 0), 0)
        return 0

    monkeypatch.setattr(fcntl, "ioctl", clone)
    monkeypatch.setattr(os, "copy_file_range", refuse(errno.EIO))
    assert digest_of(copied(source)) == digest_of(source)


@pytest.mark.parametrize("lie", [CONTENT[:-1], CONTENT + b"x", CONTENT[:-1] + b"\0", b""])
def test_the_copy_is_what_is_digested_not_the_source(
    source: Path, monkeypatch: pytest.MonkeyPatch, lie: bytes
) -> None:
    def clone(writer: int, request: int, reader: int) -> int:
        os.pwrite(writer, lie, 0)
        return 0

    monkeypatch.setattr(fcntl, "ioctl", clone)
    with pytest.raises(CopyMismatch, match="large: source differs"):
        copied(source)


@pytest.mark.parametrize("call", ["ioctl", "copy_file_range"])
def test_a_full_disk_is_no_space_at_each_step(
    source: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.setattr(fcntl if call == "ioctl" else os, call, refuse(errno.ENOSPC))
    with pytest.raises(NoSpace, match="copy of a tree failed: ENOSPC"):
        copied(source)


def test_a_source_that_changes_before_or_during_the_copy_is_a_mismatch(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = manifest_of(source)
    real = os.copy_file_range

    def change(reader: int, writer: int, count: int, at: int, to: int) -> int:
        with (source / "d/e/large").open("r+b") as stream:
            stream.write(b"changed")
        return real(reader, writer, count, at, to)

    with monkeypatch.context() as patch:
        patch.setattr(os, "copy_file_range", change)
        with pytest.raises(CopyMismatch, match="d/e/large"):
            copied(source, manifest)
    with (source / "other/large").open("ab") as stream:
        stream.write(b"x")
    with pytest.raises(CopyMismatch, match="large: source differs"):
        copied(source, manifest, "again")


@pytest.mark.parametrize("kind", [EntryKind.FILE, EntryKind.DIR])
def test_an_entry_without_its_directory_is_a_mismatch(source: Path, kind: EntryKind) -> None:
    known = manifest_of(source).entries
    lost = [e for e in known if e.path != "d/e" and (e.path != "d" or kind is EntryKind.DIR)]
    with opened(open_root(source)) as root:
        (source.parent / "copy").mkdir()
        with opened(open_root(source.parent / "copy")) as target, nothing_leaks():
            with pytest.raises(CopyMismatch, match="without its directory"):
                copy_tree(root, target, lost, LAYOUT)
            with pytest.raises(CopyMismatch, match="without its directory"):
                copy_tree(root, target, [Entry(rel("x/y"), EntryKind.DIR)], LAYOUT)


@contextmanager
def failing(patch: pytest.MonkeyPatch, name: str, number: int, code: int) -> Iterator[list[int]]:
    """One call of a function of `os` fails; gives how many there were."""
    real = getattr(os, name)
    count = [0]
    lock = threading.Lock()

    def call(*args: Any, **options: Any) -> Any:
        with lock:
            count[0] += 1
            due = count[0] == number
        if due:
            raise OSError(code, os.strerror(code))
        return real(*args, **options)

    with patch.context() as inner:
        inner.setattr(os, name, call)
        yield count


@pytest.mark.parametrize("code", [errno.EIO, errno.EMFILE])
@pytest.mark.parametrize("name", ["open", "fstat", "read", "readv", "scandir"])
def test_a_scan_leaks_nothing_whichever_call_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: int
) -> None:
    made = make(tmp_path / "t", MICRO)
    expected = digest_of(made)
    with opened(open_root(made)) as root:
        for number in range(1, 50):
            raised: Fault | None = None
            with nothing_leaks(), failing(monkeypatch, name, number, code) as count:
                try:
                    manifest = HASHER.scan(root).manifest
                except Fault as error:
                    raised = error
            if raised is None:
                assert count[0] < number
                assert manifest is not None
                assert manifest.ref.digest == expected
                return
            assert isinstance(raised, NoSpace) is (code == errno.EMFILE)
    pytest.fail("there is no end of calls")


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize(
    "name", ["open", "fstat", "read", "write", "mkdir", "fchmod", "preadv", "copy_file_range"]
)
def test_a_copy_leaks_nothing_whichever_call_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: int
) -> None:
    made = make(tmp_path / "source", {**MICRO, "large": File(CONTENT[:LARGE])})
    entries = manifest_of(made).entries
    with opened(open_root(made)) as root:
        for number in range(1, 50):
            target = tmp_path / f"t{number}"
            target.mkdir()
            raised: CopyFailed | None = None
            with (
                opened(open_root(target)) as fd,
                nothing_leaks(),
                failing(monkeypatch, name, number, code) as count,
            ):
                try:
                    copy_tree(root, fd, entries, LAYOUT)
                except CopyFailed as error:
                    raised = error
            if raised is not None:
                assert isinstance(raised, NoSpace) is (code == errno.ENOSPC)
                continue
            assert digest_of(target) == digest_of(made)
            if count[0] < number:
                return
    pytest.fail("there is no end of calls")

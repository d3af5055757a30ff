"""The tree contract: what counts, what is refused, what is left out; one test per rule."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.trees import (
    HASHER,
    File,
    Tree,
    deep,
    digest_of,
    make,
    manifest_of,
    nothing_leaks,
    ordinary_folder,
    rel,
    run_ordinary,
)

from assay.api import (
    Digest,
    Entry,
    EntryKind,
    Fault,
    InvalidInput,
    NoSpace,
    Refused,
    RefusedKind,
    Scan,
    TreeChanged,
    TreeLimit,
    TreeLimits,
    TreeRefused,
    TreeSlow,
)
from assay.api.files import open_root, opened, remove_tree
from assay.builtin.big import BIG_FILE

DEFAULT = TreeLimits()


def scan(folder: Path, limits: TreeLimits = DEFAULT) -> Scan:
    with opened(open_root(folder)) as root, nothing_leaks():
        return HASHER.scan(root, limits=limits, collect_refused=True)


def refused(folder: Path) -> list[tuple[str, RefusedKind]]:
    found = scan(folder)
    assert found.manifest is None
    with opened(open_root(folder)) as root, pytest.raises(TreeRefused) as error:
        HASHER.scan(root)
    assert (error.value.path, error.value.kind) == (
        found.refused[0].path,
        found.refused[0].kind.value,
    )
    return [(item.path, item.kind) for item in found.refused]


DIFFERENT: dict[str, tuple[Tree, Tree]] = {
    "B01 renamed file": ({"alpha.txt": File(b"same\n")}, {"beta.txt": File(b"same\n")}),
    "B02 moved file": (
        {"one": {"f.txt": File(b"v\n")}, "two": {}},
        {"one": {}, "two": {"f.txt": File(b"v\n")}},
    ),
    "B06 empty directory": ({"f": File(b"x\n")}, {"f": File(b"x\n"), "logs": {}}),
    "swapped contents": (
        {"a": File(b"1"), "b": File(b"2")},
        {"a": File(b"2"), "b": File(b"1")},
    ),
    "execute bit": ({"run": File(b"#!")}, {"run": File(b"#!", executable=True)}),
    "kind": ({"x": File()}, {"x": {}}),
    "names that join": ({"ab": File(b"c")}, {"a": File(b"bc")}),
    "empty and absent": ({}, {"a": File()}),
    "depth": ({"a": {"b": {}}}, {"a": {}, "b": {}}),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_trees_have_different_digests(tmp_path: Path, name: str) -> None:
    first, second = DIFFERENT[name]
    assert digest_of(make(tmp_path / "A", first)) != digest_of(make(tmp_path / "B", second))


def test_modes_times_and_owners_do_not_enter(tmp_path: Path) -> None:
    folder = make(tmp_path / "A", {"d": {"f": File(b"x")}})
    before = digest_of(folder)
    (folder / "d/f").chmod(0o604)
    (folder / "d").chmod(0o2711)
    os.utime(folder / "d/f", (0, 0))
    if os.geteuid() == 0:
        os.chown(folder / "d/f", 12345, 12345)
    assert digest_of(folder) == before


def test_names_outside_ascii_are_kept(tmp_path: Path) -> None:
    folder = make(tmp_path / "A", {"é.py": File(b"1"), "😀.py": File(b"2"), "z": File()})
    assert [entry.path for entry in manifest_of(folder).entries] == ["z", "é.py", "😀.py"]


@pytest.mark.threat("mislead by names that are no text", layer="collector")
def test_b09_names_that_are_not_utf8_or_not_normalised_are_refused(tmp_path: Path) -> None:
    for name in (b"caf\xe9.txt", "café.txt".encode(), "cafe\u0301.txt".encode(), "😀".encode()):
        (tmp_path / os.fsdecode(name)).write_bytes(name)
    assert refused(tmp_path) == [
        ("cafe\u0301.txt", RefusedKind.COLLISION),
        ("café.txt", RefusedKind.COLLISION),
        ("caf\\xe9.txt", RefusedKind.UNSAFE_NAME),
    ]


@pytest.mark.parametrize("name", ["a\\b", "a\nb", "dot.", "space ", "e\u0301", "a\u202eb", "\x7f"])
def test_unsafe_names_are_refused_and_not_entered(tmp_path: Path, name: str) -> None:
    make(tmp_path, {"d": {name: {"inner": File()}}})
    ((path, kind),) = refused(tmp_path)
    assert kind is RefusedKind.UNSAFE_NAME
    assert path.isprintable()


def test_collisions_are_refused_for_every_member(tmp_path: Path) -> None:
    make(tmp_path, {"README": File(), "readme": File(), "Straße": {}, "STRASSE": {"f": File()}})
    assert refused(tmp_path) == [
        ("README", RefusedKind.COLLISION),
        ("STRASSE", RefusedKind.COLLISION),
        ("Straße", RefusedKind.COLLISION),
        ("readme", RefusedKind.COLLISION),
    ]


@pytest.mark.parametrize(
    "target",
    [
        pytest.param("prod.ini", id="B04 a link to a file"),
        pytest.param("./nowhere", id="B07 a dangling link"),
        pytest.param("/nonexistent/x", id="B12 a dangling link to the outside"),
        pytest.param("link", id="B07 a link to itself"),
        pytest.param(".", id="a link to a directory"),
    ],
)
def test_links_are_refused_by_path_and_never_followed(tmp_path: Path, target: str) -> None:
    make(tmp_path, {"app.py": File(b"1\n"), "prod.ini": File(b"k=1\n")})
    (tmp_path / "link").symlink_to(target)
    assert refused(tmp_path) == [("link", RefusedKind.SYMLINK)]


@pytest.mark.threat("make the reader wait for ever", layer="collector")
def test_b11_special_files_are_refused_without_waiting_for_them(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "l").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
    expected = [
        ("l", RefusedKind.SYMLINK),
        ("pipe", RefusedKind.FIFO),
        ("socket", RefusedKind.SOCKET),
    ]
    if os.geteuid() == 0:
        os.mknod(tmp_path / "null", 0o020666, os.makedev(1, 3))
        expected.insert(1, ("null", RefusedKind.DEVICE))
    assert refused(tmp_path) == expected


def test_files_with_two_links_are_refused(tmp_path: Path) -> None:
    make(tmp_path, {"a": File(b"x"), "big": File(b"x" * BIG_FILE)})
    os.link(tmp_path / "a", tmp_path / "b")
    os.link(tmp_path / "big", tmp_path.parent / f"{tmp_path.name}-outside")
    assert refused(tmp_path) == [(name, RefusedKind.HARD_LINK) for name in ("a", "b", "big")]


@pytest.mark.parametrize("bit", [0o4000, 0o2000, 0o1000])
@pytest.mark.threat("leave set-user-id files", layer="collector")
def test_special_modes_are_refused(tmp_path: Path, bit: int) -> None:
    make(tmp_path, {"f": File(b"x")})
    (tmp_path / "f").chmod(0o755 | bit)
    assert refused(tmp_path) == [("f", RefusedKind.SPECIAL_MODE)]


UNREADABLE = """
    from assay.builtin.hasher import TreeHasher
    from assay.api.files import open_root
    print([(r.path, r.kind.name) for r in
        TreeHasher().scan(open_root(folder), collect_refused=True).refused])
"""


def test_what_its_owner_cannot_read_is_refused_for_every_user(tmp_path: Path) -> None:
    with ordinary_folder() as folder:
        make(folder, {"d": {"inner": File()}, "f": File(b"x"), "s": File(b"x"), "ok": File()})
        for name, mode in (("d", 0o000), ("f", 0o044), ("s", 0o4000)):
            if os.geteuid() == 0:
                os.chown(folder / name, 65532, 65532)
            (folder / name).chmod(mode)
        expected = [("d", "UNREADABLE"), ("f", "UNREADABLE"), ("s", "SPECIAL_MODE")]
        here = [(item.path, item.kind.name) for item in scan(folder).refused]
        assert here == expected
        assert run_ordinary(UNREADABLE, folder).strip() == str(expected)
        (folder / "d").chmod(0o755)


def test_ignored_entries_are_listed_and_left_out(tmp_path: Path) -> None:
    plain = make(tmp_path / "A", {"src": {"build": {"k": File(b"1")}}, "f": File(b"2")})
    noisy = make(
        tmp_path / "B",
        {
            "src": {"build": {"k": File(b"1")}, "__pycache__": {"f.pyc": File(b"x")}},
            "f": File(b"2"),
            "build": {"out": File(b"x")},
            "dist": File(b"a file as well"),
            ".git": {"HEAD": File(b"x")},
        },
    )
    (noisy / "node_modules").symlink_to("/")
    found = scan(noisy)
    assert found.manifest is not None
    assert found.manifest.ref.digest == digest_of(plain)
    assert found.ignored == (".git", "build", "dist", "node_modules", "src/__pycache__")


def test_big_files_are_read_whole(tmp_path: Path) -> None:
    sizes = [BIG_FILE - 1, BIG_FILE, BIG_FILE + 1, 3 * BIG_FILE + 7]
    make(tmp_path, {f"f{size}": File(os.urandom(size)) for size in sizes})
    make(tmp_path, {f"g{i:02}": File(b"%d" % i * BIG_FILE) for i in range(20)})
    manifest = scan(tmp_path).manifest
    assert manifest is not None
    for entry in manifest.entries:
        shell = subprocess.run(
            ["sha256sum", str(tmp_path / entry.path)], capture_output=True, check=True, text=True
        )
        assert entry.digest == "sha256:" + shell.stdout.split()[0]
    assert manifest.bytes == sum((tmp_path / e.path).stat().st_size for e in manifest.entries)


@pytest.mark.parametrize(
    ("limits", "word"),
    [
        (TreeLimits(files=3), "entries"),
        (TreeLimits(bytes=9), "bytes"),
        (TreeLimits(depth=1), "deeper"),
    ],
)
def test_limits_hold(tmp_path: Path, limits: TreeLimits, word: str) -> None:
    make(tmp_path, {"a": {"b": File(b"12345")}, "c": File(b"12345"), "d": {}})
    with pytest.raises(TreeLimit, match=word):
        scan(tmp_path, limits)
    exact = TreeLimits(files=4, bytes=10, depth=2)
    assert scan(tmp_path, exact).manifest == manifest_of(tmp_path)


@pytest.mark.threat("hold the reader for ever", layer="collector")
def test_a_reader_that_takes_too_long_blames_nobody(tmp_path: Path) -> None:
    make(tmp_path, {"a": {"b": File(b"12345")}})
    with pytest.raises(TreeSlow, match="within 0 seconds"):
        scan(tmp_path, TreeLimits(seconds=0))
    assert issubclass(TreeSlow, Fault)


@pytest.mark.threat("exhaust the reader by a hundred thousand files", layer="collector")
def test_as_many_files_as_a_workspace_may_hold_are_read_or_cut_off(tmp_path: Path) -> None:
    tree = tmp_path / "t"
    for folder in range(100):
        (tree / f"{folder:02}").mkdir(parents=True)
        for number in range(1000):
            os.mknod(f"{tree}/{folder:02}/{number}")
    with opened(open_root(tree)) as root:
        manifest = HASHER.scan(root).manifest
        assert manifest is not None
        assert len(manifest.entries) == 100_100
        with pytest.raises(TreeLimit, match="more than 100000 entries"):
            HASHER.scan(root, limits=TreeLimits(files=100_000))
    with opened(open_root(tmp_path)) as parent:
        remove_tree(parent, "t")
    assert not tree.exists()


@pytest.mark.threat("exhaust the reader by a sparse file", layer="collector")
def test_a_sparse_file_over_the_limit_is_never_read(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as stream:
        stream.truncate(2**43)
    with pytest.raises(TreeLimit):
        scan(tmp_path)


def test_trees_deeper_than_any_path_end_in_an_error_not_in_recursion(tmp_path: Path) -> None:
    with ordinary_folder() as folder:
        deep(folder / "t", 1200)
        with pytest.raises(TreeLimit):
            scan(folder / "t")
        found = scan(folder / "t", TreeLimits(depth=5000))
        assert found.refused == (Refused("/".join(["d"] * 257), RefusedKind.UNSAFE_NAME),)
        subprocess.run(["rm", "-rf", str(folder / "t")], check=True)


@pytest.mark.parametrize("size", [10, BIG_FILE * 2])
@pytest.mark.parametrize("change", [b"", b"y"])
def test_a_file_that_changes_under_the_reader_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, change: bytes
) -> None:
    make(tmp_path, {"f": File(b"x" * size)})
    real = os.fstat

    def fstat(fd: int) -> os.stat_result:
        info = real(fd)
        if info.st_size == size:
            with (tmp_path / "f").open("ab") as stream:
                stream.truncate(size if change else 5)
                stream.write(change)
        return info

    monkeypatch.setattr(os, "fstat", fstat)
    with pytest.raises(TreeChanged):
        scan(tmp_path)


def test_a_big_file_rewritten_in_place_while_it_is_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, {"f": File(b"x" * 2 * BIG_FILE)})
    real = os.readv

    def readv(fd: int, buffers: list[bytearray]) -> int:
        count = real(fd, buffers)
        with (tmp_path / "f").open("r+b") as stream:
            stream.write(b"y")
        os.utime(tmp_path / "f", ns=(0, 0))
        return count

    monkeypatch.setattr(os, "readv", readv)
    with pytest.raises(TreeChanged):
        scan(tmp_path)


@pytest.mark.parametrize("kind", ["file", "directory"])
@pytest.mark.parametrize("becomes", ["nothing", "link"])
@pytest.mark.threat("swap entries while the host reads", layer="collector")
def test_an_entry_that_is_swapped_before_it_is_opened_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, becomes: str
) -> None:
    make(tmp_path, {"x": File(b"x") if kind == "file" else {}})
    real = os.open

    def swap(path: str, flags: int, *args: int, dir_fd: int | None = None) -> int:
        if path == "x":
            target = tmp_path / "x"
            target.unlink() if kind == "file" else target.rmdir()
            if becomes == "link":
                target.symlink_to("/etc")
        return real(path, flags, *args, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swap)
    with pytest.raises(TreeChanged, match="x: changed"):
        scan(tmp_path)


def test_running_out_of_descriptors_is_no_space(tmp_path: Path) -> None:
    make(tmp_path, {"a": {"b": {"c": {"d": {"e": {"f": File()}}}}}})
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with opened(open_root(tmp_path)) as root:
        resource.setrlimit(resource.RLIMIT_NOFILE, (root + 4, hard))
        try:
            with pytest.raises(NoSpace):
                HASHER.scan(root)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


SURROUNDINGS = [
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONHASHSEED": "1"},
    {"LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "2"},
]


def test_locale_zone_and_hash_seed_never_enter(tmp_path: Path) -> None:
    make(tmp_path, {"é": {"😀.py": File(b"1")}, "z": File(b"2"), "ß": File(b"3", True)})
    code = (
        "import os, sys; from assay.builtin.hasher import TreeHasher\n"
        "from assay.api.files import open_root\n"
        "print(TreeHasher().scan(open_root(sys.argv[1])).manifest.ref.digest)"
    )
    for surroundings in SURROUNDINGS:
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)],
            env={"PYTHONPATH": os.pathsep.join(sys.path), **surroundings},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == digest_of(tmp_path)


FILE = Entry(rel("f"), EntryKind.FILE, False, 0, Digest("sha256:" + "0" * 64))


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param([FILE, FILE], id="twice"),
        pytest.param([Entry(rel("d/f"), EntryKind.DIR)], id="no parent"),
        pytest.param([FILE, Entry(rel("f/g"), EntryKind.DIR)], id="beneath a file"),
        pytest.param([Entry(rel("../f"), EntryKind.DIR)], id="unsafe"),
        pytest.param([Entry(rel("/f"), EntryKind.DIR)], id="absolute"),
        pytest.param([Entry(rel("d"), EntryKind.DIR), Entry(rel("d/"), EntryKind.DIR)], id="empty"),
        pytest.param([Entry(rel("e\u0301"), EntryKind.DIR)], id="not normalised"),
        pytest.param([Entry(rel("d"), EntryKind.DIR, size=1)], id="directory with a size"),
        pytest.param([Entry(rel("f"), EntryKind.FILE)], id="no digest"),
        pytest.param([Entry(rel("f"), EntryKind.FILE, False, -1, FILE.digest)], id="negative size"),
        pytest.param([FILE, Entry(rel("F"), EntryKind.DIR)], id="collision"),
    ],
)
def test_entries_that_no_tree_holds_together_are_refused(entries: list[Entry]) -> None:
    with pytest.raises(InvalidInput):
        HASHER.manifest(entries)

"""The compiled init is made once for a host, by its own compiler, and is nothing else than that."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay_sandbox import init_build
from assay_sandbox.init_build import Built, build
from assay_sandbox.init_choice import compiled_or_python
from assay_sandbox.inits import InitKind
from assay_sandbox.programs import ProgramFound

BUILD = """
import sys
from pathlib import Path
from assay_sandbox.init_build import build
print(len(build(Path(sys.argv[1])).program))
"""
ELF = b"\x7fELF"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place with one init."""
    if compiled_or_python().kind is not InitKind.COMPILED:
        pytest.skip(compiled_or_python().found)
    place = tmp_path_factory.mktemp("kept") / "below" / "inits"
    assert build(place).program.startswith(ELF)
    return place


def test_it_is_kept_for_this_user_alone_and_not_made_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kept,) = folder.iterdir()
    assert [path.stat().st_mode & 0o777 for path in (folder.parent, folder, kept)] == [
        0o700,
        0o700,
        0o400,
    ]
    monkeypatch.setattr(init_build, "_compile", lambda compiler: pytest.fail("compiled again"))
    assert build(folder).program == kept.read_bytes()[init_build.DIGEST_BYTES :]


def test_it_is_the_same_wherever_it_is_made_and_names_no_place(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    fake = tmp_path / "cc"
    fake.write_text("#!/bin/sh\nexit 1\n")
    fake.chmod(0o755)
    for name in ("CC", "CPATH", "C_INCLUDE_PATH", "GCC_EXEC_PREFIX", "LIBRARY_PATH", "PATH"):
        monkeypatch.setenv(name, str(tmp_path))
    other = build(tmp_path / "inits").program
    assert other == build(folder).program
    places = (tmp_path, Path.home(), Path(init_build.__file__).parent, folder)
    assert not [place for place in places if os.fsencode(place) in other]


@pytest.mark.parametrize("spoil", ["cut", "other", "longer", "link", "empty"])
def test_what_is_kept_spoiled_is_made_anew(folder: Path, spoil: str) -> None:
    (kept,) = folder.iterdir()
    sound = kept.read_bytes()
    kept.unlink()
    content = {"cut": sound[:-1], "other": sound[:-1] + b"x", "longer": sound + b"x"}
    if spoil == "link":
        kept.symlink_to("/bin/true")
    else:
        kept.write_bytes(content.get(spoil, b""))
    assert build(folder).program == sound[init_build.DIGEST_BYTES :]
    assert kept.read_bytes() == sound
    assert not kept.is_symlink()


@pytest.mark.parametrize("problem", ["others write", "a file", "a link"])
def test_a_place_that_is_not_ours_alone_is_not_used(
    folder: Path, tmp_path: Path, problem: str
) -> None:
    place = tmp_path / "inits"
    if problem == "others write":
        place.mkdir()
        place.chmod(0o777)
        (kept,) = folder.iterdir()
        (place / kept.name).write_bytes(b"\0" * 32)
    elif problem == "a file":
        place.touch()
    else:
        place.symlink_to(folder)
    assert build(place).program == build(folder).program
    assert problem != "others write" or (place / kept.name).read_bytes() == b"\0" * 32


@pytest.mark.parametrize("mode", [0o420, 0o402])
def test_a_file_that_others_could_write_is_not_used(
    folder: Path, tmp_path: Path, mode: int
) -> None:
    place = tmp_path / "inits"
    place.mkdir(mode=0o700)
    (kept,) = folder.iterdir()
    planted = place / kept.name
    planted.write_bytes(hashlib.sha256(b"planted").digest() + b"planted")
    planted.chmod(mode)
    assert build(place).program == build(folder).program
    assert planted.read_bytes() == kept.read_bytes()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_not_used(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "inits"
    place.mkdir(mode=0o700)
    (kept,) = folder.iterdir()
    planted = place / kept.name
    planted.write_bytes(hashlib.sha256(b"planted").digest() + b"planted")
    os.chown(planted, 65531, 65531)
    assert build(place).program == build(folder).program
    assert planted.stat().st_uid == 0


def test_many_processes_at_once_leave_one(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "inits"
    argv = [sys.executable, "-c", BUILD, str(place)]
    started = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    sizes = {process.communicate()[0] for process in started}
    assert sizes == {f"{len(build(folder).program)}\n"}
    assert [path.name for path in place.iterdir()] == [path.name for path in folder.iterdir()]


@pytest.mark.parametrize(
    ("compiler", "reason"),
    [(None, "no C compiler"), ("/bin/false", "cc can't compile it")],
    ids=["none", "broken"],
)
def test_without_a_compiler_the_one_in_python_serves_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str | None, reason: str
) -> None:
    found = ProgramFound(compiler, "sha256:0") if compiler else ProgramFound(reason="not found")
    monkeypatch.setattr(init_build, "find_program", lambda name: found)
    built = build(tmp_path / "inits")
    assert built == Built(reason=reason)
    monkeypatch.setattr("assay_sandbox.init_choice.build", lambda: built)
    init = compiled_or_python.__wrapped__()
    assert (init.kind, init.state) == (InitKind.PYTHON, "degraded")
    assert init.found == f"python: {reason}"
    assert init.fix.startswith("apt install gcc")
    assert init.script
    assert not list(tmp_path.glob("inits/*"))


def test_it_compiles_without_a_warning(tmp_path: Path) -> None:
    _, compiler = init_build._compiler()
    if compiler.reason:
        pytest.skip(compiler.reason)
    source = Path(init_build.__file__).with_name("init.c")
    strict = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-c")
    subprocess.run([compiler.path, *strict, "-o", "/dev/null", source], cwd=tmp_path, check=True)

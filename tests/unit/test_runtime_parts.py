"""Parts of a runtime's preparation that need neither a jail nor a network."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest
from support.wheels import wheel_bytes

from assay.api import Requirement, RuntimeUnavailable
from assay_sandbox import downloads, programs
from assay_sandbox import requirements as parts
from assay_sandbox.downloads import source_settings
from assay_sandbox.interpreter import RuntimeFile
from assay_sandbox.programs import find_program
from assay_sandbox.testtools import SITE_PACKAGES
from assay_sandbox.wheels import PackageFile, Wheel

OWNER = Requirement("one", "1")


def wheel(name: str, *paths: str, needs: tuple[str, ...] = (), content: bytes = b"x") -> Wheel:
    files = tuple(PackageFile(path, content) for path in paths)
    return Wheel(Requirement(name, "1"), needs, files)


def unavailable(wheels: tuple[Wheel, ...], present: tuple[RuntimeFile, ...] = ()) -> str:
    with pytest.raises(RuntimeUnavailable) as error:
        parts._merged(wheels, present)
    return str(error.value)


def test_equal_files_of_two_wheels_are_one() -> None:
    merged = parts._merged(
        (wheel("one", "tests/__init__.py"), wheel("two", "tests/__init__.py")), ()
    )
    assert [file.path for file in merged] == [f"{SITE_PACKAGES}/tests/__init__.py"]


@pytest.mark.parametrize(
    "others", [("a/b.py",), ("a",), ("a/b.py/c.py",)], ids=["content", "file", "folder"]
)
def test_two_wheels_that_clash_are_both_named(others: tuple[str, ...]) -> None:
    first, second = wheel("one", "a/b.py"), wheel("two", *others, content=b"y")
    assert unavailable((first, second)) == "requirement two==1 and one==1 bring the same path"


def test_nothing_of_the_runtime_is_replaced() -> None:
    present = (RuntimeFile(f"{SITE_PACKAGES}/sitecustomize.py", b"ours"),)
    assert "the runtime itself" in unavailable((wheel("one", "sitecustomize.py"),), present)


@pytest.mark.parametrize(
    ("need", "problem"),
    [
        ("two>=1", None),
        ("two", None),
        ("absent; python_version < '3'", None),
        ("absent; extra == 'more'", None),
        ("pytest>=1", None),
        ("absent>=3", "needs absent>=3; fix: add a version of absent"),
        ("two>=2", "needs two>=2, which conflicts with two==1"),
        ("pytest<1", "needs pytest<1, which conflicts with the test tool pytest=="),
        ("absent @ https://host.invalid/x.whl", "needs absent; fix"),
        ("? ? ?", "a need can't be read"),
    ],
)
def test_whatever_a_wheel_needs_must_be_there(need: str, problem: str | None) -> None:
    from packaging.version import Version

    one = wheel("one", needs=(need,))
    tools = {"pytest": Version("9.0")}
    if problem is None:
        parts._check_needs(one, (one, wheel("two")), tools)
        return
    with pytest.raises(RuntimeUnavailable) as error:
        parts._check_needs(one, (one, wheel("two")), tools)
    assert problem in str(error.value)
    assert "host.invalid" not in str(error.value)


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ((), "no wheel for tiny-pkg==1.0"),
        (("tiny_pkg-1.0-py3-none-any.whl", "tiny_pkg-1.0-py2.py3-none-any.whl"), "something else"),
        (("tiny_pkg-1.0.tar.gz",), "something else than one wheel"),
        (("other-1.0-py3-none-any.whl",), "something else than one wheel"),
        (("tiny_pkg-2.0-py3-none-any.whl",), "its wheel is of another version"),
    ],
)
def test_a_folder_holds_one_wheel_per_requirement(
    tmp_path: Path, names: tuple[str, ...], problem: str
) -> None:
    for name in names:
        (tmp_path / name).write_bytes(wheel_bytes())
    with pytest.raises(RuntimeUnavailable, match=problem):
        parts._read_all(tmp_path, (Requirement("tiny-pkg", "1.0"),))


def test_a_link_in_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(wheel_bytes())
    folder = tmp_path / "wheels"
    folder.mkdir()
    (folder / "tiny_pkg-1.0-py3-none-any.whl").symlink_to(tmp_path / "real")
    with pytest.raises(RuntimeUnavailable, match="not a file"):
        parts._read_all(folder, (Requirement("tiny-pkg", "1.0"),))


def test_a_pin_that_conflicts_with_a_test_tool_names_both() -> None:
    from packaging.version import Version

    tools = {"pytest": Version("9.0")}
    assert parts._is_tool(Requirement("pytest", "9.0.0"), tools)
    assert not parts._is_tool(OWNER, tools)
    with pytest.raises(RuntimeUnavailable) as error:
        parts._is_tool(Requirement("pytest", "8.0"), tools)
    assert "pytest==8.0 conflicts with the installed test tool pytest==9.0" in str(error.value)


needs_pip = pytest.mark.skipif(
    not any(Path(place, "pip").is_dir() for place in sys.path if place), reason="pip is absent"
)


@needs_pip
def test_only_sources_are_taken_from_pips_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    config = tmp_path / "pip.conf"
    config.write_text(
        "[global]\nindex-url = https://a.invalid/simple\nconstraint = /nowhere\nno-binary = :all:\n"
        "extra-index-url =\n    https://b.invalid/one\n    https://b.invalid/two\n"
        "[install]\nfind-links = /not/this\n"
        "[download]\nfind-links = /this\ndest = /nowhere\nindex-url = https://c.invalid/simple\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    monkeypatch.setenv("PIP_TRUSTED_HOST", "c.invalid")
    monkeypatch.setenv("PIP_REQUIREMENT", "/nowhere")
    monkeypatch.setenv("PIP_REQUIRE_VIRTUALENV", "1")
    found = source_settings()
    assert found["PIP_INDEX_URL"] == "https://c.invalid/simple"
    assert found["PIP_FIND_LINKS"] == "/this"
    assert found["PIP_TRUSTED_HOST"] == "c.invalid"
    assert found["PIP_EXTRA_INDEX_URL"].split() == [
        "https://b.invalid/one",
        "https://b.invalid/two",
    ]
    assert set(found) <= {"PIP_" + key.replace("-", "_").upper() for key in downloads.SOURCES}


def test_a_python_without_pip_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = downloads.subprocess.run

    def without_pip(arguments: list[str], **options: object) -> object:
        return real([arguments[0], "-I", "-S", *arguments[2:]], **options)  # type: ignore[call-overload]

    monkeypatch.setattr(downloads.sys, "executable", sys._base_executable)  # type: ignore[attr-defined]
    monkeypatch.setattr(downloads.subprocess, "run", without_pip)
    with pytest.raises(RuntimeUnavailable, match="fix: python -m ensurepip"):
        source_settings()


def test_programs_are_found_in_the_systems_folders_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = find_program("sh")
    assert shell.path.endswith("/bin/sh")
    assert shell.digest.startswith("sha256:")
    fake = tmp_path / "assay-test-tool"
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin")
    assert "not found" in find_program("assay-test-tool").reason


def test_a_program_must_be_visible_on_the_whole_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, hidden = tmp_path / "seen", tmp_path / "hidden"
    for folder in (seen / "bin", seen / "lib", hidden):
        folder.mkdir(parents=True)
    for place in (seen / "lib/real", hidden / "real", seen / "bin/secret", seen / "bin/plain"):
        place.write_text("#!/bin/sh\n")
        place.chmod(0o755)
    (seen / "bin/secret").chmod(0o750)
    (seen / "bin/folder").mkdir()
    (seen / "bin/good").symlink_to("../lib/real")
    (seen / "bin/bad").symlink_to(hidden / "real")
    (hidden / "back").symlink_to(seen / "lib/real")
    (seen / "bin/around").symlink_to(hidden / "back")
    (seen / "bin/gone").symlink_to("../lib/nothing")
    (seen / "bin/loop").symlink_to("loop")
    monkeypatch.setattr(programs, "FOLDERS", (str(seen / "bin"),))
    monkeypatch.setattr(programs, "SYSTEM_DIRECTORIES", (os.path.realpath(seen),))
    monkeypatch.setattr(programs, "ROOT_NAMES", ())
    for name in ("good", "plain"):
        assert find_program(name).path == str(seen / "bin" / name)
    for name in ("bad", "around", "gone", "loop"):
        assert "leads to a place" in find_program(name).reason
    for name in ("secret", "folder"):
        assert "not a program that every user" in find_program(name).reason
    assert stat.S_IMODE((seen / "bin/good").stat().st_mode) == 0o755

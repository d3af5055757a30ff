"""Wheels from strangers: what is read of them, and what is refused."""

from __future__ import annotations

import os
import warnings
import zipfile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.wheels import PACKAGE, wheel_bytes

from assay.api import Requirement
from assay_sandbox import wheels
from assay_sandbox.wheels import BadWheel, Wheel, read_wheel

ABOUT = "tiny_pkg-1.0.dist-info"
DATA = "tiny_pkg-1.0.data"
WANTED = Requirement("tiny-pkg", "1.0")
FILENAME = "tiny_pkg-1.0-py3-none-any.whl"


def read(content: bytes, filename: str = FILENAME) -> Wheel:
    return read_wheel(filename, content, WANTED)


def refused(content: bytes, filename: str = FILENAME) -> str:
    with pytest.raises(BadWheel) as error:
        read(content, filename)
    return str(error.value)


def with_files(**more: Any) -> bytes:
    files = more.pop("files")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return wheel_bytes({**PACKAGE, **files}, **more)


def test_an_honest_wheel_is_read_without_what_installers_write() -> None:
    wheel = read(wheel_bytes(needs=["other>=2", "more; extra == 'x'"]))
    assert wheel.requirement == WANTED
    assert wheel.needs == ("other>=2", "more; extra == 'x'")
    assert [file.path for file in wheel.files] == [
        f"{ABOUT}/METADATA",
        f"{ABOUT}/WHEEL",
        "tiny_pkg/__init__.py",
    ]
    assert wheel.files[-1].content == b"ANSWER = 42\n"


def test_data_goes_to_site_packages_or_nowhere() -> None:
    files = {
        f"{DATA}/purelib/tiny_more.py": "x = 1\n",
        f"{DATA}/platlib/tiny_pkg/fast.py": "x = 2\n",
        f"{DATA}/scripts/tool": "#!python\n",
        f"{DATA}/data/etc/passwd": "root\n",
        f"{DATA}/headers/tiny.h": "\n",
        "tiny_pkg/__pycache__/old.pyc": "x",
    }
    paths = {file.path for file in read(with_files(files=files)).files}
    assert paths == {
        f"{ABOUT}/METADATA",
        f"{ABOUT}/WHEEL",
        "tiny_more.py",
        "tiny_pkg/__init__.py",
        "tiny_pkg/fast.py",
    }


def test_the_execute_bit_is_kept() -> None:
    content = with_files(files={"tiny_pkg/run": "#!/bin/sh\n"}, modes={"tiny_pkg/run": 0o100755})
    assert {file.path for file in read(content).files if file.executable} == {"tiny_pkg/run"}


@pytest.mark.parametrize(
    ("filename", "problem"),
    [
        ("tiny_pkg-1.0.tar.gz", "none of a wheel"),
        ("tiny_pkg.whl", "none of a wheel"),
        ("tiny_pkg-1.1-py3-none-any.whl", "another version"),
        ("other-1.0-py3-none-any.whl", "another version or distribution"),
        ("tiny_pkg-1.0-cp27-cp27m-win32.whl", "another interpreter or system"),
    ],
)
def test_the_name_must_be_that_of_the_wanted_wheel(filename: str, problem: str) -> None:
    assert problem in refused(wheel_bytes(), filename)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"files": {"/etc/cron.d/x": "x"}}, "unsafe path: path is absolute"),
        ({"files": {"../x.py": "x"}}, "unsafe path: path holds a . or .. component"),
        ({"files": {"tiny_pkg/../../x.py": "x"}}, "unsafe path: path holds a . or .."),
        ({"files": {"tiny_pkg\\x.py": "x"}}, "unsafe path: path holds a backslash"),
        ({"files": {"tiny_pkg/a\nb.py": "x"}}, "unsafe path: path holds a control"),
        ({"files": {"tiny_pkg//x.py": "x"}}, "unsafe path: path holds an empty component"),
        ({"files": {"other-2.dist-info/METADATA": "x"}}, "exactly one .dist-info"),
        ({"files": {"other.egg-info/PKG-INFO": "x"}}, "description of another distribution"),
        ({"files": {f"{DATA}/purelib/other-2.dist-info/METADATA": "x"}}, "of another distribution"),
        ({"files": {"other-1.data/purelib/x.py": "x"}}, "description of another distribution"),
        ({"files": {f"{DATA}/lib/x.py": "x"}}, "data of an unknown kind"),
        ({"files": {f"{DATA}/purelib": "x"}}, "data of an unknown kind"),
        ({"files": {f"{DATA}/purelib/tiny_pkg/__init__.py": "x"}}, "installs a path twice"),
        ({"files": {"assay/api/evil.py": "x"}}, "a package of this framework"),
        ({"files": {"assay_graders.py": "x"}}, "a package of this framework"),
        ({"files": {f"{DATA}/platlib/assay/x.py": "x"}}, "a package of this framework"),
        ({"files": {"tiny_pkg/node_modules/x.js": "x"}}, "a folder that trees can't keep"),
        ({"twice": "tiny_pkg/__init__.py"}, "holds a path twice"),
        ({"modes": {"tiny_pkg/__init__.py": 0o120777}}, "neither a file nor a folder"),
        ({"modes": {"tiny_pkg/__init__.py": 0o010644}}, "neither a file nor a folder"),
        ({"modes": {"tiny_pkg/__init__.py": 0o040755}}, "neither a file nor a folder"),
        ({"compression": zipfile.ZIP_BZIP2}, "compressed in a way"),
        ({"changed": {"tiny_pkg/__init__.py": "ANSWER = 43\n"}}, "differs from its record"),
        ({"changed": {"tiny_pkg/extra.py": "x"}}, "record does not list"),
        ({"changed": {"tiny_pkg/__init__.py": None}}, "lacks a file that its record lists"),
        ({"changed": {f"{ABOUT}/RECORD": None}}, "lacks a file that describes it"),
        ({"changed": {f"{ABOUT}/RECORD": "a,b\n"}}, "record that can't be read"),
        ({"changed": {f"{ABOUT}/RECORD": "a,md5=b,1\na,md5=c,1\n"}}, "record that can't be read"),
        ({"changed": {f"{ABOUT}/RECORD": "tiny_pkg/__init__.py,md5=x,1\n"}}, "with a hash"),
        (
            {"changed": {f"{ABOUT}/RECORD": "tiny_pkg/gone.py,sha256=x,1\n"}},
            "lacks a file that its",
        ),
        ({"name": "other"}, "describes another version or distribution"),
        ({"version": "1.1"}, "describes another version or distribution"),
    ],
)
def test_hostile_contents_are_refused(more: dict[str, Any], problem: str) -> None:
    assert problem in refused(with_files(**{"files": {}, **more}))


@pytest.mark.parametrize(
    ("document", "text", "problem"),
    [
        ("METADATA", "Name: other\nVersion: 1.0\n", "describes another"),
        ("METADATA", "Name: tiny-pkg\nVersion: 2\n", "describes another"),
        ("METADATA", "Name: tiny-pkg\nVersion: ?\n", "can't be read"),
        ("METADATA", "", "can't be read"),
        ("WHEEL", "Wheel-Version: 2.0\n", "unknown version of the wheel format"),
        ("WHEEL", "", "unknown version of the wheel format"),
    ],
)
def test_what_a_wheel_says_of_itself_must_fit(document: str, text: str, problem: str) -> None:
    content = wheel_bytes(dict(PACKAGE), describe={document: text})
    assert problem in refused(content)


def test_sizes_and_counts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels, "MOST_BYTES", 10)
    assert "larger than 10 bytes" in refused(wheel_bytes())
    monkeypatch.setattr(wheels, "MOST_FILES", 2)
    assert "more than 2 files" in refused(wheel_bytes())


def test_a_declared_size_that_is_too_small_does_not_help(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = wheel_bytes({**PACKAGE, "tiny_pkg/big.py": "#" * 5000})
    size = (5000).to_bytes(4, "little")
    assert size in honest
    assert refused(honest.replace(size, (10).to_bytes(4, "little")))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_wheel_is_refused_or_equal(data: st.DataObject) -> None:
    honest = wheel_bytes()
    start = data.draw(st.integers(0, len(honest) - 1))
    end = data.draw(st.integers(start, min(len(honest), start + 40)))
    damaged = honest[:start] + data.draw(st.binary(max_size=40)) + honest[end:]
    try:
        wheel = read(damaged)
    except BadWheel:
        return
    for file in wheel.files:
        assert not file.path.startswith(("/", "..")), os.fsencode(file.path)
        if file.path == "tiny_pkg/__init__.py":
            assert file.content == b"ANSWER = 42\n"

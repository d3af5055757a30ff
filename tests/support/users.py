"""Runs tests as an ordinary user when the test process is root.

The sources and the interpreter may lie under a private home, so the other user gets a readable
copy of the sources and of the installed packages, and the system's own Python.
"""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path

from attrs import frozen

ORDINARY_ID = 65531
SYSTEM_PYTHON = "/usr/bin/python3"
REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE_ROOTS = ("core", "sandbox", "graders")
PACKAGES = ("assay", "hypothesis", "pip", "pytest")

_NAME = re.compile(r"[A-Za-z0-9._-]+")


@frozen
class Finished:
    """How a command of the ordinary user ended; `output` is both streams."""

    code: int
    output: str


def system_python_problem() -> str:
    """Why the system's Python can't be used here, or nothing."""
    if not Path(SYSTEM_PYTHON).exists():
        return f"{SYSTEM_PYTHON} does not exist"
    probe = "import sys; sys.exit(sys.version_info < (3, 11))"
    if subprocess.run([SYSTEM_PYTHON, "-I", "-c", probe], check=False).returncode:
        return f"{SYSTEM_PYTHON} is older than 3.11"
    return ""


def as_ordinary_user(*arguments: str, seconds: float = 600.0, user: int = ORDINARY_ID) -> Finished:
    """Run the system's Python with these arguments in a copy of the repository.

    `python` on its PATH is a virtual environment, so that programs it starts find the same.
    Another `user` than the usual one can read everything and write nothing.
    """
    root = _copy()
    environment = {
        "ASSAY_STORE": str(root / "home/store"),
        "ASSAY_TEST_STORE": str(root / "home/test-store"),
        "HOME": str(root / "home"),
        "LC_ALL": "C.UTF-8",
        "PATH": f"{root}/venv/bin:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPYCACHEPREFIX": str(root / "home/pyc"),
        "TMPDIR": str(root / "home/tmp"),
        **{name: os.environ[name] for name in ("CI",) if name in os.environ},
    }
    finished = subprocess.run(
        [str(root / "venv/bin/python"), *arguments],
        cwd=root / "repository",
        env=environment,
        user=user,
        group=user,
        extra_groups=[],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=seconds,
        check=False,
    )
    return Finished(finished.returncode, finished.stdout.decode("utf-8", "replace"))


@functools.cache
def _copy() -> Path:
    """One readable copy a test process, removed at its end."""
    root = Path(tempfile.mkdtemp(prefix="assay-user-", dir="/var/tmp"))
    atexit.register(_remove, root, os.getpid())
    root.chmod(0o755)
    repository = root / "repository"
    repository.mkdir()
    leave = shutil.ignore_patterns("__pycache__")
    for name in (*SOURCE_ROOTS, "docs", "fixtures", "tests"):
        shutil.copytree(REPOSITORY / name, repository / name, ignore=leave, symlinks=True)
    shutil.copy(REPOSITORY / "pyproject.toml", repository)
    _make_environment(root / "venv", repository)
    for place, _, names in os.walk(root):
        Path(place).chmod(0o755)
        for name in names:
            path = Path(place, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
    for folder in (root / "home", root / "home/tmp"):
        folder.mkdir(mode=0o700)
        os.chown(folder, ORDINARY_ID, ORDINARY_ID)
    return root


def _make_environment(venv: Path, repository: Path) -> None:
    """A virtual environment of the system's Python with copies of the installed packages."""
    probe = "import sys; print(f'python{sys.version_info[0]}.{sys.version_info[1]}')"
    answer = subprocess.run([SYSTEM_PYTHON, "-I", "-c", probe], capture_output=True, check=True)
    packages = venv / "lib" / answer.stdout.decode().strip() / "site-packages"
    packages.mkdir(parents=True)
    (venv / "bin").mkdir()
    (venv / "bin/python").symlink_to(SYSTEM_PYTHON)
    (venv / "pyvenv.cfg").write_text(f"home = {Path(SYSTEM_PYTHON).parent}\n")
    command = venv / "bin/assay"
    # Spawned workers import the script again, so it must do nothing then.
    guard = 'if __name__ == "__main__":\n    sys.exit(main())\n'
    command.write_text(f"#!{venv}/bin/python\nimport sys\n\nfrom assay.cli import main\n\n{guard}")
    command.chmod(0o755)
    for distribution in _installed():
        _copy_distribution(distribution, packages)
    for editable in packages.glob("*.pth"):
        editable.unlink()
    roots = "".join(f"{repository / name}\n" for name in SOURCE_ROOTS)
    (packages / "repository.pth").write_text(roots)


def remove_copy() -> None:
    """Remove this process's copy, if it made one, before the process has to hurry."""
    if _copy.cache_info().currsize:
        root = _copy()
        _copy.cache_clear()
        atexit.unregister(_remove)
        _remove(root, os.getpid())


def _remove(root: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(root)


def _installed() -> list[metadata.Distribution]:
    """The tested packages and what they need, as far as it is installed."""
    found: dict[str, metadata.Distribution] = {}
    wanted = list(PACKAGES)
    while wanted:
        name = re.sub(r"[-_.]+", "-", wanted.pop()).lower()
        if name in found:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        for requirement in found[name].requires or ():
            match = _NAME.match(requirement)
            if match is not None and "extra ==" not in requirement:
                wanted.append(match[0])
    return list(found.values())


def _copy_distribution(distribution: metadata.Distribution, target: Path) -> None:
    for file in distribution.files or ():
        source = Path(str(file.locate()))
        inside = not file.as_posix().startswith(("..", "/"))
        if inside and source.is_file() and "__pycache__" not in file.parts:
            place = target / file
            if not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, place)

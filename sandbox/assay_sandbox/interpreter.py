"""What the running interpreter consists of, as files of a runtime tree.

Nothing is mounted from where the interpreter is installed: that may be a private home. Its
standard library goes without test suites, graphics, installers and caches.
"""

from __future__ import annotations

import fnmatch
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from assay.api import RuntimeUnavailable
from assay_sandbox.elf import library_path, needs_library, with_library_path

__all__ = ["RuntimeFile", "interpreter_files", "python_image"]

PYTHON_ROOT = "/runtime/python"
SYSTEM_LIBRARIES = ("/lib", "/usr/lib", "/usr/local/lib", "/lib64", "/usr/lib64")
EXCLUDED_DIRECTORIES = frozenset(
    {
        "__pycache__",
        "dist-packages",
        "ensurepip",
        "idlelib",
        "pydoc_data",
        "site-packages",
        "test",
        "tests",
        "tkinter",
        "turtledemo",
    }
)
EXCLUDED_FILES = (
    "*.a",
    "*.pickle",
    "*.pyc",
    "_test*.so",
    "_tkinter*.so",
    "sitecustomize.py",
    "turtle.py",
    "usercustomize.py",
    "xx*.so",
)


@frozen
class RuntimeFile:
    """One file of a runtime: its path in the tree, its content, whether it is a program."""

    path: str
    content: bytes
    executable: bool = False


def interpreter_files() -> Iterator[RuntimeFile]:
    """Interpreter, its own library and the standard library, below `python/`."""
    image = python_image()
    for name in ("python3", "python", f"python{sysconfig.get_python_version()}"):
        yield RuntimeFile(f"python/bin/{name}", image, executable=True)
    library = _shared_library()
    if library is not None:
        # An interpreter that looks beside itself is also started from the environment's folder.
        for folder in ("python", "venv"):
            yield RuntimeFile(f"{folder}/lib/{library.name}", library.read_bytes())
    seen: set[str] = set()
    for key in ("stdlib", "platstdlib"):
        root = Path(sysconfig.get_path(key, vars={"platbase": sys.base_exec_prefix}))
        inside = root.relative_to(sys.base_prefix).as_posix()
        for path in _walk(root):
            place = f"python/{inside}/{path.relative_to(root).as_posix()}"
            if place not in seen:
                seen.add(place)
                yield RuntimeFile(place, _content(path))


def python_image() -> bytes:
    """The interpreter's program, able to find its own library where it will be mounted."""
    image = _program()
    if _shared_library() is None or (library_path(image) or "").startswith("$ORIGIN/../lib"):
        return image
    moved = with_library_path(image, f"{PYTHON_ROOT}/lib")
    if moved is not None:
        return moved
    raise RuntimeUnavailable(
        "this interpreter finds its own library in a way that can't be moved into a jail;"
        " run assay with another Python, such as the system's"
    )


def _program() -> bytes:
    return Path(os.path.realpath(sys._base_executable)).read_bytes()  # type: ignore[attr-defined]


def _shared_library() -> Path | None:
    """The interpreter's library, when it needs one from outside the system's folders."""
    name = str(sysconfig.get_config_var("INSTSONAME"))
    image = _program()
    if not needs_library(image, name):
        return None
    beside = f"{sys.base_prefix}/lib"
    stored = (library_path(image) or "").replace("$ORIGIN/../lib", beside)
    for place in (*stored.split(":"), str(sysconfig.get_config_var("LIBDIR")), beside):
        path = Path(place, name)
        if place and path.is_file():
            real = Path(os.path.realpath(path))
            if any(real.is_relative_to(system) for system in SYSTEM_LIBRARIES):
                return None
            return path
    return None


def _walk(directory: Path) -> Iterator[Path]:
    """All files below, in a fixed order; links count as the file that they lead to."""
    for path in sorted(directory.iterdir(), key=lambda path: path.name):
        if path.is_dir():
            wanted = path.name not in EXCLUDED_DIRECTORIES and not path.name.startswith("config-")
            if wanted and not path.is_symlink():
                yield from _walk(path)
        elif path.is_file() and not any(
            fnmatch.fnmatchcase(path.name, pattern) for pattern in EXCLUDED_FILES
        ):
            yield path


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    if path.name.startswith("_sysconfigdata") and sys.base_prefix != "/usr":
        return content.replace(sys.base_prefix.encode(), PYTHON_ROOT.encode())
    return content

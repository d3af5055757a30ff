"""The installed test tools and what they need, as files of a runtime tree.

Only files that the distributions' own records list are taken, so nothing else of the host's
site-packages, and nothing of this framework, gets into a jail.
"""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from assay.api import RuntimeUnavailable
from assay_sandbox.interpreter import RuntimeFile, python_image

__all__ = ["SITE_PACKAGES", "closure", "venv_files"]

TOOLS = ("pytest",)
VENV_ROOT = "/runtime/venv"
SITE_PACKAGES = f"venv/lib/python{sysconfig.get_python_version()}/site-packages"
# Written by installers; they differ between hosts and nothing in a jail reads them.
INSTALLER_FILES = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"})

# An isolated interpreter (-I) reads no environment variable, and without its bytecode an
# import of the test tools takes ten times as long.
BYTECODE_SETTING = """\
\"\"\"Bytecode comes from the read-only runtime alone, never from beside a source file.\"\"\"

import sys

sys.pycache_prefix = "/runtime/pyc"
"""

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)")


def closure() -> tuple[metadata.Distribution, ...]:
    """The test tools and all that they need without condition, in the order of their names.

    Requirements with an environment marker are for older interpreters or other systems.
    """
    found: dict[str, metadata.Distribution] = {}
    wanted = list(TOOLS)
    while wanted:
        name = re.sub(r"[-_.]+", "-", wanted.pop()).lower()
        if name in found:
            continue
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            raise RuntimeUnavailable(f"{name} is not installed; pip install pytest") from None
        found[name] = distribution
        for requirement in distribution.requires or ():
            match = _REQUIREMENT.match(requirement)
            if match is not None and ";" not in requirement:
                wanted.append(match[1])
    return tuple(found[name] for name in sorted(found))


def venv_files() -> Iterator[RuntimeFile]:
    """A virtual environment with the test tools, below `venv/`."""
    image = python_image()
    for name in ("python", "python3"):
        yield RuntimeFile(f"venv/bin/{name}", image, executable=True)
    settings = "home = /runtime/python/bin\ninclude-system-site-packages = false\n"
    yield RuntimeFile("venv/pyvenv.cfg", settings.encode())
    yield RuntimeFile(f"{SITE_PACKAGES}/sitecustomize.py", BYTECODE_SETTING.encode())
    for distribution in closure():
        for path, content in _installed(distribution):
            yield RuntimeFile(f"{SITE_PACKAGES}/{path}", content)


def _installed(distribution: metadata.Distribution) -> Iterator[tuple[str, bytes]]:
    files = distribution.files
    if files is None:
        name = distribution.metadata["Name"]
        raise RuntimeUnavailable(f"{name} has no record of its files; install it with pip")
    for file in sorted(files):
        text = file.as_posix()
        if text.startswith(("/", "..")) or "__pycache__" in file.parts:
            continue
        if file.name in INSTALLER_FILES and file.parts[0].endswith(".dist-info"):
            continue
        path = Path(str(file.locate()))
        if path.is_file():
            yield text, path.read_bytes()

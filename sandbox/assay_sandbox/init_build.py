"""The compiled init: made once for a host by its C compiler, and kept beside the store.

What is kept is named by all that it was made from (the source, the compiler, its options, the
C library, the architecture) and starts with its own digest, so half a file or another one is
never used. Anybody who could change it could change the store too.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import secrets
import stat
import subprocess
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from assay.api import AssayError, RelPath, Unavailable
from assay.api.files import open_root, opened, read_file, write_new
from assay.api.folders import temporary_folder
from assay.api.places import default_store_root
from assay_sandbox.programs import ProgramFound, find_program

__all__ = ["Built", "build", "sources"]

SOURCES = ("init.c", "init_request.h")
COMPILERS = ("cc", "gcc", "clang")
OPTIONS = (
    *("-std=gnu11", "-O2", "-fstack-protector-strong", "-pipe", "-frandom-seed=assay"),
    *("-s", "-Wl,--build-id=none", "-o", "init", "init.c"),
)
LINKING = (("-static-pie",), ("-static",), ())
"""The first that works: without a C library to load, it starts in less time."""

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
COMPILE_SECONDS = 60
DIGEST_BYTES = 32
MOST_BYTES = 8 * 1024**2


@frozen
class Built:
    """A program; or `reason`, why there is none."""

    program: bytes = b""
    compiler: str = ""
    reason: str = ""


def build(folder: Path | None = None) -> Built:
    """The init for this host, compiled if it is not kept in the folder. Never raises.

    Without a folder, it is the one beside the store.
    """
    name, compiler = _compiler()
    if compiler.reason:
        return Built(reason="no C compiler")
    key, place = _key(compiler), folder or _usual_place()
    program = _kept(place, key) if place else b""
    if not program:
        with suppress(AssayError, OSError):
            program = _compile(compiler)
        if not program:
            return Built(reason=f"{name} can't compile it")
        # Where nothing can be kept, it is made for this process alone.
        with suppress(OSError):
            if place:
                _keep(place, key, program)
    return Built(program, name)


def _usual_place() -> Path | None:
    try:
        return default_store_root().absolute() / "inits"
    except Unavailable:
        return None


def _compiler() -> tuple[str, ProgramFound]:
    """From the system's own folders; the caller's PATH and variables don't count."""
    found = ProgramFound(reason="none")
    for name in COMPILERS:
        found = find_program(name)
        if not found.reason:
            return name, found
    return "", found


@functools.cache
def sources() -> dict[str, bytes]:
    """The text of each file that it is made of, by name."""
    return {name: Path(__file__).with_name(name).read_bytes() for name in SOURCES}


def _key(compiler: ProgramFound) -> str:
    library = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else ""
    made_from = (sources(), compiler.digest, library, platform.machine(), OPTIONS, LINKING)
    return hashlib.sha256(repr(made_from).encode()).hexdigest()


def _compile(compiler: ProgramFound) -> bytes:
    """The program; empty when it can't be made. Raises OSError, CopyFailed, NoSpace."""
    with temporary_folder("init") as folder:
        for name, text in sources().items():
            (folder / name).write_bytes(text)
        for linking in LINKING:
            try:
                finished = subprocess.run(
                    [compiler.path, *linking, *OPTIONS],
                    stdin=subprocess.DEVNULL,
                    env=ENVIRONMENT,
                    cwd=folder,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    timeout=COMPILE_SECONDS,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return b""
            if finished.returncode == 0:
                return (folder / "init").read_bytes()
    return b""


def _kept(place: Path, key: str) -> bytes:
    """What is kept under this name, if it is whole and this user's own; else nothing."""
    try:
        with opened(open_root(place)) as folder:
            # A file may have come when the folder was open to others, and lie there still.
            if not (_is_ours(folder) and _is_ours(folder, key)):
                return b""
            content = read_file(folder, RelPath(key), MOST_BYTES)
    except (OSError, AssayError):
        return b""
    digest, program = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
    return program if hashlib.sha256(program).digest() == digest else b""


def _keep(place: Path, key: str, program: bytes) -> None:
    """Keep it, whole or not at all; raises OSError."""
    for made in (place.parent, place):
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
    with opened(open_root(place)) as folder:
        if not _is_ours(folder):
            return
        unfinished = ".unfinished-" + secrets.token_hex(16)
        try:
            write_new(folder, unfinished, hashlib.sha256(program).digest() + program, 0o400)
            os.replace(unfinished, key, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(OSError):
                os.unlink(unfinished, dir_fd=folder)
            raise


def _is_ours(folder: int, name: str = ".") -> bool:
    """Whether only this user can write into it, or into what has this name there."""
    info = os.stat(name, dir_fd=folder, follow_symlinks=False)
    return info.st_uid == os.geteuid() and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)

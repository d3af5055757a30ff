"""Suites in a folder: `dir:PATH`, or just the path.

Every access goes from the suite's folder downwards by directory descriptors and never
follows a symbolic link, whoever owns the files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import ClassVar

from assay.api import (
    InvalidInput,
    RelPath,
    SuiteFiles,
    TreeLimit,
    TreeRefused,
    UnsafePath,
    components,
    printable,
    relpath,
)

_ROOT_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_DIR_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_MAX_FILES = 20_000
_MAX_DEPTH = 64


class DirectoryReader:
    """The built-in suite reader."""

    api: ClassVar[str] = "1.0"
    scheme: ClassVar[str] = "dir"

    def sniff(self, location: str) -> bool:
        """Whether the location is a folder."""
        return os.path.isdir(location)

    def open(self, location: str) -> SuiteFiles:
        """The suite's files; raises InvalidInput when there is no such folder."""
        root = os.path.abspath(location)
        if not os.path.isdir(location):
            raise InvalidInput(f"suite {printable(Path(location).name)[:64]}: no such folder")
        return DirectoryFiles(root)


class DirectoryFiles:
    """Files of one suite beneath a folder of this host."""

    def __init__(self, root: str) -> None:
        self._root = root

    @property
    def name(self) -> str:
        """The folder's own name."""
        return printable(Path(self._root).name)

    def read(self, path: RelPath, cap: int) -> bytes | None:
        """Content of a regular file, or None; raises TreeRefused, TreeLimit."""
        *folders, last = components(path)
        with self._open(path, tuple(folders)) as parent_fd:
            if parent_fd is None or (kind := _kind(parent_fd, last)) is None:
                return None
            if kind != "file":
                raise TreeRefused(printable(path), kind)
            file_fd = os.open(last, _FILE_FLAGS, dir_fd=parent_fd)
            with os.fdopen(file_fd, "rb") as file:
                if not stat.S_ISREG(os.fstat(file_fd).st_mode):
                    raise TreeRefused(printable(path), "special file")
                content = file.read(cap + 1)
        if len(content) > cap:
            raise TreeLimit(f"{printable(path)}: file is larger than {cap} bytes")
        return content

    def folders(self, path: RelPath | None) -> tuple[str, ...]:
        """Names of folders, sorted; a symbolic link among them raises TreeRefused."""
        with self._open(path, components(path) if path else ()) as folder_fd:
            if folder_fd is None:
                return ()
            found = []
            for name in sorted(os.listdir(folder_fd)):
                kind = _kind(folder_fd, name)
                if kind == "symbolic link":
                    raise TreeRefused(_below(path, name), kind)
                if kind == "folder":
                    found.append(name)
            return tuple(found)

    def files(self, path: RelPath) -> tuple[RelPath, ...]:
        """Regular files below a folder, relative to it, sorted; raises TreeRefused."""
        with self._open(path, components(path)) as folder_fd:
            if folder_fd is None:
                return ()
            return tuple(sorted(_walk(folder_fd, path, "", 0), key=os.fsencode))

    def host_folder(self, path: RelPath) -> str | None:
        """Where the folder is on this host, or None; raises TreeRefused for a link."""
        with self._open(path, components(path)) as folder_fd:
            return None if folder_fd is None else os.path.join(self._root, path)

    @contextmanager
    def _open(self, path: RelPath | None, folders: tuple[str, ...]) -> Iterator[int | None]:
        """A descriptor of a folder, or None when it or a folder above is absent."""
        with ExitStack() as held:
            try:
                folder_fd = _held(held, os.open(self._root, _ROOT_FLAGS))
                for name in folders:
                    kind = _kind(folder_fd, name)
                    if kind is None:
                        yield None
                        return
                    if kind != "folder":
                        raise TreeRefused(printable(path or ""), kind)
                    folder_fd = _held(held, os.open(name, _DIR_FLAGS, dir_fd=folder_fd))
                yield folder_fd
            except OSError as error:
                problem = os.strerror(error.errno or 0)
                raise InvalidInput(f"{self.name}: {printable(path or '')}: {problem}") from None


def _held(stack: ExitStack, descriptor: int) -> int:
    stack.callback(os.close, descriptor)
    return descriptor


def _kind(folder_fd: int, name: str) -> str | None:
    try:
        mode = os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "symbolic link" if stat.S_ISLNK(mode) else "special file"


def _walk(folder_fd: int, top: RelPath, below: str, depth: int) -> Iterator[RelPath]:
    if depth > _MAX_DEPTH:
        raise TreeLimit(f"{printable(top)}: folders are nested deeper than {_MAX_DEPTH}")
    names = os.listdir(folder_fd)
    if len(names) > _MAX_FILES:
        raise TreeLimit(f"{printable(top)}: a folder holds more than {_MAX_FILES} entries")
    for name in sorted(names):
        path = f"{below}/{name}" if below else name
        kind = _kind(folder_fd, name)
        if kind == "folder":
            inner = os.open(name, _DIR_FLAGS, dir_fd=folder_fd)
            try:
                yield from _walk(inner, top, path, depth + 1)
            finally:
                os.close(inner)
        elif kind == "file":
            yield _checked(path, top)
        elif kind is not None:
            raise TreeRefused(_below(top, path), kind)


def _checked(path: str, top: RelPath) -> RelPath:
    try:
        return relpath(path)
    except UnsafePath:
        raise TreeRefused(_below(top, path), "unsafe name") from None


def _below(folder: RelPath | None, name: str) -> str:
    return printable(f"{folder}/{name}" if folder else name)

"""File systems that nothing but a descriptor holds: never attached, gone when it is closed.

Only root can make them. A jail is given one by its descriptor (`Mount.descriptor`), so no place
of this host shows in the jail's table of mounts, and nothing is left of a process that is killed.
"""

from __future__ import annotations

import ctypes
import functools
import os

from assay.api.files import open_directory, opened

__all__ = ["memory", "overlay", "supported"]

# The same numbers on every architecture of Linux.
_OPEN_TREE, _FSOPEN, _FSCONFIG, _FSMOUNT = 428, 430, 431, 432
_CLOSE_ON_EXEC = 1
_SET_FLAG, _SET_STRING, _CREATE = 0, 1, 6
_NO_SETUID, _NO_DEVICES = 2, 4
_CLONE, _EMPTY_PATH = 1, 0x1000


def memory(size: int, entries: int) -> int:
    """Descriptor of an empty file system in memory, for `size` bytes and so many entries.

    Raises OSError, as every function here.
    """
    return _made(b"tmpfs", {"size": str(size), "nr_inodes": str(entries), "mode": "0711"}, ())


def overlay(lower: int, upper: int, work: int) -> int:
    """Descriptor of an overlay file system; each argument is the descriptor of a folder.

    `lower` is never written; `upper` and `work` are on one file system, `work` is empty.
    """
    places = {"lowerdir": lower, "upperdir": upper, "workdir": work}
    options = {name: f"/proc/self/fd/{descriptor}" for name, descriptor in places.items()}
    return _made(b"overlay", options, ("userxattr",))


def supported() -> bool:
    """Whether both work here and can be given to a jail, found out by doing it once."""
    return _tried()


@functools.cache
def _tried() -> bool:
    try:
        with opened(memory(1024**2, 16)) as held:
            for name in ("lower", "upper", "work"):
                os.mkdir(name, 0o700, dir_fd=held)
            with (
                opened(open_directory(held, "lower")) as lower,
                opened(open_directory(held, "upper")) as upper,
                opened(open_directory(held, "work")) as work,
                opened(overlay(lower, upper, work)) as merged,
            ):
                os.close(_call(_OPEN_TREE, merged, b"", _CLONE | _EMPTY_PATH))
    except OSError:
        return False
    return True


def _made(kind: bytes, options: dict[str, str], flags: tuple[str, ...]) -> int:
    with opened(_call(_FSOPEN, kind, _CLOSE_ON_EXEC)) as context:
        for name, value in options.items():
            _call(_FSCONFIG, context, _SET_STRING, name.encode(), value.encode(), 0)
        for name in flags:
            _call(_FSCONFIG, context, _SET_FLAG, name.encode(), None, 0)
        _call(_FSCONFIG, context, _CREATE, None, None, 0)
        return _call(_FSMOUNT, context, _CLOSE_ON_EXEC, _NO_SETUID | _NO_DEVICES)


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: int | bytes | None) -> int:
    """One system call; raises OSError."""
    words = [
        ctypes.c_long(word) if isinstance(word, int) else ctypes.c_char_p(word)
        for word in arguments
    ]
    result = int(_libc().syscall(ctypes.c_long(number), *words))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result

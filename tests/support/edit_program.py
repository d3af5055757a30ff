"""Runs inside a jail: edits each workspace by a script, then tells what it sees there.

Standard input is one JSON object: by the place of a workspace, a list of operations. Standard
output is one as well: by the same places, how each operation ended, and every entry seen.
"""

import errno
import hashlib
import json
import mmap
import os
import pathlib
import shutil
import stat
import sys


def move(old: bytes, new: bytes) -> None:
    """As `mv` does: where a directory can't be renamed, its parts are."""
    try:
        os.rename(old, new)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        mode = stat.S_IMODE(os.lstat(old).st_mode)
        if os.path.lexists(new):
            os.rmdir(new)
        os.mkdir(new)
        for name in os.listdir(old):
            move(old + b"/" + name, new + b"/" + name)
        os.chmod(new, mode)
        os.rmdir(old)


def write(path: bytes, content: str, flags: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | flags, 0o644)
    try:
        os.write(descriptor, content.encode())
    finally:
        os.close(descriptor)


def delete(path: bytes) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def replace(path: bytes, content: str) -> None:
    """A directory gives way to a file, and the reverse."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
        write(path, content, os.O_CREAT)
    else:
        os.unlink(path)
        os.mkdir(path)
        write(path + b"/inside", content, os.O_CREAT)


def recreate(path: bytes) -> None:
    if stat.S_ISFIFO(os.lstat(path).st_mode):
        # It would be opened, and that waits for somebody to write.
        os.unlink(path)
    else:
        shutil.rmtree(path)
    os.mkdir(path)


def forge(path: bytes) -> None:
    """What the kernel would take for a marker of its own, had it been stored as it is."""
    for name in ("opaque", "whiteout", "redirect", "metacopy"):
        try:
            os.setxattr(path, "user.overlay." + name, b"y", follow_symlinks=False)
        except OSError:
            continue
    try:
        os.mknod(path + b"-gone", stat.S_IFCHR, os.makedev(0, 0))
    except OSError:
        return
    raise AssertionError("a device was made")


def change_mode(path: bytes, mode: int) -> None:
    """Directories stay open to their owner, or `move` could not do what a rename does."""
    os.chmod(path, mode | 0o700 if os.path.isdir(path) else mode)


def write_mapped(path: bytes, content: str) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        with mmap.mmap(descriptor, 0) as mapped:
            mapped[:1] = content.encode()[:1] or b"."
    finally:
        os.close(descriptor)


OPERATIONS = {
    "create": lambda path, content: write(path, content, os.O_CREAT | os.O_EXCL),
    "overwrite": lambda path, content: write(path, content, os.O_CREAT | os.O_TRUNC),
    "append": lambda path, content: write(path, content, os.O_APPEND),
    "patch": lambda path, content: write(path, content, 0),
    "mapped": write_mapped,
    "touch": lambda path: os.close(os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)),
    "truncate": lambda path, size: os.truncate(path, size),
    "delete": delete,
    "mkdir": os.makedirs,
    "recreate": recreate,
    "replace": replace,
    "move": move,
    "chmod": change_mode,
    "symlink": lambda path, target: os.symlink(target, path),
    "fifo": os.mkfifo,
    "link": lambda path, target: os.link(target, path, follow_symlinks=False),
    "forge": forge,
}


def run(script: list) -> list:
    ended = []
    for name, *arguments in script:
        words = [
            word.encode() if name in ("move", "link") or at == 0 else word
            for at, word in enumerate(arguments)
        ]
        try:
            OPERATIONS[name](*words)
            ended.append("done")
        except OSError as error:
            ended.append(errno.errorcode.get(error.errno, "?"))
        except ValueError:
            ended.append("empty")
    return ended


def seen(directory: bytes = b".", prefix: bytes = b"") -> list:
    entries = []
    try:
        names = sorted(os.listdir(directory))
    except OSError as error:
        return [(prefix.hex(), errno.errorcode.get(error.errno, "?"))]
    for name in names:
        path = directory + b"/" + name
        info = os.lstat(path)
        what = [(prefix + name).hex(), stat.filemode(info.st_mode), info.st_uid, info.st_gid]
        if stat.S_ISREG(info.st_mode):
            what += [info.st_size, info.st_nlink]
            if info.st_mode & stat.S_IRUSR:
                what.append(
                    hashlib.sha256(pathlib.Path(os.fsdecode(path)).read_bytes()).hexdigest()
                )
        elif stat.S_ISLNK(info.st_mode):
            what.append(os.readlink(path).hex())
        entries.append(what)
        if stat.S_ISDIR(info.st_mode):
            entries += seen(path, prefix + name + b"/")
    return entries


def main() -> None:
    answers = {}
    for place, script in json.load(sys.stdin).items():
        os.chdir(place)
        answers[place] = [run(script), seen()]
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
